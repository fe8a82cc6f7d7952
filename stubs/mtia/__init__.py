"""torch.mtia in a build without MTIA."""

from .. import _absent_device as _absent

_error = AssertionError("Torch not compiled with MTIA enabled.")
default_generators = ()


def _lacking(function):
    return RuntimeError(f"Cannot execute {function}() without MTIA backend.")


class DeferredMtiaCallError(Exception):
    """An error of a call that was deferred until initialization."""


def _set_device(device):
    if _absent.index("mtia", device) >= 0:
        raise _lacking("setCurrentDevice")


def _on_a_device(error):
    """Return a function that raises the error; device None fails earlier, when the current device is queried."""
    return lambda device: _absent.refuse(_lacking("getCurrentDevice") if device is None else error)


def _synchronize(device):
    if device is None:
        raise _lacking("getCurrentDevice")
    raise _error if _absent.index("mtia", device) < 0 else _lacking("maybeExchangeDevice")


_absent.functions(
    globals(),
    (0, "device_count() memory.memory_allocated(device=None) memory.max_memory_allocated(device=None)"),
    (False, "is_available() is_initialized() _is_compiled() _is_in_bad_fork()"),
    (True, "is_bf16_supported(including_emulation=True)"),
    (list, "get_rng_state_all()"),
    (dict, "memory.memory_stats(device=None)"),
    (
        None,
        "memory.reset_peak_memory_stats(device=None) record_memory_history(enabled='all', stacks='python', "
        "max_entries=0)",
    ),
    (None, "seed() seed_all()"),
    (_absent.all_copied, "set_rng_state_all(new_states)"),
    (_absent.seeded, "manual_seed(seed) manual_seed_all(seed)"),
    (_error, "get_rng_state(device='mtia') init() _lazy_init() initial_seed()"),
    (_set_device, "set_device(device)"),
    (
        _lacking("getCurrentDevice"),
        "attach_out_of_memory_observer(observer) current_device() set_rng_state(new_state, device='mtia') "
        "set_stream(stream) stream(stream)",
    ),
    (_on_a_device(_error), "current_stream(device=None) default_stream(device=None)"),
    (_on_a_device(_lacking("getDeviceCapability")), "get_device_capability(device=None)"),
    (_on_a_device(_lacking("getDeviceProperties")), "get_device_properties(device=None)"),
    (_synchronize, "synchronize(device=None)"),
    (_lacking("emptyCache"), "empty_cache()"),
    (_lacking("memorySnapshot"), "snapshot()"),
    (_lacking("graphPoolHandle"), "mtia_graph.graph_pool_handle()"),
)
_absent.guards(globals(), _lacking("maybeExchangeDevice"), "device")
_absent.classes(
    globals(),
    (_lacking("mtiagraphCreate"), "__new__", "mtia_graph.MTIAGraph(keep_graph=False)"),
    (_lacking("getCurrentDevice"), "__init__", "StreamContext(stream)"),
    (_lacking("getCurrentDevice"), "__init__", "mtia_graph.graph(mtia_graph, pool=None, stream=None)"),
)
_absent.export(globals(), hidden="DeferredMtiaCallError StreamContext default_generators memory mtia_graph")
