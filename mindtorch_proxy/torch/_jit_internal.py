"""torch._jit_internal: decorators that tell TorchScript what to compile.

Nothing is compiled here; the decorators only set an attribute of the function.
"""

import builtins
import types
import typing
import weakref
from typing import Final, get_args, get_origin

__all__ = ["Final", "export", "ignore", "is_scripting", "unused"]


class FunctionModifiers:
    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"


def is_scripting():
    """Whether TorchScript is compiling; always False."""
    return False


def _mark(fn, modifier):
    if isinstance(fn, property):
        fn.fget._torchscript_modifier = modifier
        if fn.fset:
            fn.fset._torchscript_modifier = modifier
    else:
        fn._torchscript_modifier = modifier
    return fn


def export(fn):
    """Mark a method as one that TorchScript would compile even if nothing calls it."""
    return _mark(fn, FunctionModifiers.EXPORT)


def unused(fn):
    """Mark a function as one that TorchScript would replace with an error."""
    return _mark(fn, FunctionModifiers.UNUSED)


def ignore(drop=False, **kwargs):
    """Mark a function as one that TorchScript would leave to Python."""
    if callable(drop):
        return _mark(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return lambda fn: _mark(fn, FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE)


def _copy_to_script_wrapper(fn):
    return _mark(fn, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)


def _overload(func):
    return func


_overload_method = _drop = _overload


boolean_dispatched = weakref.WeakKeyDictionary()  # {function made by boolean_dispatch: its parts}


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """Return a function that calls ``if_true`` or ``if_false``, depending on the value of one argument."""

    def fn(*args, **kwargs):
        flag = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if flag else if_false)(*args, **kwargs)

    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    fn.__name__ = func_name or fn.__name__
    fn.__module__ = module_name or fn.__module__
    boolean_dispatched[fn] = {
        "if_true": if_true,
        "if_false": if_false,
        "index": arg_index,
        "default": default,
        "arg_name": arg_name,
    }
    return fn


def _isinstance(obj, target_type):
    """Whether obj is an instance of a type; also checks the elements of containers: ``_isinstance([1], List[int])``."""
    if isinstance(target_type, tuple):
        return any(_isinstance(obj, t) for t in target_type)
    origin, args = get_origin(target_type), get_args(target_type)
    if origin in (typing.Union, types.UnionType):
        return any(_isinstance(obj, t) for t in args)
    if target_type is None:
        return obj is None
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if not args:
        raise RuntimeError("The type to check against lacks the types of its elements.")
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(_isinstance(k, args[0]) and _isinstance(v, args[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(args) and all(map(_isinstance, obj, args))
    return all(_isinstance(v, args[0]) for v in obj)


def __getattr__(name):
    if name == "Future":
        from .futures import Future

        return Future
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class BroadcastingListCls:
    """An annotation for a list of fixed length, for which TorchScript also accepts a single value."""

    def __getitem__(self, types):
        return None


BroadcastingList1, BroadcastingList2, BroadcastingList3 = (BroadcastingListCls() for _ in range(3))
