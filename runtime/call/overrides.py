"""__torch_function__: classes and modes that take calls over, and the way of a call that may be taken over."""

import functools
import types

from ..forks import lock
from ..tensor import Tensor, tensor_method
from .state import (
    LOCAL,
    STATE,
    DisableTorchFunctionSubclass,
    _disabled_torch_dispatch_impl,
    _disabled_torch_function_impl,
    activate,
    direct,
    disabled,
    dispatching,
)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    __module__ = "torch._C"

    def __enter__(self):
        LOCAL.subclass_off += 1
        self.modes, LOCAL.modes = LOCAL.modes, ()

    def __exit__(self, *exc):
        LOCAL.subclass_off -= 1
        LOCAL.modes = self.modes


_modes = 0  # in all threads
_modes_lock = lock()


def push_mode(mode):
    _count_modes(1)
    LOCAL.modes = (*LOCAL.modes, mode)
    activate(1)


def pop_mode():
    mode = LOCAL.modes[-1]
    LOCAL.modes = LOCAL.modes[:-1]
    activate(-1)
    _count_modes(-1)
    return mode


def _count_modes(n):
    """While there is a mode, in any thread, what is written by hand in Tensor asks for it; else nothing does, and nothing is the slower for it."""
    global _modes
    with _modes_lock:
        before, _modes = _modes, _modes + n
        if bool(before) != bool(_modes):
            for name, asking, plain in _asking_modes():
                setattr(Tensor, name, asking if _modes else plain)


@functools.cache
def _asking_modes():
    """(name, attribute that asks modes first, attribute as written) of Tensor's methods and properties that are no operators."""
    found = []
    for name in (*_BY_HAND, *_FOR_MODES):
        plain = Tensor.__dict__.get(name)
        if isinstance(plain, types.FunctionType):
            found.append((name, _asking_mode(plain), plain))
    for name in _PROPERTIES:
        plain = Tensor.__dict__.get(name)
        if isinstance(plain, property):  # not dtype and device, which our own code reads everywhere
            setter = _asking_mode(plain.__set__) if plain.fset else None
            found.append((name, property(_asking_mode(plain.__get__), setter, doc=plain.__doc__), plain))
    return found


def _asking_mode(method):
    @functools.wraps(method, ("__name__", "__doc__") if isinstance(method, _METHOD_WRAPPER) else functools.WRAPPER_ASSIGNMENTS)
    def ask(self, *args, **kwargs):
        return handle_torch_function(method, (self,), self, *args, **kwargs) if LOCAL.modes else method(self, *args, **kwargs)

    return ask


def _flat(args):
    for a in args:
        if isinstance(a, (tuple, list)):
            yield from a
        else:
            yield a


def overloaded(args):
    """Arguments whose class overrides __torch_function__, subclasses first, each class once; the classes of layouts, which nothing switches off, last."""
    found = []
    for a in args:
        cls = type(a)
        if cls in direct or not hasattr(cls, "__torch_function__"):
            continue
        if isinstance(a, Tensor):
            if not cls._of_layout and (LOCAL.subclass_off or disabled(cls) or LOCAL.formulas and not cls._below_autograd):
                continue
        elif LOCAL.subclass_off:
            continue
        if cls is type or any(type(f) is cls for f in found):
            continue
        for i, f in enumerate(found):
            if issubclass(cls, type(f)):
                found.insert(i, a)
                break
        else:
            found.append(a)
    return found if len(found) < 2 else sorted(found, key=lambda a: getattr(type(a), "_of_layout", False))


def _no_implementation(text):
    """The error where every override said NotImplemented: Python's operators then say it too."""
    error = TypeError(text)
    error.not_implemented = True
    return error


def has_torch_function(args):
    if LOCAL.modes:
        return True
    return bool(overloaded(args))


