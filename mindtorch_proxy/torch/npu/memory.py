"""torch.npu.memory: statistics of MindSpore's allocator."""

from ._device import available, devices, number

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]


def _figure(name, what):
    def f(device=None):
        if not available():
            return 0
        devices().check(number(device))
        return int(devices().call(name))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{what} in bytes; 0 without an NPU."
    return f


memory_allocated = _figure("memory_allocated", "Memory that tensors take")
max_memory_allocated = _figure("max_memory_allocated", "The most memory that tensors took")
memory_reserved = _figure("memory_reserved", "Memory that the allocator holds")
max_memory_reserved = _figure("max_memory_reserved", "The most memory that the allocator held")
_TORCH = {"allocated_bytes.all.current": "total_allocated_memory", "allocated_bytes.all.peak": "max_allocated_memory"}
_TORCH |= {"reserved_bytes.all.current": "total_reserved_memory", "reserved_bytes.all.peak": "max_reserved_memory"}


def memory_stats(device=None):
    """Return the statistics that MindSpore has, under PyTorch's names; empty without an NPU."""
    if not available():
        return {}
    devices().check(number(device))
    found = devices().call("memory_stats")
    return {ours: int(found[theirs]) for ours, theirs in _TORCH.items() if theirs in found}


def memory_summary(device=None, abbreviated=False):
    """Return MindSpore's table of its memory."""
    devices().check(number(device))
    return devices().call("memory_summary")


def mem_get_info(device=None):
    """Return (free, total) memory of the NPU in bytes; free is the total minus what this process has reserved."""
    index = devices().check(number(device))
    total = devices().properties(index).total_memory
    return total - memory_reserved(), total


def empty_cache():
    """Return memory that no tensor uses to the NPU."""
    if available() and devices().started():
        devices().call("empty_cache")


def reset_peak_memory_stats(device=None):
    """Reset the peak memory statistics."""
    devices().check(number(device))
    devices().call("reset_peak_memory_stats")


reset_max_memory_allocated = reset_max_memory_reserved = reset_accumulated_memory_stats = reset_peak_memory_stats


def set_per_process_memory_fraction(fraction, device=None):
    """Limit this process to a fraction of the NPU's memory; must be called before the first tensor is created."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    index = devices().check(number(device))
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    gigabytes = fraction * devices().properties(index).total_memory / (1 << 30)
    devices().call("set_memory", max_size=f"{max(gigabytes, 0.1):.1f}GB")
