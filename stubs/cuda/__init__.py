"""torch.cuda in a build without CUDA."""

import traceback as _traceback

from .. import OutOfMemoryError
from .._absent_device import MEMORY, RANDOM, ZERO, NO_OP, classes, functions, guards, submodules

_error = AssertionError("Torch not compiled with CUDA enabled")
_TENSORS = "BFloat16 Bool Byte Char Double Float Half Int Long Short"
has_half, has_magma, default_generators, _initialized = True, False, (), False


class CudaError(RuntimeError):
    """An error of the CUDA runtime."""


class DeferredCudaCallError(Exception):
    """An error of a call that waited for the initialisation."""


functions(
    globals(),
    _error,
    "can_device_access_peer caching_allocator_alloc caching_allocator_delete check_error cudart current_blas_handle current_device "
    "current_stream default_stream get_allocator_backend get_device_capability get_device_name get_device_properties "
    "get_per_process_memory_fraction get_rng_state get_stream_from_external get_sync_debug_mode init _lazy_init initial_seed ipc_collect "
    "mem_get_info memory_snapshot memory_summary reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached "
    "reset_peak_memory_stats set_device set_per_process_memory_fraction set_rng_state set_stream set_sync_debug_mode synchronize "
    "graph_pool_handle is_current_stream_capturing make_graphed_callables change_current_allocator use_mem_pool",
    zero=ZERO + " memory_cached max_memory_cached",
    no_op=NO_OP + " set_rng_state_all",
    get_arch_list=list,
    get_rng_state_all=list,
    memory_stats=dict,
    memory_stats_as_nested_dict=dict,
    get_gencode_flags=str,
)
functions(
    globals(),
    ModuleNotFoundError("nvidia-ml-py does not seem to be installed or it can't be imported."),
    "clock_rate device_memory_used memory_usage power_draw temperature utilization",
    "",
    "",
    "",
)
guards(globals(), RuntimeError("PyTorch was compiled without CUDA support"))
classes(
    globals(),
    RuntimeError("torch.cuda.{name} requires CUDA support"),
    "Event Stream ExternalStream CUDAGraph graph MemPool CUDAPluggableAllocator GreenContext _CudaDeviceProperties",
)
classes(
    globals(),
    TypeError("type torch.cuda.{name} not available. Torch not compiled with CUDA enabled."),
    " ".join(f"{t}Tensor {t}Storage" for t in _TENSORS.split()) + " ComplexDoubleStorage ComplexFloatStorage",
)
submodules(
    globals(),
    random=RANDOM,
    memory=MEMORY + " memory_cached max_memory_cached memory_summary reset_max_memory_allocated "
    "caching_allocator_alloc caching_allocator_delete CUDAPluggableAllocator MemPool change_current_allocator use_mem_pool",
    streams="Event Stream ExternalStream",
    graphs="CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables",
)

_queued_calls: list = []


def _lazy_call(callable, **kwargs):
    """Call when the device is initialised, which does not happen: the call and where it comes from are kept."""
    _queued_calls.append((callable, _traceback.format_stack()))


def list_gpu_processes(device=None):
    """The processes on a device: a question to NVML, which is not there."""
    return "pynvml module not found, please install nvidia-ml-py"


from . import amp, comm, nvtx, profiler, sparse  # noqa: E402  (they need the names above)

__all__ = [n for n in dir() if not n.startswith("_") and n not in ("classes", "functions", "guards", "submodules") and not n.isupper()]