def handle_torch_function(public, relevant, *args, **kwargs):
    """Ask the mode on top, else each overriding argument in turn."""
    found = overloaded(relevant)
    types = tuple(type(a) for a in found if not getattr(type(a), "_of_layout", False))
    if LOCAL.modes:
        mode = LOCAL.modes[-1]
        prev, LOCAL.modes = LOCAL.modes, LOCAL.modes[:-1]
        try:
            r = mode.__torch_function__(public, types, args, kwargs)
        finally:
            LOCAL.modes = prev
        if r is not NotImplemented:
            return r
    else:
        for a in found:
            r = a.__torch_function__(public, types, args, kwargs)
            if r is not NotImplemented:
                return r
    raise _no_implementation(
        f"Multiple dispatch failed for '{getattr(public, '__module__', 'torch')}.{public.__name__}'; all __torch_function__ handlers returned "
        "NotImplemented:\n\n" + "".join(f"  - tensor subclass {t}\n" for t in types) + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def asking_modes(fn):
    """A function that takes no tensors, or any data, asks modes before it runs."""

    @functools.wraps(fn)
    def public(*args, **kwargs):
        return handle_torch_function(public, (), *args, **kwargs) if LOCAL.modes else fn(*args, **kwargs)

    return public


def overridable(fn):
    """A function over operators asks for overrides itself, before any of them does."""

    @functools.wraps(fn)
    def public(*args, **kwargs):
        relevant = tuple(_flat((*args, *kwargs.values())))
        return handle_torch_function(public, relevant, *args, **kwargs) if has_torch_function(relevant) else fn(*args, **kwargs)

    return public


def run_overridden(public, op, args, out, kind, kwargs=None, star=()):
    """The way of a call that may be taken over: overrides, then autocast; STATE when the call should go on as it is.

    `out` is STATE where there is none; `star` is what f(*sizes) was given; kwargs are given where args are the caller's own.
    """
    named = kwargs is None and kind == "function" and op.python
    pos, kw = _as_given(op, args, named) if kwargs is None else (args, dict(kwargs))
    if out is not STATE and (named or out is not None):
        kw["out"] = out
    relevant = list(_flat((*pos, *kw.values())))
    if LOCAL.modes or overloaded(relevant):
        return handle_torch_function(public, relevant, *pos[: len(pos) - bool(star)], *star, **kw)
    if LOCAL.autocast is None or kwargs is not None:
        return STATE
    new = LOCAL.autocast(op, args)
    if new is None:
        return STATE
    kw.update((a.name, v) for a, v in zip(op.schema.args, new) if a.name in kw)
    prev, LOCAL.autocast = LOCAL.autocast, None
    try:
        return public(*new[: len(pos)], **kw)
    finally:
        LOCAL.autocast = prev


def _as_given(op, args, named):
    """(positional, keywords) of a call whose arguments stand in the schema's order.

    What PyTorch writes in Python (named) hands on what is optional by its name, what it writes in C++ as it was given.
    """
    schema_args = op.schema.args
    pos = [v for a, v in zip(schema_args, args) if not a.kwonly and (a.required or not named)]
    kw = {a.keyword: v for a, v in zip(schema_args, args) if (a.kwonly or named and not a.required) and (named or v is not a.default)}
    if op.options.varargs is None:
        while len(pos) > 1 and not schema_args[len(pos) - 1].required and pos[-1] is schema_args[len(pos) - 1].default:
            pos.pop()
    return pos, kw


# methods written by hand: no wrapper of an operator asks for overrides before they run
_BY_HAND = """detach detach_ item tolist numpy size dim ndimension numel nelement element_size is_contiguous stride storage_offset data_ptr
 untyped_storage requires_grad_ register_hook register_post_accumulate_grad_hook retain_grad backward is_floating_point is_complex is_signed get_device
 new_tensor is_inference is_set_to type __bool__ __float__ __int__ __complex__ __index__ __len__ __contains__ __repr__ __array__""".split()


_FOR_MODES = "__format__ __dir__ __deepcopy__ is_shared share_memory_".split()
_METHOD_WRAPPER = type(object().__str__)


def override_methods(cls):
    """Let the hand-written methods of a subclass with a __torch_function__ of its own ask it first, as operators do."""
    f = cls.__dict__["__torch_function__"]
    if getattr(f, "__func__", f) is _disabled_torch_function_impl:
        return
    for name in _BY_HAND:
        if getattr(cls, name) is Tensor.__dict__.get(name):
            setattr(cls, name, _asking(Tensor.__dict__[name]))
    if not cls._below_autograd:
        _override_properties(cls)


_SLOTS = ("dtype", "device")


def _override_properties(cls):
    """The same for attributes: Tensor.shape.__get__ and Tensor.grad.__set__ are what the class is asked for."""
    for name in _PROPERTIES:
        found = Tensor.__dict__.get(name)
        if isinstance(found, (property, types.MemberDescriptorType)) and getattr(cls, name) is found:
            setter = found.__set__ if name in _SLOTS else _asking(found.__set__) if getattr(found, "fset", None) else None
            setattr(cls, name, property(_asking(found.__get__), setter, doc=found.__doc__))


_PROPERTIES = """shape dtype device requires_grad grad data is_leaf grad_fn T mT H mH real imag ndim layout is_sparse is_meta is_cuda is_cpu
 is_quantized itemsize nbytes output_nr retains_grad _version _base""".split()
Tensor._of_layout = False  # True: __torch_function__ finds the operators of a sparse layout
Tensor._below_autograd = False  # True: __torch_function__ stands for a level below autograd, which formulas meet too


def _asking(method):
    @functools.wraps(method, ("__name__", "__doc__") if isinstance(method, _METHOD_WRAPPER) else functools.WRAPPER_ASSIGNMENTS)
    def ask(self, *args, **kwargs):
        if LOCAL.subclass_off or LOCAL.formulas or disabled(type(self)):
            return method(self, *args, **kwargs)
        return handle_torch_function(method, (self,), self, *args, **kwargs)

    return ask


@tensor_method
@classmethod
def __torch_function__(cls, func, types, args=(), kwargs=None):
    """Run below overrides, then results take the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        ret = func(*args, **(kwargs or {}))
    return _convert(ret, cls)


def _convert(ret, cls):
    if cls is Tensor:
        return ret
    if isinstance(ret, Tensor) and not isinstance(ret, cls) and not ret._of_layout:
        ret = ret.as_subclass(cls)
    if isinstance(ret, (tuple, list)):
        items = [_convert(r, cls) for r in ret]
        ret = type(ret)(*items) if hasattr(ret, "_fields") else type(ret)(items)
    return ret


Tensor.__torch_dispatch__ = _disabled_torch_dispatch_impl


class TorchFunctionMode:
    """A context in which every public call goes to the mode's __torch_function__."""

    __module__ = "torch.overrides"
    inner = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        push_mode(self)
        return self

    def __exit__(self, *exc):
        pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        return cls(*args, **kwargs)


@tensor_method
@classmethod
def __init_subclass__(cls, raw=False, **kw):
    super(Tensor, cls).__init_subclass__(**kw)
    STATE.subclasses = True
    if raw:
        cls._below_autograd = True
    dispatch = cls.__torch_dispatch__
    if getattr(dispatch, "__func__", dispatch) is not _disabled_torch_dispatch_impl:
        if not dispatching:
            activate(0, 1)  # from now on calls below autograd look at the classes of their arguments
        dispatching.add(cls)
    if "__torch_function__" in cls.__dict__ and not raw:
        override_methods(cls)
