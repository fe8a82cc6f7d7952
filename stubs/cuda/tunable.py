"""torch.cuda.tunable without CUDA, which raises."""

from .. import _absent_device as _absent

_absent.functions(
    globals(),
    *(
        (_absent.without(f"_cuda_{lacking}"), text)
        for lacking, text in (
            ("tunableop_enable", "enable(val=True)"),
            (
                "tunableop_is_enabled",
                "is_enabled() tune_gemm_in_file(filename) mgpu_tune_gemm_in_file(filename_pattern, num_gpus)",
            ),
            ("tunableop_tuning_enable", "tuning_enable(val=True)"),
            ("tunableop_tuning_is_enabled", "tuning_is_enabled()"),
            ("record_untuned_enable", "record_untuned_enable(val=True)"),
            ("record_untuned_is_enabled", "record_untuned_is_enabled()"),
            ("tunableop_set_max_tuning_duration", "set_max_tuning_duration(duration)"),
            ("tunableop_get_max_tuning_duration", "get_max_tuning_duration()"),
            ("tunableop_set_max_tuning_iterations", "set_max_tuning_iterations(iterations)"),
            ("tunableop_get_max_tuning_iterations", "get_max_tuning_iterations()"),
            ("tunableop_set_filename", "set_filename(filename, insert_device_ordinal=False)"),
            ("tunableop_get_filename", "get_filename() read_file(filename=None)"),
            ("tunableop_get_results", "get_results()"),
            ("tunableop_get_validators", "get_validators()"),
            ("tunableop_set_rotating_buffer_size", "set_rotating_buffer_size(buffer_size)"),
            ("tunableop_get_rotating_buffer_size", "get_rotating_buffer_size()"),
            (
                "tunableop_set_numerical_check_tolerances",
                "set_numerical_check_tolerances(enable, atol=1e-05, rtol=1e-05)",
            ),
        )
    ),
)
_absent.export(globals())
