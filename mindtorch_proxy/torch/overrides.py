"""torch.overrides: the __torch_function__ protocol for authors of tensor-like classes and modes."""

import functools
import inspect
import threading
import types

from mindtorch_proxy.runtime import registry as _registry
from mindtorch_proxy.runtime.cpython import plain_name as _plain_name, python_function as _python_function
from mindtorch_proxy.runtime.call.overrides import (
    DisableTorchFunction,
    TorchFunctionMode,
    _disabled_torch_function_impl,
    handle_torch_function as _handle,
    not_wrapped as _not_wrapped,
)  # noqa: F401
from mindtorch_proxy.runtime.call.overrides import (
    overridden_by_programs as _overridden_by_programs,
    pop_mode,
    push_mode,
)
from mindtorch_proxy.runtime.context import CONTEXT
from mindtorch_proxy.runtime.tensor import Tensor

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "redispatch_function",
    "resolve_name",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
    "enable_reentrant_dispatch",
    "TorchFunctionMode",
    "BaseTorchFunctionMode",
    "has_torch_function_unary",
    "has_torch_function_variadic",
]


_skip = threading.local()  # .once: the next has_torch_function returns False


def has_torch_function(relevant_args):
    """Whether a mode or an argument overrides __torch_function__."""
    if getattr(_skip, "once", False):
        _skip.once = False
        return False
    return _overridden_by_programs(relevant_args)


def get_default_nowrap_functions():
    """Return the getters whose results are not converted to the class of a tensor subclass."""
    return _not_wrapped()


def has_torch_function_unary(a):
    """Whether a mode or the argument overrides ``__torch_function__``."""
    return has_torch_function((a,))


def has_torch_function_variadic(*args):
    """Whether a mode or any argument overrides ``__torch_function__``."""
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Call the ``__torch_function__`` of the modes and relevant_args, and return the result."""
    return _handle(public_api, relevant_args, *args, **kwargs)


def is_tensor_like(inp):
    """Whether an object is a tensor or has a ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def wrap_torch_function(dispatcher):
    """Return a decorator that makes a function overridable; dispatcher returns the relevant arguments of a call."""

    def inner(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return _handle(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def redispatch_function(func, types, args, kwargs):
    """Call a function without its own ``__torch_function__`` check; torch functions that it calls still check.

    A function of torch itself runs with __torch_function__ disabled, so that it returns plain tensors.
    """
    kwargs = kwargs or {}
    if (getattr(func, "__module__", None) or "torch").partition(".")[0] == "torch":
        with DisableTorchFunction():
            return func(*args, **kwargs)
    _skip.once = True
    try:
        return func(*args, **kwargs)
    finally:
        _skip.once = False


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls each function unchanged."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def get_ignored_functions():
    """Return the functions that never check ``__torch_function__``.

    These are functions without tensor arguments, settings, and constructors of Tensor.
    """
    import torch

    asking = set(get_overridable_functions()[torch])
    classes = {
        torch.device,
        torch.dtype,
        torch.finfo,
        torch.iinfo,
        torch.layout,
        torch.no_grad,
        torch.enable_grad,
        torch.set_grad_enabled,
    }
    functions = {
        f
        for n, f in vars(torch).items()
        if isinstance(f, (types.FunctionType, types.BuiltinFunctionType)) and not n.startswith("_") and f not in asking
    }
    methods = (
        "__init__",
        "__new__",
        "__hash__",
        "__init_subclass__",
        "__torch_function__",
        "_make_subclass",
        "_make_wrapper_subclass",
        "as_subclass",
    )
    made = (*methods, *(n for n in dir(Tensor) if n.startswith("new_")))
    return (functions | classes | {getattr(Tensor, n) for n in made}) - set(get_testing_overrides())


def get_overridable_functions():
    """Return {namespace: functions that check ``__torch_function__``}."""
    import torch

    return {
        torch: [f for f in (getattr(torch, n) for n in sorted(_registry.names("torch"))) if _takes_tensors(f)],
        torch.nn.functional: [getattr(torch.nn.functional, n) for n in sorted(_registry.names("nn.functional"))],
        Tensor: [getattr(Tensor, n) for n in sorted(_registry.names("Tensor"))],
    }


def get_testing_overrides():
    """Return {overridable function: a function that takes any arguments and returns -1}, as for PyTorch's tests."""
    return {f: _override(f) for fs in get_overridable_functions().values() for f in fs}


def _override(f):
    def override(*args, **kwargs):
        return -1

    override.__name__, override.__signature__ = "<lambda>", inspect.signature(_python_function(f))
    return override


def _takes_tensors(f):
    """Whether a function of torch has an overload with a tensor or a list of tensors as an argument."""
    return any(
        a.is_tensor
        for o in _registry.operators()
        if o.name.lstrip("_") == f.__name__.lstrip("_")
        for a in o.schema.arguments
    )


def resolve_name(f):
    """Return the dotted public name of a torch function, or None."""
    if isinstance(f, types.MethodWrapperType) and isinstance(f.__self__, (property, types.MemberDescriptorType)):
        name = next((n for n in dir(Tensor) if inspect.getattr_static(Tensor, n, None) is f.__self__), None)
        return name and f"torch.Tensor.{name}.{f.__name__}"
    if isinstance(f, types.BuiltinFunctionType):
        return _names_of_builtins().get(f)
    if isinstance(f, types.FunctionType) or hasattr(f, "__module__"):
        return f"{f.__module__}.{f.__qualname__}"
    return None


@functools.cache
def _names_of_builtins():
    """Return {builtin: its dotted public name}."""
    import torch

    spaces = {
        "torch": torch,
        "torch.nn.functional": torch.nn.functional,
        "torch.fft": torch.fft,
        "torch.linalg": torch.linalg,
        "torch.special": torch.special,
    }
    found = {}
    for space, module in spaces.items():
        for name in dir(module):
            f = getattr(module, name, None)
            if isinstance(f, types.BuiltinFunctionType):
                found[f] = f"{space}.{name}"
    return found


def is_tensor_method_or_property(func):
    """Whether a function is a method or a property of Tensor."""
    return getattr(func, "__qualname__", "").startswith("Tensor.") or func.__name__ == "__get__"


class enable_reentrant_dispatch:
    """Within a __torch_dispatch__, make operators record gradients and dispatch to modes and classes again."""

    def __enter__(self):
        self.recording, CONTEXT.grad = CONTEXT.grad, CONTEXT.recording
        return self

    def __exit__(self, *exc):
        CONTEXT.grad = self.recording


def _len_torch_function_stack():
    return len(CONTEXT.modes)


_push_mode, _pop_mode = push_mode, pop_mode
