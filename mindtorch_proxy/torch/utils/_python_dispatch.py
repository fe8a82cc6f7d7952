"""Dispatch below autograd: modes that see every operator under the dispatcher's name, on the runtime's interception of kernels."""

import torch
from mindtorch_proxy.runtime.call.dispatch import intercept
from mindtorch_proxy.runtime.tensor import Tensor

_entered: list = []  # the modes of this thread and others, innermost last


class TorchDispatchMode:
    """Inside, __torch_dispatch__(func, types, args, kwargs) is called for each operator below autograd and autocast; its result is the operator's.

    func is torch.ops.aten.NAME.OVERLOAD; calling it goes to the outer modes, then to the kernel. Functions over other operators are not seen, what they
    call is.
    """

    def __init__(self, _dispatch_key=None):
        self._open = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def _handle(self, name, args, proceed):
        given, named = _as_called(proceed.op, args)
        at = _entered.index(self)
        held, _entered[at:] = _entered[at:], []
        try:
            with proceed.outer():
                tensors = {type(t) for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor) and type(t) is not Tensor}
                return self.__torch_dispatch__(_overload(name, proceed), tuple(tensors), given, named)
        finally:
            _entered[at:] = held

    def __enter__(self):
        context = intercept(self._handle)
        context.__enter__()
        self._open.append(context)
        _entered.append(self)
        return self

    def __exit__(self, *exc):
        _entered.remove(self)
        self._open.pop().__exit__(*exc)
        return False


def _as_called(op, args):
    """(args, kwargs) as PyTorch's dispatcher gives them: what follows a star by name, defaults left out."""
    declared = op.schema.args
    named = {a.name: v for a, v in zip(declared, args) if a.kwonly and v != a.default}
    given = [v for a, v in zip(declared, args) if not a.kwonly]
    rest = [a for a in declared if not a.kwonly]
    while given and not rest[len(given) - 1].required and not isinstance(given[-1], Tensor) and given[-1] == rest[len(given) - 1].default:
        given.pop()
    return tuple(given), named


def _overload(name, proceed):
    """torch.ops.aten.NAME.OVERLOAD, or what stands for an operator that is not there under this name."""
    _, operator, overload = name.split(".")
    packet = getattr(torch.ops.aten, operator.rstrip("_") if operator.endswith("_") and operator[:2] != "__" else operator, None)
    return torch._ops.dispatched(packet, operator, overload, proceed)


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a dispatch mode is active."""
    return bool(_entered)


def _get_current_dispatch_mode():
    return _entered[-1] if _entered else None


def _get_current_dispatch_mode_stack():
    return list(_entered)


def is_traceable_wrapper_subclass(t):
    """Whether an object is a tensor subclass that wraps others and says how (``__tensor_flatten__``, ``__tensor_unflatten__``)."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t):
    """The same for a class."""
    has_protocol = hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
    return issubclass(t, torch.Tensor) and t is not torch.Tensor and has_protocol
