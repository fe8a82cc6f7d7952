"""torch.accelerator: the interface of the available accelerator, which is an NPU or none."""

import torch

from ._device_module import asking, device_module, is_available
from .memory import (
    empty_cache,
    get_memory_info,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)

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
is_available.__module__ = __name__


def device_count():
    """Return the number of accelerators."""
    return torch.npu.device_count() if is_available() else 0


def current_accelerator(check_available=False):
    """Return the device of the accelerator without an index, or None."""
    return torch.device("npu") if is_available() else None


def current_device_index():
    """Return the index of the selected device."""
    return device_module().current_device()


def set_device_index(device, /):
    """Select a device."""
    device_module().set_device(device)


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


asking(
    globals(),
    *((name, f"{name}(device=None, /)") for name in ("current_stream", "synchronize", "get_device_capability")),
    ("set_stream", "set_stream(stream)"),
)
