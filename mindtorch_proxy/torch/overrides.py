"""torch.overrides: __torch_function__ for people who write tensor-likes and modes."""

import functools
import inspect
import types

from mindtorch_proxy.runtime import registry as _registry
from mindtorch_proxy.runtime.call.overrides import TorchFunctionMode, _disabled_torch_function_impl, handle_torch_function as _handle  # noqa: F401
from mindtorch_proxy.runtime.call.overrides import has_torch_function as _has, pop_mode, push_mode
from mindtorch_proxy.runtime.autograd import MODE
from mindtorch_proxy.runtime.call.state import LOCAL
from mindtorch_proxy.runtime.tensor import Tensor

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
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


def has_torch_function(relevant_args):
    """Whether a mode or an argument overrides __torch_function__."""
    return _has(relevant_args)


def get_default_nowrap_functions():
    """Getters whose results do not take the class of a subclass."""
    return {Tensor._base.__get__, Tensor.grad.__get__}


def has_torch_function_unary(a):
    """Whether one argument has a ``__torch_function__`` of its own."""
    return _has((a,))


def has_torch_function_variadic(*args):
    """Whether any argument has a ``__torch_function__`` of its own."""
    return _has(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Asks the arguments' ``__torch_function__`` for a result."""
    return _handle(public_api, relevant_args, *args, **kwargs)


def is_tensor_like(inp):
    """Whether an object is a tensor or has a ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def wrap_torch_function(dispatcher):
    """Make a function overridable; dispatcher gives its relevant arguments."""

    def inner(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if _has(relevant):
                return _handle(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def get_ignored_functions():
    """Functions that never ask __torch_function__."""
    import torch

    return {
        torch.is_tensor,
        torch.is_storage,
        torch.set_default_device,
        torch.set_default_dtype,
        torch.get_default_dtype,
        torch.promote_types,
        torch.can_cast,
        torch.finfo,
        torch.iinfo,
        torch.tensor,
        torch.from_numpy,
        torch.no_grad,
        torch.enable_grad,
    }


def get_overridable_functions():
    """Namespace -> functions that ask __torch_function__."""
    import torch

    return {
        torch: [getattr(torch, n) for n in sorted(_registry.names("torch"))],
        torch.nn.functional: [getattr(torch.nn.functional, n) for n in sorted(_registry.names("nn.functional"))],
        Tensor: [getattr(Tensor, n) for n in sorted(_registry.names("Tensor"))],
    }


def get_testing_overrides():
    """Overridable function -> a lambda that takes anything and returns -1, as PyTorch's own tests use it."""
    return {f: (lambda *args, **kwargs: -1) for fs in get_overridable_functions().values() for f in fs}


def resolve_name(f):
    """The dotted public name of a torch function."""
    if isinstance(f, types.MethodWrapperType) and isinstance(f.__self__, (property, types.MemberDescriptorType)):
        name = next((n for n in dir(Tensor) if inspect.getattr_static(Tensor, n, None) is f.__self__), None)
        return name and f"torch.Tensor.{name}.{f.__name__}"
    if isinstance(f, types.FunctionType) or hasattr(f, "__module__"):
        return f"{f.__module__}.{f.__qualname__}"
    return None


def is_tensor_method_or_property(func):
    """Whether a function is a method or a property of Tensor."""
    return getattr(func, "__qualname__", "").startswith("Tensor.") or func.__name__ == "__get__"


class enable_reentrant_dispatch:
    """Inside a __torch_dispatch__: operators record gradients, and ask modes and classes, as above it."""

    def __enter__(self):
        self.recording, MODE.grad = MODE.grad, LOCAL.recording
        return self

    def __exit__(self, *exc):
        MODE.grad = self.recording


def _len_torch_function_stack():
    return len(LOCAL.modes)


_push_mode, _pop_mode = push_mode, pop_mode
