"""torch.xpu in a build without XPU."""

from .._absent_device import MEMORY, RANDOM, NO_OP, classes, functions, guards, submodules

_error = AssertionError("Torch not compiled with XPU enabled")
default_generators, _initialized = (), False

functions(
    globals(),
    _error,
    "can_device_access_peer change_current_allocator current_device current_stream get_device_capability get_device_name "
    "get_device_properties get_per_process_memory_fraction get_rng_state get_stream_from_external graph_pool_handle init _lazy_init "
    "initial_seed is_current_stream_capturing make_graphed_callables mem_get_info reset_accumulated_memory_stats reset_peak_memory_stats "
    "set_device set_per_process_memory_fraction set_rng_state set_stream synchronize use_mem_pool",
    no_op=NO_OP + " set_rng_state_all",
    get_arch_list=list,
    get_rng_state_all=list,
    memory_snapshot=list,
    memory_stats=dict,
    memory_stats_as_nested_dict=dict,
    get_gencode_flags=str,
)
functions(
    globals(),
    ImportError("pyzes is required; install it with 'pip install pyzes'."),
    "clock_rate device_memory_used memory_usage power_draw temperature utilization",
    "",
    "",
    "",
)
guards(globals(), NotImplementedError("PyTorch was compiled without XPU support"))
classes(
    globals(), RuntimeError("Tried to instantiate dummy base class {name}"), "Event Stream XPUGraph graph MemPool XPUPluggableAllocator _XpuDeviceProperties"
)
submodules(globals(), random=RANDOM, memory=MEMORY, streams="Event Stream")
