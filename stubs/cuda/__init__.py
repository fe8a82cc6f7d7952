"""torch.cuda in a build without CUDA."""

import traceback as _traceback
from collections import OrderedDict as _OrderedDict

from torch import AcceleratorError, OutOfMemoryError
from .. import _absent_device as _absent

_error = AssertionError("Torch not compiled with CUDA enabled")
_TENSORS = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()
has_half, has_magma, default_generators, _initialized = True, False, (), False


class CudaError(RuntimeError):
    """An error of the CUDA runtime."""

    def __init__(self, code):
        super().__init__(f"CUDA error {code}")


class DeferredCudaCallError(Exception):
    """An error of a call that was deferred until initialization."""


class cudaStatus:
    """Error codes of the CUDA runtime."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


def _set_device(device):
    if _absent.index("cuda", device) >= 0:
        raise _absent.without("_cuda_setDevice")


def _record_history(enabled, args, kwargs):
    raise _absent.without("_cuda_record_memory_history" + "_legacy" * isinstance(enabled, bool))


def _set_stream(stream):
    """Accept None, which has no effect; no stream can be created without CUDA."""
    if stream is not None:
        return stream.stream_id


_absent.accelerator(globals(), _error)
_absent.guards(globals(), RuntimeError("PyTorch was compiled without CUDA support"))
_absent.functions(
    globals(),
    (
        _error,
        """can_device_access_peer(device, peer_device) cudart() current_blas_handle() current_solver_handle()
        default_stream(device=None) get_sync_debug_mode() ipc_collect() set_sync_debug_mode(debug_mode)
        memory.caching_allocator_alloc(size, device=None, stream=None)""",
    ),
    (_absent.without("_cuda_sleep"), "_sleep(cycles)"),
    (_record_history, "memory._record_memory_history(enabled='all', *args, **kwargs)"),
    (_set_device, "set_device(device)"),
    (_set_stream, "set_stream(stream)"),
    (AttributeError("'NoneType' object has no attribute 'cudaError'"), "check_error(res)"),
    (0, "memory.memory_cached(device=None) memory.max_memory_cached(device=None)"),
    (_OrderedDict, "memory.host_memory_stats()"),
    (dict, "memory.host_memory_stats_as_nested_dict()"),
    (None, "memory.caching_allocator_enable(value=True)"),
    (_absent.on_entry(_absent.without("_cuda_cudaCachingAllocator_is_enabled")), "memory.caching_allocator_disabled()"),
    (KeyError("allocated_bytes.all.current"), "memory.memory_summary(device=None, abbreviated=False)"),
    ("pynvml module not found, please install nvidia-ml-py", "memory.list_gpu_processes(device=None)"),
    *(
        (_absent.without(f"_cuda_{lacking}"), f"memory.{text}")
        for lacking, text in (
            ("cudaCachingAllocator_raw_delete", "caching_allocator_delete(mem_ptr)"),
            ("changeCurrentAllocator", "change_current_allocator(allocator)"),
            ("getAllocatorBackend", "get_allocator_backend()"),
            ("memorySnapshot", "memory_snapshot(mempool_id=None, include_traces=True)"),
            ("memorySnapshot", "_snapshot(device=None, augment_with_fx_traces=False)"),
            ("memorySnapshot", "_dump_snapshot(filename='dump_snapshot.pickle', augment_with_fx_traces=False)"),
            ("resetAccumulatedHostMemoryStats", "reset_accumulated_host_memory_stats()"),
            ("resetPeakHostMemoryStats", "reset_peak_host_memory_stats()"),
            ("resetAccumulatedMemoryStats", "reset_accumulated_memory_stats(device=None)"),
            ("resetPeakMemoryStats", "reset_peak_memory_stats(device=None)"),
            ("resetPeakMemoryStats", "reset_max_memory_allocated(device=None)"),
            ("resetPeakMemoryStats", "reset_max_memory_cached(device=None)"),
        )
    ),
    (_absent.dummy("_graph_pool_handle"), "graphs.graph_pool_handle()"),
    (_absent.dummy("_cuda_isCurrentStreamCapturing"), "graphs.is_current_stream_capturing()"),
)
_absent.meters(globals(), ModuleNotFoundError("nvidia-ml-py does not seem to be installed or it can't be imported."))
_absent.classes(
    globals(),
    (
        _absent.dummy("{name}"),
        "__new__",
        "streams.Event(enable_timing=False, blocking=False, interprocess=False, external=False)",
    ),
    (_absent.dummy("{name}"), "__new__", "graphs.CUDAGraph(keep_graph=False) _CudaDeviceProperties(*args, **kwargs)"),
    (_absent.dummy("{name}"), "__init__", "memory.MemPool(allocator=None, use_on_oom=False, no_split=False)"),
    (
        RuntimeError("torch.cuda.{name} requires CUDA support"),
        "__new__",
        "streams.Stream(device=None, priority=0, **kwargs)",
    ),
    (
        RuntimeError("PyTorch was compiled without CUDA support"),
        "__new__",
        "streams.ExternalStream(stream_ptr, device=None, **kwargs)",
    ),
    (
        RuntimeError("torch.cuda.Stream requires CUDA support"),
        "__init__",
        "graphs.graph(cuda_graph, pool=None, stream=None, capture_error_mode='global', enable_annotations=False, "
        "check_input_liveness=False)",
    ),
    (_error, "__init__", "memory.CUDAPluggableAllocator(path_to_so_file, alloc_fn_name, free_fn_name)"),
    *(
        (
            TypeError("type torch.cuda.{name} not available. Torch not compiled with CUDA enabled."),
            "__new__",
            f"{t}Tensor(*args, **kwargs)",
        )
        for t in _TENSORS
    ),
    *(
        (_error, "__new__", f"{t}Storage(*args, wrap_storage=None, dtype=None, device=None, _internal=False)")
        for t in (*_TENSORS, "ComplexDouble", "ComplexFloat")
    ),
)

_queued_calls: list = []


def _lazy_call(callable, **kwargs):
    """Queue a call with its stack trace until CUDA is initialized, which never happens."""
    _queued_calls.append((callable, _traceback.format_stack()))


from .green_contexts import GreenContext  # noqa: E402
from . import amp, nccl, nvtx, profiler, sparse, tunable  # noqa: E402  (they need the names above)

_absent.export(globals(), hidden="AcceleratorError OutOfMemoryError green_contexts")
