"""torch.accelerator: whichever accelerator there is; here torch.npu or none."""

import torch

from .._absent_device import functions

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


def _of_the_accelerator(*declarations):
    """Functions of PyTorch's parameters that ask torch.npu's functions of these names, where there is an
    accelerator.
    """

    def asking(name):
        return lambda **arguments: getattr(_module(), name)(*arguments.values())

    functions(globals(), *((asking(name), text) for name, text in declarations))


_of_the_accelerator(
    *((name, f"{name}(device=None, /)") for name in ("current_stream", "synchronize", "get_device_capability")),
    *(
        (name, f"{name}(device_index=None, /)")
        for name in (
            "memory_allocated memory_reserved memory_stats max_memory_allocated max_memory_reserved "
            "reset_accumulated_memory_stats reset_peak_memory_stats"
        ).split()
    ),
    ("mem_get_info", "get_memory_info(device_index=None, /)"),
    ("set_stream", "set_stream(stream)"),
    ("empty_cache", "empty_cache()"),
)

from . import memory  # noqa: E402, F401
