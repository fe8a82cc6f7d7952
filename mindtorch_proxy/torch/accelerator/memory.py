"""The memory functions of torch.accelerator."""

from ._device_module import asking

__all__ = [
    "empty_cache",
    "get_memory_info",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]  # noqa: F822  (created by functions)
asking(
    globals(),
    *(
        (name, f"{name}(device_index=None, /)")
        for name in (
            "memory_allocated memory_reserved memory_stats max_memory_allocated max_memory_reserved "
            "reset_accumulated_memory_stats reset_peak_memory_stats"
        ).split()
    ),
    ("mem_get_info", "get_memory_info(device_index=None, /)"),
    ("empty_cache", "empty_cache()"),
)
