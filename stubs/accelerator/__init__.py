"""torch.accelerator: whichever accelerator there is; here torch.npu or none."""

import torch

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def device_count():
    """How many accelerators there are."""
    return torch.npu.device_count()


def is_available():
    """Whether an accelerator can be used."""
    return torch.npu.is_available()


def current_accelerator(check_available=False):
    """The accelerator's device without an index, or None."""
    return torch.device("npu") if is_available() else None


def _module():
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return torch.npu


def current_device_index():
    """The index of the selected device."""
    return _module().current_device()


def set_device_index(device, /):
    """Select a device."""
    _module().set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:
    """Select a device within a block; None selects none."""

    def __init__(self, device, /):
        self.idx, self.prev_idx = device, -1

    def __enter__(self):
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exc):
        if self.idx is not None:
            set_device_index(self.prev_idx)


def _delegate(name, target=None):
    def f(*args, **kwargs):
        return getattr(_module(), target or name)(*args, **kwargs)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"torch.npu.{target or name} where there is an accelerator."
    globals()[name] = f


for _name in (
    "current_stream set_stream synchronize empty_cache get_device_capability memory_allocated memory_reserved memory_stats "
    "max_memory_allocated max_memory_reserved reset_accumulated_memory_stats reset_peak_memory_stats"
).split():
    _delegate(_name)
_delegate("get_memory_info", "mem_get_info")

from . import memory  # noqa: E402, F401
