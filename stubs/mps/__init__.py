"""torch.mps in a build without MPS."""

from .. import _absent_device as _absent
from . import profiler
from ._errors import lacking as _lacking


def _set_fraction(fraction):
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    raise _lacking("setMemoryFraction")


_absent.functions(
    globals(),
    (0, "device_count()"),
    (False, "is_available() _is_in_bad_fork()"),
    (None, "manual_seed(seed)"),
    (RuntimeError("MPS is not available"), "compile_shader(source) load_metallib(source)"),
    (_set_fraction, "set_per_process_memory_fraction(fraction)"),
    (_lacking("getDefaultGenerator"), "get_rng_state(device='mps') seed() set_rng_state(new_state, device='mps')"),
    (_lacking("deviceSynchronize"), "synchronize()"),
    (_lacking("emptyCache"), "empty_cache()"),
    (_lacking("getCurrentAllocatedMemory"), "current_allocated_memory()"),
    (_lacking("getDriverAllocatedMemory"), "driver_allocated_memory()"),
    (_lacking("getRecommendedMaxMemory"), "recommended_max_memory()"),
)
_absent.classes(globals(), (_lacking("acquireEvent"), "__init__", "event.Event(enable_timing=False)"))

_absent.export(globals(), hidden="event")
