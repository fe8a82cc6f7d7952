"""torch.xpu in a build without XPU."""

from .. import _absent_device as _absent

_error = AssertionError("Torch not compiled with XPU enabled")
default_generators, _initialized = (), False

_unsupported = NotImplementedError("PyTorch was compiled without XPU support")


def _no_stream(device, **arguments):
    """Raise PyTorch's error for a new stream, which depends on whether a device is given."""
    _absent.refuse(_absent.dummy("Stream") if device is None else _unsupported)


_absent.accelerator(globals(), _error)
_absent.guards(globals(), _unsupported, first=-1)
_absent.functions(
    globals(),
    (_error, "can_device_access_peer(device, peer) set_device(device)"),
    (lambda stream: None if stream is None else _absent.refuse(_error), "set_stream(stream)"),
    (list, "memory.memory_snapshot(mempool_id=None)"),
    (_absent.without("_xpu_changeCurrentAllocator"), "memory.change_current_allocator(allocator)"),
    (_absent.without("_xpu_resetAccumulatedMemoryStats"), "memory.reset_accumulated_memory_stats(device=None)"),
    (_absent.without("_xpu_resetPeakMemoryStats"), "memory.reset_peak_memory_stats(device=None)"),
    (_absent.dummy("_xpu_graph_pool_handle"), "graphs.graph_pool_handle()"),
    (_absent.dummy("_xpu_isCurrentStreamCapturing"), "graphs.is_current_stream_capturing()"),
)
_absent.meters(globals(), ImportError("pyzes is required; install it with 'pip install pyzes'."))
_absent.classes(
    globals(),
    (_absent.dummy("{name}"), "__new__", "streams.Event(enable_timing=False)"),
    (_no_stream, "__new__", "streams.Stream(device=None, priority=0, **kwargs)"),
    (_absent.dummy("{name}"), "__new__", "graphs.XPUGraph(keep_graph=False) _XpuDeviceProperties(*args, **kwargs)"),
    (_absent.dummy("{name}"), "__init__", "memory.MemPool(allocator=None, use_on_oom=False)"),
    (_absent.dummy("Stream"), "__init__", "graphs.graph(xpu_graph, pool=None, stream=None)"),
    (_error, "__init__", "memory.XPUPluggableAllocator(path_to_lib_file, alloc_fn_name, free_fn_name)"),
)
_absent.export(globals(), hidden="graphs memory random")
