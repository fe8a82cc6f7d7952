"""Dispatch below autograd: modes that see every operator under the dispatcher's name, on the runtime's interception of kernels."""

import torch
from mindtorch_proxy.runtime.call.dispatch import CLASSES, intercept
from torch._ops import called, checked, dispatching_classes, rule

_entered: list = []  # the modes of this thread and others, innermost last


class TorchDispatchMode:
    """Inside, __torch_dispatch__(func, types, args, kwargs) is called for each operator below autograd and autocast; its result is the operator's.

    func is torch.ops.aten.NAME.OVERLOAD; calling it goes to the outer modes, then to the kernel. Functions over other operators are not seen, what they
    call is.
    """

    def __init__(self, _dispatch_key=None):
        """Nothing is kept of a mode that is not entered."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def _handle(self, name, args, call):
        if isinstance(getattr(self.__torch_dispatch__, "__self__", None), type):
            raise RuntimeError("classmethod is not supported, please make it a plain method")
        overload, given, named = called(name, args, call)
        at = _entered.index(self)
        held, _entered[at:] = _entered[at:], []
        classes = dispatching_classes(args)
        try:
            with call.outer():
                result = rule(overload, self, self.__torch_dispatch__)(overload, tuple(classes), given, named)
        finally:
            _entered[at:] = held
        if result is NotImplemented and classes:  # the classes of the arguments come next, under this mode
            return CLASSES.handler(name, args, call)
        return checked(overload, result, self)

    def __enter__(self):
        context = intercept(self._handle)
        context.__enter__()
        self.__dict__.setdefault("_open", []).append(context)
        _entered.append(self)
        return self

    def __exit__(self, *exc):
        _entered.remove(self)
        self._open.pop().__exit__(*exc)
        return False


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


def return_and_correct_aliasing(func, args, kwargs, out):
    """What a wrapper subclass's __torch_dispatch__ returns for `out`: the argument itself where the operator writes into it. An operator that changes the
    geometry of its argument changes that of the wrapper, too. (Wrappers have no storage here, which views would share.)
    """
    schema = func._schema
    given = schema.bound(args, kwargs) or {}
    sources = {letter: a.name for a in schema.arguments if a.alias_info is not None for letter in a.alias_info.before_set}

    def corrected(returned, result):
        if not returned.is_write:
            return result
        return next((given[sources[letter]] for letter in returned.alias_info.before_set if sources.get(letter) in given), result)

    if torch.Tag.inplace_view in func.tags:
        with torch._C._DisableTorchDispatch():
            func(*args, **kwargs)
    if len(schema.returns) == 1:
        return corrected(schema.returns[0], out)
    return type(out)(map(corrected, schema.returns, out)) if schema.returns else out
