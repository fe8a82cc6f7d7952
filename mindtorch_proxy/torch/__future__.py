"""torch.__future__: how Module conversions treat parameters."""

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value):
    """Set whether Module.to and other conversions create new Parameters instead of changing .data."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion():
    return _overwrite


def set_swap_module_params_on_conversion(value):
    """Set whether Module conversions and load_state_dict use torch.utils.swap_tensors instead of changing .data."""
    global _swap
    _swap = value


def get_swap_module_params_on_conversion():
    return _swap
