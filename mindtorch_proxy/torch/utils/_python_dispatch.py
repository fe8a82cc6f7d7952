"""Dispatch below autograd: modes that handle every operator under its name in the dispatcher.

They are built on the runtime's handlers, which intercept calls of kernels.
"""

import contextlib
import warnings
from typing import Protocol

import torch
from mindtorch_proxy.runtime.call.dispatch import CLASSES
from mindtorch_proxy.runtime.context import CONTEXT, activate
from torch._C import _TorchDispatchModeKey
from torch._ops import called, checked, dispatching_classes, rule

_entered: list = []  # the entered modes, including those that are temporarily off the stack


class TorchDispatchMode:
    """A context in which __torch_dispatch__(func, types, args, kwargs) replaces each operator below autograd.

    This is below autocast too. func is torch.ops.aten.NAME.OVERLOAD; calling it goes to the outer modes, then to the
    kernel. A composite operator is not passed to the mode, but the operators that it calls are. A mode with a
    ``_mode_key`` is one of PyTorch's own: only one per key can be active, and all other modes run before it.
    """

    supports_higher_order_operators = False
    _mode_key = None

    def __init__(self, _dispatch_key=None):
        """Do nothing: a mode has no state until it is entered."""
        if _dispatch_key is not None:
            raise NotImplementedError(
                f"TorchDispatchMode(_dispatch_key={_dispatch_key}): modes above autograd are not supported"
            )

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def __enter__(self):
        if self._mode_key is not None:  # __exit__ restores the previous one
            self.__dict__.setdefault("_before", []).append(torch._C._unset_dispatch_mode(self._mode_key))
        _push_mode(self)
        _entered.append(self)
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        _entered.remove(self)
        _remove(self)
        if self._mode_key is not None and (before := self._before.pop()) is not None:
            _push_mode(before)

    @classmethod
    def push(cls, *args, **kwargs):
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """Whether the mode is part of PyTorch itself, so that it runs after the modes of programs."""
        return False

    @classmethod
    def ignore_compile_internals(cls):
        """Whether the mode does not need to handle the operators of compiled functions."""
        return cls.is_infra_mode()


BaseTorchDispatchMode = TorchDispatchMode


def _composites_whole(whole=True):
    """Return a context in which modes get composite operators as they are called, as PyTorch does above autograd."""
    return CONTEXT.set(whole=whole)


# -------------------------------------------------------------------------------------- the mode stack of a thread
class _Asked:
    """The entry of a mode in the thread's stack of handlers."""

    __slots__ = ("mode",)

    def __init__(self, mode):
        self.mode = mode

    def __call__(self, name, args, call):
        mode = self.mode
        if isinstance(getattr(mode.__torch_dispatch__, "__self__", None), type):
            raise RuntimeError("classmethod is not supported, please make it a plain method")
        overload, given, named = called(name, args, call)
        classes = dispatching_classes(args)
        with call.outer():
            result = rule(overload, mode, mode.__torch_dispatch__)(overload, tuple(classes), given, named)
        if result is NotImplemented and classes:  # the classes of the arguments are next, with this mode off
            return CLASSES.handler(name, args, call)
        return checked(overload, result, mode)


def _rank(handler):
    """Return the position of a handler from the outside: PyTorch's own modes by their keys, then all others."""
    key = getattr(handler.mode, "_mode_key", None) if isinstance(handler, _Asked) else None
    return len(_TorchDispatchModeKey) if key is None else int(key)


def _push_mode(mode):
    """Push a mode onto the stack; one of PyTorch's own is inserted below those of programs."""
    new, stack = _Asked(mode), CONTEXT.interceptors
    rank = _rank(new)
    if mode._mode_key is not None and _get_dispatch_mode(mode._mode_key) is not None:
        raise RuntimeError(f"trying to set the current {mode._mode_key}, but one already exists")
    at = sum(_rank(h) <= rank for h in stack)
    CONTEXT.interceptors = (*stack[:at], new, *stack[at:])
    activate(1, 1)


def _remove(mode):
    stack = CONTEXT.interceptors
    at = next((i for i in reversed(range(len(stack))) if isinstance(stack[i], _Asked) and stack[i].mode is mode), None)
    if at is None:
        raise AssertionError(f"{mode} is not on the stack of dispatch modes")
    CONTEXT.interceptors = (*stack[:at], *stack[at + 1 :])
    activate(-1, -1)
    return mode


def _pop_mode(k=None):
    """Remove the topmost mode, or the one with a key, from the stack and return it."""
    mode = _get_current_dispatch_mode() if k is None else _get_dispatch_mode(k)
    if mode is None:
        raise AssertionError("the stack of dispatch modes is empty" if k is None else f"no mode of {k} is on the stack")
    return _remove(mode)


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    old = _pop_mode(k)
    try:
        yield old
    finally:
        _push_mode(old)


def _get_current_dispatch_mode_stack():
    """Return the modes on the stack, the innermost last."""
    return [h.mode for h in CONTEXT.interceptors if isinstance(h, _Asked)]


