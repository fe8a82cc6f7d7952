"""__torch_function__: tensor subclasses and modes that override calls, and how such a call proceeds."""

import functools
import inspect
import sys
import types

from ...tracebacks import shorten
from ..classes import (
    DisableTorchFunctionSubclass,
    _disabled_torch_dispatch_impl,
    _disabled_torch_function_impl,
    direct,
    disabled,
    dispatching,
)
from ..context import CONTEXT, activate
from ..cpython import public_function
from ..forks import lock
from ..tensor import Tensor, tensor_method
from .keywords import keywords_of_call


class DisableTorchFunction(DisableTorchFunctionSubclass):
    __module__ = "torch._C"

    def __enter__(self):
        CONTEXT.subclass_off += 1
        self.modes, CONTEXT.modes = CONTEXT.modes, ()

    def __exit__(self, *exc):
        CONTEXT.subclass_off -= 1
        CONTEXT.modes = self.modes


_modes = 0  # number of active modes in all threads
_modes_lock = lock()


def push_mode(mode):
    _count_modes(1)
    CONTEXT.modes = (*CONTEXT.modes, mode)
    activate(1)


def pop_mode():
    mode = CONTEXT.modes[-1]
    CONTEXT.modes = CONTEXT.modes[:-1]
    activate(-1)
    _count_modes(-1)
    return mode


def _count_modes(n):
    """Count active modes. While there is one in any thread, the handwritten attributes of Tensor check for modes.

    Otherwise they do not, and are no slower.
    """
    global _modes
    with _modes_lock:
        before, _modes = _modes, _modes + n
        if bool(before) != bool(_modes):
            for name, asking, plain in _asking_modes():
                setattr(Tensor, name, asking if _modes else plain)


def _asking_modes():
    """Yield (name, attribute that checks for overrides, plain attribute) for the handwritten attributes of Tensor.

    Slots are left out, because our own code reads them everywhere.
    """
    for name in (*BY_HAND, *_FOR_MODES, *_PROPERTIES):
        found = _asked(name)
        if found is not None and not isinstance(found[0], types.MemberDescriptorType):
            yield name, found[1], found[0]


def _flat(args):
    for a in args:
        if isinstance(a, (tuple, list)):
            yield from a
        else:
            yield a


def overloaded(args):
    """Return the arguments whose class overrides __torch_function__, subclasses first, each class once.

    The classes of layouts, which cannot be disabled, come last.
    """
    found = []
    for a in args:
        cls = type(a)
        if cls in direct or not hasattr(cls, "__torch_function__"):
            continue
        if isinstance(a, Tensor):
            if not cls._of_layout and (
                CONTEXT.subclass_off or disabled(cls) or CONTEXT.formulas and not cls._below_autograd
            ):
                continue
        elif CONTEXT.subclass_off:
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
    """Return the error for when every override returned NotImplemented.

    Python's operators then return NotImplemented too.
    """
    error = TypeError(text)
    error.not_implemented = True
    return error


def has_torch_function(args):
    if CONTEXT.modes:
        return True
    return bool(overloaded(args))


def overridden_by_programs(args):
    """Like has_torch_function, without the classes of layouts, which exist only in this package.

    Used by torch.overrides and by functions written over tensors.
    """
    return has_torch_function([a for a in args if not getattr(type(a), "_of_layout", False)])


def asked_by_programs(args):
    """Whether a mode, or a class that a program has written, overrides a call with these arguments."""
    return CONTEXT.modes or any(
        not getattr(type(a), "_of_layout", False) and not getattr(type(a), "_below_autograd", False)
        for a in overloaded(args)
    )


