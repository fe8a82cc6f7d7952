"""torch.mps in a build without MPS."""

from .._absent_device import classes, functions

for _name, _function in (
    ("synchronize", "deviceSynchronize"),
    ("get_rng_state", "getDefaultGenerator"),
    ("seed", "getDefaultGenerator"),
    ("set_rng_state", "getDefaultGenerator"),
    ("empty_cache", "emptyCache"),
    ("set_per_process_memory_fraction", "setMemoryFraction"),
    ("current_allocated_memory", "getCurrentAllocatedMemory"),
    ("driver_allocated_memory", "getDriverAllocatedMemory"),
    ("recommended_max_memory", "getRecommendedMaxMemory"),
):
    functions(globals(), RuntimeError(f"Cannot execute {_function}() without MPS backend."), _name, "", "", "")
functions(globals(), RuntimeError("MPS is not available"), "compile_shader load_metallib", "device_count", "is_available _is_in_bad_fork", "manual_seed")
classes(globals(), RuntimeError("Cannot execute acquireEvent() without MPS backend."), "Event")
