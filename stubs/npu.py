"""torch.npu where no Ascend device is driven: the names of Ascend's own extension, truthful answers."""

from ._absent_device import MEMORY, NO_OP, RANDOM, classes, functions, guards, submodules

_error = AssertionError("Torch not compiled with NPU enabled")
default_generators = ()

functions(
    globals(),
    _error,
    "current_device current_stream default_stream get_device_capability get_device_name get_device_properties get_rng_state init "
    "_lazy_init "
    "initial_seed mem_get_info memory_snapshot reset_accumulated_memory_stats reset_max_memory_allocated reset_peak_memory_stats "
    "set_device get_per_process_memory_fraction set_per_process_memory_fraction set_rng_state set_stream synchronize",
    no_op=NO_OP + " set_rng_state_all",
    get_rng_state_all=list,
    memory_stats=dict,
)
guards(globals(), _error)
classes(globals(), RuntimeError("torch.npu.{name} requires an Ascend device"), "Event Stream")
submodules(globals(), random=RANDOM, memory=MEMORY)
