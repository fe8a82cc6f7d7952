"""User settings: the options of torch.utils.serialization.config, and skip_data."""

import enum
import mmap
import threading
from types import SimpleNamespace

load_config = SimpleNamespace(mmap=False, endianness=None, mmap_flags=mmap.MAP_PRIVATE, calculate_storage_offsets=False)
save_config = SimpleNamespace(compute_crc32=True, use_pinned_memory_for_d2h=False, storage_alignment=64)


class LoadEndianness(enum.Enum):
    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Local(threading.local):
    map_location, skip_data, materialize_fake_tensors = None, False, False


_serialization_tls = _Local()


def get_default_load_endianness():
    """Return the byte order assumed for files that do not state theirs."""
    return load_config.endianness


def set_default_load_endianness(endianness):
    """Set the byte order assumed for files that do not state theirs (None: little)."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    load_config.endianness = endianness


def get_crc32_options():
    """Whether save() computes checksums."""
    return save_config.compute_crc32


def set_crc32_options(compute_crc32):
    """Set whether save() computes checksums; load() does not need them, other unzip programs do."""
    save_config.compute_crc32 = compute_crc32


def get_default_mmap_options():
    """Return the flags with which load(mmap=True) maps a file."""
    return load_config.mmap_flags


class set_default_mmap_options:
    """Set the flags (MAP_PRIVATE or MAP_SHARED) for load(mmap=True); also a context manager."""

    def __init__(self, flags):
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self.previous, load_config.mmap_flags = load_config.mmap_flags, flags

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        load_config.mmap_flags = self.previous


class skip_data:
    """Inside a `with` block, save() writes storages as zeros and load() creates storages without reading them."""

    def __init__(self, materialize_fake_tensors=False):
        self.new = (True, materialize_fake_tensors)

    def __enter__(self):
        tls = _serialization_tls
        self.old = (tls.skip_data, tls.materialize_fake_tensors)
        tls.skip_data, tls.materialize_fake_tensors = self.new

    def __exit__(self, *exc):
        _serialization_tls.skip_data, _serialization_tls.materialize_fake_tensors = self.old
