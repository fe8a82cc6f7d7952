"""Devices of storages: how files name them, and how a loaded storage is moved to its device."""

import re
from typing import Any

from ..backend import of_type
from ..device import ACCELERATOR
from ..device import device as _device
from ..storage import UntypedStorage

_package_registry: list[tuple] = []


def register_package(priority, tagger, deserializer):
    """Register how storages of a device are tagged when saved, and how they are moved there when loaded.

    Entries with lower priorities are tried first.
    """
    _package_registry.append((priority, tagger, deserializer))
    _package_registry.sort(key=lambda entry: entry[0])


def _validate_device(location, backend):
    name = backend.upper()
    where: Any = _device(location)
    count = of_type(ACCELERATOR).device_count() if backend == ACCELERATOR else 0
    advice = (
        "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
        "your storages to the CPU."
    )
    if not count:
        raise RuntimeError(
            f"Attempting to deserialize object on a {name} device but torch.{backend}.is_available() is False. {advice}"
        )
    if (where.index or 0) >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on {name} device {where.index} but torch.{backend}.device_count() is "
            f"{count}. Please use torch.load with map_location to map your storages to an existing device."
        )
    return where


def _register_backend(priority, name):
    def restore(storage, location):
        if location == name or re.match(f"{name}(:|[0-9]+)", location):
            return storage.to(device=_validate_device(location, name))

    register_package(priority, lambda s: str(s.device) if s.device.type == name else None, restore)


register_package(
    10, lambda s: "cpu" if s.device.type == "cpu" else None, lambda s, location: s if location == "cpu" else None
)
register_package(
    22,
    lambda s: "meta" if s.device.type == "meta" else None,
    lambda s, location: UntypedStorage._meta(s.nbytes()) if location == "meta" else None,
)
for _priority, _name in ((20, "cuda"), (23, ACCELERATOR), (24, "hpu"), (25, "xpu"), (26, "mtia")):
    _register_backend(_priority, _name)


def _typename(obj):
    return f"{type(obj).__module__}.{type(obj).__name__}"


def location_tag(storage):
    """Return the name of a storage's device in files."""
    for _, tagger, _ in _package_registry:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError("don't know how to determine data location of " + _typename(storage))


def default_restore_location(storage, location):
    """Return a storage that was just read, on the device that the tag names."""
    for _, _, restore in _package_registry:
        result = restore(storage, location)
        if result is not None:
            return result
    raise RuntimeError(f"don't know how to restore data location of {_typename(storage)} (tagged with {location})")


def _get_restore_location(map_location):
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, _device)):
        return lambda storage, location: default_restore_location(storage, _text(map_location))

    def restore(storage, location):
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


def _text(value):
    return value.decode("ascii") if isinstance(value, bytes) else str(value)
