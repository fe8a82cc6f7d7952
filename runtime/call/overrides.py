"""__torch_function__: classes and modes that take calls over, and the way of a call that may be taken over."""

import functools

from ..tensor import Tensor, tensor_method
from .state import LOCAL, STATE, DisableTorchFunctionSubclass, _disabled_torch_function_impl, activate, direct, disabled


class DisableTorchFunction(DisableTorchFunctionSubclass):
    __module__ = "torch._C"

    def __enter__(self):
        LOCAL.subclass_off += 1
        self.modes, LOCAL.modes = LOCAL.modes, ()

    def __exit__(self, *exc):
        LOCAL.subclass_off -= 1
        LOCAL.modes = self.modes


def push_mode(mode):
    LOCAL.modes = (*LOCAL.modes, mode)
    activate(1)


def pop_mode():
    mode = LOCAL.modes[-1]
    LOCAL.modes = LOCAL.modes[:-1]
    activate(-1)
    return mode


def _flat(args):
    for a in args:
        if isinstance(a, (tuple, list)):
            yield from a
        else:
            yield a


def overloaded(args):
    """Arguments whose class overrides __torch_function__, subclasses first, each class once."""
    found = []
    for a in args:
        cls = type(a)
        if cls in direct or not hasattr(cls, "__torch_function__"):
            continue
        if isinstance(a, Tensor) and disabled(cls):
            continue
        if cls is type or any(type(f) is cls for f in found):
            continue
        for i, f in enumerate(found):
            if issubclass(cls, type(f)):
                found.insert(i, a)
                break
        else:
            found.append(a)
    return found


def has_torch_function(args):
    if LOCAL.modes:
        return True
    return not LOCAL.subclass_off and bool(overloaded(args))


def handle_torch_function(public, relevant, *args, **kwargs):
    """Ask the mode on top, else each overriding argument in turn."""
    types = tuple(type(a) for a in overloaded(relevant))
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
        for a in overloaded(relevant):
            r = a.__torch_function__(public, types, args, kwargs)
            if r is not NotImplemented:
                return r
    raise TypeError(
        f"no implementation found for '{getattr(public, '__module__', 'torch')}.{public.__name__}' on types that implement "
        f"__torch_function__: {[t.__name__ for t in types]}"
    )


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
    if LOCAL.modes or not LOCAL.subclass_off:
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


def override_methods(cls):
    """Let the hand-written methods of a subclass with a __torch_function__ of its own ask it first, as operators do."""
    f = cls.__dict__["__torch_function__"]
    if getattr(f, "__func__", f) is _disabled_torch_function_impl:
        return
    for name in _BY_HAND:
        if getattr(cls, name) is Tensor.__dict__.get(name):
            setattr(cls, name, _asking(Tensor.__dict__[name]))


def _asking(method):
    @functools.wraps(method)
    def ask(self, *args, **kwargs):
        if LOCAL.subclass_off or disabled(type(self)):
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
    if isinstance(ret, Tensor) and not isinstance(ret, cls):
        ret = ret.as_subclass(cls)
    if isinstance(ret, (tuple, list)):
        items = [_convert(r, cls) for r in ret]
        ret = type(ret)(*items) if hasattr(ret, "_fields") else type(ret)(items)
    return ret


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
    if "__torch_function__" in cls.__dict__ and not raw:
        override_methods(cls)
