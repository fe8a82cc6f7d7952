"""__torch_function__: which classes are plain, the mode stack, and the slow way of a call that is overridden."""

import functools
import threading

from .tensor import Tensor


class _Plain(set):
    """Classes whose operators run directly. Membership is the test on the hot path."""

    with_none = None
    with_numbers = None


_NUMBERS = frozenset((int, float, bool, complex))
plain = _Plain((Tensor,))
plain.with_none = _Plain((Tensor, type(None)))
plain.with_numbers = _Plain((Tensor, *_NUMBERS))
plain.with_numbers.numbers = _NUMBERS


class _State:
    """`active` counts modes in any thread that force the slow way: function modes, autocast, devices as context."""

    active = 0


STATE = _State()
_lock = threading.Lock()


def activate(n):
    with _lock:
        STATE.active += n


class _Local(threading.local):
    modes = ()
    subclass_off = 0
    all_off = 0
    autocast = None


LOCAL = _Local()


def _disabled_torch_function_impl(cls, func=None, types=None, args=(), kwargs=None):
    """The value of __torch_function__ in classes that take part in operators as plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def register_plain(cls):
    """A subclass with __torch_function__ disabled (Parameter, Buffer): no result conversion, direct calls."""
    for s in (plain, plain.with_none, plain.with_numbers):
        s.add(cls)
    return cls


def disabled(cls):
    if cls in plain:
        return True
    tf = getattr(cls, "__torch_function__", None)
    tf = getattr(tf, "__func__", tf)
    if tf is _disabled_torch_function_impl:
        register_plain(cls)
        return True
    return False


class DisableTorchFunctionSubclass:
    __module__ = "torch._C"

    def __enter__(self):
        LOCAL.subclass_off += 1

    def __exit__(self, *exc):
        LOCAL.subclass_off -= 1


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
        if cls in plain or not hasattr(cls, "__torch_function__"):
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


# What PyTorch writes in Python hands on what is optional by its name, what it writes in C++ as it was given: of torch, and of nn.functional
IN_PYTHON = frozenset(
    """atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum lu meshgrid
 norm split stft tensordot unique unique_consecutive unravel_index""".split()
)
_IN_CPP = frozenset(
    """adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d
 conv_transpose2d conv_transpose3d cosine_similarity gelu hardshrink linear logsigmoid one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu
 scaled_dot_product_attention softplus softshrink""".split()
)


def _in_python(f):
    return f.__module__ == "torch.functional" or f.__module__ == "torch.nn.functional" and f.__name__ not in _IN_CPP and f.__name__[-1] != "_"


def run_overridden(public, op, args, out, kind, kwargs=None, star=()):
    """The slow way of a call: overrides, then autocast; STATE when the call should go on as it is. `out` is STATE where
    there is none; `star` is what f(*sizes) was given."""
    if kwargs is None:
        schema_args = op.schema.args
        named = kind == "function" and _in_python(public)
        pos = [v for a, v in zip(schema_args, args) if not a.kwonly and (a.required or not named)]
        kw = {
            (a.name if a.name not in ("from", "lambda") else a.name + "_"): v
            for a, v in zip(schema_args, args)
            if (a.kwonly or named and not a.required) and (named or v is not a.default)
        }
        varargs = op.options.get("varargs")
        while pos and not varargs and len(pos) > 1 and not schema_args[len(pos) - 1].required and pos[-1] is schema_args[len(pos) - 1].default:
            pos.pop()
    else:
        pos, kw, named = args, dict(kwargs), False
    if out is not STATE and (named or out is not None):
        kw["out"] = out
    if LOCAL.modes or not LOCAL.subclass_off:
        relevant = list(_flat((*pos, *kw.values())))
        if LOCAL.modes or overloaded(relevant):
            return handle_torch_function(public, relevant, *pos[: len(pos) - bool(star)], *star, **kw)
    cast = LOCAL.autocast
    if cast is not None and kwargs is None:
        new = cast(op, args)
        if new is not None:
            prev, LOCAL.autocast = LOCAL.autocast, None
            try:
                new_kw = dict(kw)
                pos = new[: len(pos)]
                for a, v in zip(op.schema.args, new):
                    if a.name in new_kw:
                        new_kw[a.name] = v
                return public(*pos, **new_kw)
            finally:
                LOCAL.autocast = prev
    return STATE


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


def default_torch_function(cls, func, types, args, kwargs):
    """Tensor.__torch_function__: run below overrides, then results take the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        ret = func(*args, **kwargs)
    return ret if func in _defaults() else _convert(ret, cls)


def _defaults():
    return _DEFAULTS


_DEFAULTS = set()


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
