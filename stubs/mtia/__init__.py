"""torch.mtia in a build without MTIA."""

from .._absent_device import RANDOM, classes, functions, guards, submodules

_error = AssertionError("Torch not compiled with MTIA enabled.")
default_generators = ()

functions(
    globals(),
    _error,
    "get_rng_state set_rng_state init _lazy_init initial_seed",
    "device_count memory_allocated max_memory_allocated",
    "is_available is_initialized _is_compiled _is_in_bad_fork",
    "manual_seed manual_seed_all seed seed_all record_memory_history reset_peak_memory_stats set_rng_state_all",
    get_rng_state_all=list,
    memory_stats=dict,
    is_bf16_supported=True,
)
for _names, _function in (
    (
        "current_device current_stream default_stream get_device_capability get_device_properties synchronize set_stream attach_out_of_memory_observer",
        "getCurrentDevice",
    ),
    ("set_device", "setCurrentDevice"),
    ("empty_cache", "emptyCache"),
    ("snapshot", "memorySnapshot"),
):
    functions(globals(), RuntimeError(f"Cannot execute {_function}() without MTIA backend."), _names, "", "", "")
guards(globals(), RuntimeError("Cannot execute maybeExchangeDevice() without MTIA backend."))
classes(globals(), RuntimeError("Tried to instantiate dummy base class {name}"), "MTIAGraph graph")
submodules(globals(), random=RANDOM)
