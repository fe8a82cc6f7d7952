"""Settings of the compiler: they keep what is set, nothing uses them."""
from ..utils._config import config_module

config_module(
    __name__, accumulated_recompile_limit=256, allow_ignore_mark_dynamic=False, assume_static_by_default=True,
    automatic_dynamic_shapes=True, cache_size_limit=8, accumulated_cache_size_limit=256, capture_autograd_function=True,
    capture_dynamic_output_shape_ops=False, capture_func_transforms=True, capture_scalar_outputs=False, capture_sparse_compute=True,
    disable=False, dynamic_shapes=True, enable_compiler_collectives=False, error_on_nested_fx_trace=True,
    error_on_nested_jit_trace=True, error_on_recompile=False, fail_on_recompile_limit_hit=False, fake_tensor_cache_enabled=True,
    force_parameter_static_shapes=True, force_unspec_int_unbacked_size_like_on_torchrec_kjt=False, guard_nn_modules=True,
    inline_inbuilt_nn_modules=True, log_compilation_metrics=True, minimum_call_count=1, numpy_default_complex="complex128",
    numpy_default_float="float64", numpy_default_int="int64", optimize_ddp=True, prefer_deferred_runtime_asserts_over_guards=False,
    raise_on_ctx_manager_usage=True, recompile_limit=8, replay_record_enabled=False, repro_after=None, repro_level=2,
    reorderable_logging_functions=set(), skip_fsdp_hooks=True, skip_nnmodule_hook_guards=True, specialize_float=False,
    specialize_int=False, suppress_errors=False, trace_numpy=True, use_numpy_random_stream=False, verbose=False)