def handle_torch_function(public, relevant, *args, **kwargs):
    """Call the __torch_function__ of the topmost mode or, without modes, of each overriding argument in turn."""
    found, public = overloaded(relevant), public_function(public)
    types = tuple(type(a) for a in found if not getattr(type(a), "_of_layout", False))
    if CONTEXT.modes:
        mode = CONTEXT.modes[-1]
        with CONTEXT.set(modes=CONTEXT.modes[:-1]):
            r = mode.__torch_function__(public, types, args, kwargs)
        if r is not NotImplemented:
            return r
    else:
        for a in found:
            r = a.__torch_function__(public, types, args, kwargs)
            if r is not NotImplemented:
                return r
    raise _no_implementation(
        f"Multiple dispatch failed for '{getattr(public, '__module__', 'torch')}.{public.__name__}'; "
        "all __torch_function__ handlers returned NotImplemented:\n\n"
        + "".join(f"  - tensor subclass {t}\n" for t in types)
        + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def asking_modes(fn):
    """Wrap a function that takes no tensors, or any data, so that modes can override it."""

    @functools.wraps(fn)
    def public(*args, **kwargs):
        try:
            return handle_torch_function(public, (), *args, **kwargs) if CONTEXT.modes else fn(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return public


def overridable(fn):
    """Wrap a function composed of operators, so that it can be overridden before any of them is."""

    @functools.wraps(fn)
    def public(*args, **kwargs):
        try:
            relevant = tuple(_flat((*args, *kwargs.values())))
            return (
                handle_torch_function(public, relevant, *args, **kwargs)
                if has_torch_function(relevant)
                else fn(*args, **kwargs)
            )
        except Exception as error:
            shorten(error)
            raise

    return public


NOT_TAKEN, NO_OUT = object(), object()  # nothing overrides the call; the function has no out=


def run_overridden(public, op, args, out, kind, kwargs=None, star=()):
    """Run a call that may be overridden: overrides first, then autocast.

    Returns NOT_TAKEN if the call should go on unchanged.
    out: NO_OUT if the function has none.
    star: the positional sizes of f(*sizes).
    kwargs: given if args are the caller's own.
    """
    named = kwargs is None and kind == "function" and op.python
    if kwargs is not None:
        pos, kw = args, dict(kwargs)
    else:
        pos, kw = _as_given(op, args, named, () if named else keywords_of_call(sys._getframe(2)))
    if out is not NO_OUT and (named or out is not None):
        kw["out"] = out
    relevant = [
        *_flat((*pos, *(a for name, a in kw.items() if name != "out" or not getattr(type(a), "_of_layout", False))))
    ]
    if CONTEXT.modes or overloaded(relevant):
        return handle_torch_function(public, relevant, *pos[: len(pos) - bool(star)], *star, **kw)
    if CONTEXT.autocast is None or kwargs is not None:
        return NOT_TAKEN
    new = CONTEXT.autocast(op, args)
    if new is None:
        return NOT_TAKEN
    kw.update((a.name, v) for a, v in zip(op.schema.arguments, new) if a.name in kw)
    with CONTEXT.set(autocast=None):
        return public(*new[: len(pos)], **kw)


def _as_given(op, args, named, keywords):
    """Return (positional, keyword) arguments of a call whose arguments are in the schema's order.

    keywords: the names that were used in the call. PyTorch functions written in Python (named) pass optional arguments
    on by name; those written in C++ pass them on as they were given.
    """
    schema_args, pos, kw = op.schema.arguments, [], {}
    for i, (a, v) in enumerate(zip(schema_args, args)):
        name = a.keyword if i or a.name != "self" or a.keyword in keywords else "input"
        if name in keywords or a.kwarg_only and (named or v is not a.default) or named and not a.required:
            kw[name] = v
        elif not (a.kwarg_only or kw):
            pos.append(v)
    if op.options.varargs is None:
        while len(pos) > 1 and not schema_args[len(pos) - 1].required and pos[-1] is schema_args[len(pos) - 1].default:
            pos.pop()
    return pos, kw


# handwritten methods: they have no operator wrapper that checks for overrides
BY_HAND = """detach detach_ item tolist numpy size dim ndimension numel nelement element_size is_contiguous stride
 storage_offset data_ptr untyped_storage requires_grad_ register_hook register_post_accumulate_grad_hook
 retain_grad backward is_floating_point is_complex is_signed get_device new_tensor is_inference storage
 storage_type is_shared share_memory_ __dlpack__ __reversed__ __bool__ __float__ __int__ __complex__ __index__
 __len__ __contains__ __repr__ __array__ __invert__ __format__ __array_wrap__ __dlpack_device__ __setstate__
 is_conj is_neg is_nonzero is_distributed _is_view dim_order resize resize_as""".split()


_FOR_MODES = "__dir__ __deepcopy__".split()
_METHOD_WRAPPER = type(object().__str__)


def override_methods(cls):
    """Let a subclass with a __torch_function__ of its own override handwritten attributes, as it overrides operators.

    For attributes, the override gets Tensor.shape.__get__ or Tensor.grad.__set__, for example.
    """
    f = inspect.getattr_static(cls, "__torch_function__")
    if getattr(f, "__func__", f) is _disabled_torch_function_impl:
        return
    if not cls._below_autograd and not cls._of_layout:
        while FIRST_FORMS:
            first = FIRST_FORMS.pop()
            if Tensor.__dict__[first.__qualname__.partition(".")[2]] is first:
                first(None, None)
    for name in (*BY_HAND, *(() if cls._below_autograd else _PROPERTIES)):
        found = _asked(name)
        if found is not None and getattr(cls, name) in found:
            setattr(cls, name, found[1])


# methods of operators that overrides are asked with, in their first form. A call without operands generates the final
# one, so that it is the same object for all classes of programs
FIRST_FORMS: list = []
_known: dict = {}  # name -> (plain attribute of Tensor, attribute that checks for overrides)


def _asked(name):
    """Return the entry of `_known` for a name; None if Tensor has no method or property of that name."""
    if name not in _known:
        plain = Tensor.__dict__.get(name)
        if isinstance(plain, types.FunctionType):
            _known[name] = plain, _asking(plain)
        elif isinstance(plain, (property, types.MemberDescriptorType)):
            setter = (
                plain.__set__
                if isinstance(plain, types.MemberDescriptorType)
                else _asking(plain.__set__)
                if plain.fset
                else None
            )
            _known[name] = plain, property(_asking(plain.__get__), setter, doc=plain.__doc__)
    return _known.get(name)


_PROPERTIES = """shape dtype device requires_grad grad data is_leaf grad_fn T mT H mH real imag ndim layout is_sparse
 is_meta is_cuda is_cpu is_quantized itemsize nbytes output_nr retains_grad _version _base _cdata _backward_hooks
 grad_dtype __cuda_array_interface__ is_sparse_csr is_nested is_mkldnn is_xpu is_mps is_ipu is_hpu is_mtia is_maia
 is_vulkan is_xla""".split()
Tensor._of_layout = False  # True: __torch_function__ selects the operators of a sparse layout
Tensor._below_autograd = False  # True: __torch_function__ is a level below autograd, active in formulas too


def _asking(method):
    """Wrap a method, so that a mode or the class of self can override it."""

    of_property = isinstance(method, _METHOD_WRAPPER)

    @functools.wraps(method, ("__name__", "__doc__") if of_property else functools.WRAPPER_ASSIGNMENTS)
    def ask(self, *args, **kwargs):
        plain = CONTEXT.subclass_off or CONTEXT.formulas or disabled(type(self))
        if plain and not CONTEXT.modes:
            return method(self, *args, **kwargs)
        # the attribute of Tensor while there is a mode: calling it from a mode goes to the next mode, then to the class
        public = ask if _modes and not of_property else method
        return handle_torch_function(public, (self,), self, *args, **kwargs)

    return ask


@tensor_method
@classmethod
def __torch_function__(cls, func, types, args=(), kwargs=None):
    """Run func without the overrides of subclasses, then convert its results to the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        ret = func(*args, **(kwargs or {}))
    return ret if func.__name__ == "__get__" and func in not_wrapped() else _convert(ret, cls)


def not_wrapped():
    """Return the getters whose results keep their class: gradients and bases are tensors of their own."""
    return {_plain(name).__get__ for name in ("_base", "grad", "_grad")}


def _plain(name):
    """Return an attribute of Tensor, also while modes are asked for it."""
    return _known[name][0] if name in _known else Tensor.__dict__[name]


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


@tensor_method
@classmethod
def _enter_subclass(cls, raw=False, **kw):
    """Register a new subclass of Tensor, even if its base has an __init_subclass__ that does not call Tensor's."""
    if raw:
        cls._below_autograd = True
    dispatch = cls.__torch_dispatch__
    if getattr(dispatch, "__func__", dispatch) is not _disabled_torch_dispatch_impl:
        dispatching.add(cls)
        if getattr(cls.__torch_function__, "__func__", None) is Tensor.__torch_function__.__func__:
            # a class with __torch_dispatch__ has no __torch_function__ unless it defines one
            cls.__torch_function__ = _disabled_torch_function_impl
    home = next(c for c in cls.__mro__ if "__torch_function__" in vars(c))
    if not raw and (home is cls or not issubclass(home, Tensor)):  # its own, or that of a base that is no tensor
        override_methods(cls)
