"""Dispatch below autograd is not open to Python here; what can be asked about it is answered."""


class TorchDispatchMode:
    """A mode that would see every ATen operator: cannot be entered."""

    def __init__(self, _dispatch_key=None):
        pass

    def __enter__(self):
        raise NotImplementedError("TorchDispatchMode: operators are not dispatched through __torch_dispatch__; TorchFunctionMode sees public functions")

    def __exit__(self, *exc):
        return False


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a dispatch mode is active: none can be."""
    return False


def _get_current_dispatch_mode():
    return None


def _get_current_dispatch_mode_stack():
    return []


def is_traceable_wrapper_subclass(t):
    """Whether an object is a tensor subclass that wraps others and says how (``__tensor_flatten__``, ``__tensor_unflatten__``)."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t):
    """The same for a class."""
    import torch

    has_protocol = hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
    return issubclass(t, torch.Tensor) and t is not torch.Tensor and has_protocol