def _get_current_dispatch_mode():
    """Return the innermost mode, which runs first, or None."""
    stack = _get_current_dispatch_mode_stack()
    return stack[-1] if stack else None


def _get_dispatch_mode(key):
    """Return the active mode of PyTorch's own with a key, or None."""
    return next((m for m in _get_current_dispatch_mode_stack() if m._mode_key is key), None)


@contextlib.contextmanager
def _disable_current_modes():
    """Disable all modes within the block; yield those that were active, the outermost first."""
    modes = _get_current_dispatch_mode_stack()
    for mode in reversed(modes):
        _remove(mode)
    try:
        yield modes
    finally:
        for mode in modes:
            _push_mode(mode)


@contextlib.contextmanager
def _disable_infra_mode(key):
    """Disable the mode with a key within the block; yield it, or None."""
    mode = _get_dispatch_mode(key)
    if mode is not None:
        _remove(mode)
    try:
        yield mode
    finally:
        if mode is not None:
            _push_mode(mode)


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether any dispatch mode is entered; include_infra_modes: whether PyTorch's own modes count."""
    return any(include_infra_modes or not m.is_infra_mode() for m in _entered)


def is_in_any_mode_without_ignore_compile_internals():
    """Whether a mode is entered that needs to handle the operators of compiled functions."""
    return any(not m.ignore_compile_internals() for m in _entered)


def any_torch_dispatch_mode_on_stack():
    """Whether a mode of the program is on the stack."""
    return any(not m.is_infra_mode() and not m.ignore_compile_internals() for m in _get_current_dispatch_mode_stack())


# ------------------------------------------------------------------------------------------------ wrapper subclasses
class TensorWithFlatten(Protocol):
    """The protocol of a traceable wrapper subclass."""

    def __tensor_flatten__(self): ...

    @staticmethod
    def __tensor_unflatten__(inner_tensors, flatten_spec, outer_size, outer_stride): ...


TraceableWrapperSubclass = TensorWithFlatten


def is_traceable_wrapper_subclass(t):
    """Whether an object is a wrapper subclass with ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t):
    """Whether a class is a wrapper subclass with ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    has_protocol = hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
    return issubclass(t, torch.Tensor) and t is not torch.Tensor and has_protocol


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """Return a new wrapper around ``callback(name, inner)`` for each inner tensor.

    outer_size, outer_stride: of the new wrapper, by default those of t.
    """
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    made = type(t).__tensor_unflatten__(
        {name: callback(name, getattr(t, name)) for name in names}, context, outer_size, outer_stride
    )
    if made.shape != outer_size:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to {outer_size}, but got: "
            f"{made.shape}"
        )
    if made.stride() != outer_stride:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have stride equal to {outer_stride}, "
            f"but got: {made.stride()}"
        )
    return made


def return_and_correct_aliasing(func, args, kwargs, out):
    """Return what a wrapper's __torch_dispatch__ should return for ``func(*args, **kwargs)``, after it computed `out`.

    Following the schema, a result that is a view gets the storage of the argument that it views, and a result that is a
    mutated argument becomes that argument. Operators that change sizes in place change those of the wrapper.
    AssertionError if a view has another class than its base.
    """
    schema = func._schema
    values = schema.bound(args, kwargs or {})
    arguments = [(a, values.get(a.name)) for a in schema.arguments if a.alias_info is not None]
    results = list(out) if isinstance(out, tuple) and len(schema.returns) > 1 else [out]
    for arg, value in arguments:
        for returned, result in zip(schema.returns, results):
            if (
                returned.alias_info is not None
                and not arg.is_write
                and arg.alias_info.before_set & returned.alias_info.before_set
            ):
                _share_storage(func, value, result)
    if "inplace_view" in schema.tags:
        _follow_geometry(func, args, kwargs or {})
    if not any(r.alias_info is not None and r.alias_info.is_write for r in schema.returns):
        return out
    given = [
        next((v for a, v in arguments if a.is_write and a.alias_info.before_set & r.alias_info.before_set), result)
        if r.alias_info is not None
        else result
        for r, result in zip(schema.returns, results)
    ]
    return given[0] if len(schema.returns) == 1 else type(out)(given)


def _share_storage(func, arg, out):
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    for result in outs if isinstance(arg, torch.Tensor) else ():
        if type(result) is not type(arg) and (
            is_traceable_wrapper_subclass(arg) or is_traceable_wrapper_subclass(result)
        ):
            raise AssertionError(
                f"Called {func} with input of type {type(arg)}\nand output of type {type(result)}. "
                "But expected types to match."
            )
        if isinstance(result, torch.Tensor) and result is not arg:
            result._storage = arg._get_storage()


def _follow_geometry(func, args, kwargs):
    """Set the sizes, strides and offset of the mutated argument to those that func gives a meta tensor like it."""
    first = args[0]
    with torch._C._DisableTorchDispatch():
        meta = torch.empty_strided(first.shape, first.stride(), dtype=first.dtype, device="meta")
        meta._offset = first._offset
        func(meta, *args[1:], **kwargs)
    for name in ("_shape", "_stride", "_offset"):
        setattr(first, name, getattr(meta, name))
