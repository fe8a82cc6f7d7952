"""Copies and conversions: to, clone, contiguous, copy_, fill_, set_, resize_."""

import functools
import warnings

from ...tracebacks import shorten
from ..autograd import check_captured, check_inplace, forward, rebase
from ..autograd.tangents import innermost
from ..backend import backend, of_type
from ..call.dispatch import handle, intercepted
from ..call.geometry import preserved_strides
from ..call.out import refuse_partial_overlap, write
from ..call.tracing import traced
from ..classes import dispatching, lazy, subclass_kept
from ..context import CONTEXT, PROCESS
from ..declare import composite, op
from ..determinism import DETERMINISM, unwritten
from ..device import (
    ACCELERATOR,
    HOST,
    META,
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
    strided,
    usable,
)
from ..device import device as Device
from ..device import memory_format as memory_format_class
from ..registry import provide
from ..signatures import mismatch
from ..storage import UntypedStorage
from ..symbolic import layout_only
from ..tensor import (
    alias,
    check_bytes,
    check_numel,
    check_writable,
    empty,
    meta_tensor,
    number_in,
    strided_view,
    tensor_method,
)
from ..typed_storage import TypedStorage
from ..versions import new_version
from ..warn import warn_once
from .common import T, Tensor, check_fill, contiguous_strides, dt, numel


def format_strides(shape, fmt):
    """Return the strides of a memory format, None for contiguous. A tuple of strides is returned as it is."""
    if fmt.__class__ is tuple:
        return fmt
    if fmt is channels_last or fmt is channels_last_3d:
        n = 4 if fmt is channels_last else 5
        if len(shape) != n:
            raise RuntimeError(f"required rank {n} tensor to use {fmt.name} format")
        st, k = [0] * n, 1
        for i in (1, *range(n - 1, 1, -1), 0):
            st[i] = k
            k *= max(shape[i], 1)
        return tuple(st)
    return None


@layout_only
def suggested_format(t):
    """Return channels_last or channels_last_3d if a tensor's strides suggest it, else None."""
    n, st = len(t._shape), t._stride
    if st is None or n not in (4, 5) or st[1] == 0:
        return None
    least = 0
    for d in (1, *range(n - 1, 1, -1), 0):
        if t._shape[d] == 0 or st[d] < least or d == 0 and least == st[1]:
            return None
        least = st[d] * max(t._shape[d], 1)
    return channels_last if n == 4 else channels_last_3d


@layout_only
def kept_strides(t):
    """Return the strides of t's suggested memory format, None for contiguous."""
    return None if t._stride is None else format_strides(t._shape, suggested_format(t))


def in_format(shape, dtype, *inputs):
    """Return a meta function's result, in channels_last if one of the inputs is.

    PyTorch's kernels for images do this.
    """
    for t in inputs:
        if t._stride is not None and (fmt := suggested_format(t)) is not None and len(shape) == len(t._shape):
            return shape, dtype, format_strides(shape, fmt)
    return shape, dtype


def keep_format(out, *inputs):
    """Convert a new result, or a tuple of them, to channels_last if one of the inputs is.

    PyTorch's kernels for images do this.
    """
    fmt = next((f for t in inputs if t._stride is not None and (f := suggested_format(t))), None)
    if fmt is None:
        return out
    return tuple(_laid_out(o, fmt) for o in out) if out.__class__ is tuple else _laid_out(out, fmt)


def _laid_out(out, fmt):
    """Return a result with the strides of a memory format.

    contiguous() does not copy a tensor that is contiguous in both formats, even where its strides are those of the
    other one.
    """
    out = out.contiguous(memory_format=fmt)
    return out if out.stride() == format_strides(out._shape, fmt) else out.clone(memory_format=fmt)


@layout_only
def storage_order(t):
    """Return the dimensions from slowest to fastest in the memory of a preserve_format copy of t.

    Return None if that copy is contiguous.
    """
    st = preserved_strides(t)
    return None if st is None else sorted(range(len(st)), key=lambda i: (-st[i], -t._shape[i]))


def _strided_empty(shape, stride, dtype, device):
    if device is META:
        return meta_tensor(shape, dtype, stride)
    t = empty(shape, dtype, device)
    if stride is None or stride == contiguous_strides(shape):
        return t
    return strided_view(t, tuple(shape), tuple(stride), 0)


def _copied(self, dtype, device, fmt):
    """Return a new copy with the given dtype, device and memory format."""
    stride = preserved_strides(self) if fmt is preserve_format or fmt is None else format_strides(self._shape, fmt)
    if device is META:
        return meta_tensor(self._shape, dtype, stride)
    if self.device is META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if stride is None:
        if device is self.device:
            b = backend(device)
            return b.compact(self) if dtype is self.dtype else b.cast(self, dtype)
        t = empty(self._shape, dtype, device)
    else:
        t = _strided_empty(self._shape, stride, dtype, device)
    backend(device).write(t, self)
    t._vc = new_version()
    return t


_TO_COPY = dict(derivative=lambda g, self_dtype, node: _grad_to(g, node._in_meta[0]), method=False, memory=True)
_to_copy = op(
    "_to_copy(Tensor self, ScalarType? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
    **_TO_COPY,
)


def _grad_to(g, meta):
    if g.dtype.is_complex and not meta[1].is_complex:
        g = T.real(g)  # intended, so it does not warn of discarding the imaginary part
    return T._to_copy(
        g, dtype=meta[1] if g.dtype is not meta[1] else None, device=meta[2] if g.device is not meta[2] else None
    )


def _warn_of_discarding(source, dtype):
    if source.dtype.is_complex and not dtype.is_complex and dtype is not dt.bool_:
        warn_once("Casting complex values to real discards the imaginary part")


@_to_copy.calls
def _to_copy_call(self, dtype=None, device=None, memory_format=None):
    d = self.dtype if dtype is None else dtype
    _warn_of_discarding(self, d)
    out = _copied(self, d, self.device if device is None else device, memory_format)
    if CONTEXT.grad and self._requires_grad and d.category >= 2:
        _to_copy.record(out, (self, d, device, memory_format))
    return out


clone_op = op(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    derivative=lambda g: g,
    memory=True,
    out=False,
    sparse="values",
)


@clone_op.calls
def _clone_call(self, memory_format=None):
    out = _copied(self, self.dtype, self.device, memory_format)
    if CONTEXT.grad and self._requires_grad:
        clone_op.record(out, (self, memory_format))
    return out


@composite("Tensor.contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format) -> Tensor")
def contiguous(self, memory_format):
    if self.is_contiguous(memory_format):
        return self
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return clone_op.call(self, memory_format)


def _to_device(device=None, dtype=None, non_blocking=False, copy=False, *, memory_format=None):
    return dtype, device, non_blocking, copy, memory_format


def _to_dtype(dtype, non_blocking=False, copy=False, *, memory_format=None):
    return dtype if isinstance(dtype, (dt.dtype, type)) else type(dtype), None, non_blocking, copy, memory_format


def _to_tensor(tensor, non_blocking=False, copy=False, *, memory_format=None):
    return tensor.dtype, tensor.device, non_blocking, copy, memory_format


def parse_to(args, kwargs):
    """Return (dtype, device, copy, memory_format) from the arguments of Tensor.to.

    These begin with a device and a dtype, with a dtype, or with a tensor. A float or bool value is taken for the dtype
    of its type.
    """
    first = args[0] if args else kwargs.get("tensor")
    form = (
        _to_tensor
        if isinstance(first, Tensor)
        else _to_dtype
        if isinstance(first, (dt.dtype, type, float, bool))
        else _to_device
    )
    try:
        dtype, device, non_blocking, copy, fmt = form(*args, **kwargs)
        dtype = dt.of(dtype)
        fits = dtype is None or dtype.__class__ is dt.dtype
        fits = (
            fits
            and (device is None or isinstance(device, (Device, str, int)))
            and (fmt is None or fmt.__class__ is memory_format_class)
        )
        if not fits or non_blocking.__class__ is not bool or copy.__class__ is not bool:
            raise TypeError
    except TypeError:
        raise mismatch("to", True, args, kwargs) from None
    return dtype, None if device is None else usable(device, moving=True), copy, fmt


def _to(self, *args, **kwargs):
    """Return the tensor with another dtype, device or memory format.

    Return the tensor itself if nothing changes.
    """
    if len(args) == 1 and not kwargs and args[0].__class__ is dt.dtype:
        dtype = args[0]
        if dtype is self.dtype:
            return self
        return T._to_copy(self, dtype)
    dtype, device, copy, fmt = parse_to(args, kwargs)
    if (
        not copy
        and (dtype is None or dtype is self.dtype)
        and (device is None or device is self.device)
        and (
            fmt is None or fmt is preserve_format or fmt is (suggested_format(self) or contiguous_format)
        )  # the suggested format is compared, not the strides
    ):
        return self
    return T._to_copy(self, dtype, device, fmt)


_to.__name__, _to.__qualname__ = "to", "Tensor.to"


def _overridable(f):
    """Wrap a hand-written method, so that subclasses and modes see it as an operator."""
    from ..call.overrides import handle_torch_function, has_torch_function
    from ..classes import direct

    def method(self, *args, **kwargs):
        try:
            other = args[0] if args else None  # only the first argument may be a tensor; keyword arguments are rare
            if (
                self.__class__ in direct
                and (other.__class__ in direct or not isinstance(other, Tensor))
                and not kwargs
                and not (PROCESS.active and CONTEXT.modes)
            ):
                return f(self, *args)
            relevant = (self, *args, *kwargs.values())
            if has_torch_function(relevant):
                return handle_torch_function(method, relevant, self, *args, **kwargs)
            return f(self, *args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    method.__name__, method.__qualname__, method.__doc__, method.__module__ = (
        f.__name__,
        "Tensor." + f.__name__,
        f.__doc__,
        "torch",
    )
    return method


Tensor.to = _overridable(_to)
# the functions of these composites pass calls to interceptors themselves
_BY_HAND = dict(hands_over=True)
_FORMAT = "MemoryFormat? memory_format=preserve_format"
CONVERSIONS = "float double half bfloat16 long int short char byte bool chalf cfloat cdouble".split()
_TYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool_ complex32 complex64 complex128".split()


_MOVED = "Tensor(a) self, Device? device=None, bool non_blocking=False, *, MemoryFormat? memory_format=preserve_format"


def _conversion(name, d):
    @composite(f"Tensor.{name}(Tensor(a) self, *, {_FORMAT}) -> Tensor(a)", **_BY_HAND)
    def f(self, memory_format):
        if memory_format is preserve_format:
            return self if self.dtype is d else T._to_copy(self, d)
        return _to(self, d, memory_format=memory_format)

    f.__doc__ = f"The tensor as {d}: itself if that is its dtype, else a converted copy."


for _name, _dtype in zip(CONVERSIONS, _TYPES):
    _conversion(_name, getattr(dt, _dtype))


@composite(f"Tensor.cpu(Tensor(a) self, *, {_FORMAT}) -> Tensor(a)", **_BY_HAND)
def cpu(self, memory_format):
    """Return the tensor in the CPU's memory: itself if it is there, else a copy."""
    return _to(self, HOST, memory_format=memory_format)


@composite(f"Tensor.npu({_MOVED}) -> Tensor(a)", **_BY_HAND)
def npu(self, device, non_blocking, memory_format):
    """Return the tensor on an NPU: itself if it is there, else a copy. Raise RuntimeError without an NPU."""
    return _to(self, Device("npu" if device is None else device), memory_format=memory_format)


def _absent(name, error):
    @composite(f"Tensor.{name}({_MOVED}) -> Tensor(a)", **_BY_HAND)
    def f(self, device, non_blocking, memory_format):
        return _to(self, name)

    f.__doc__ = f"{error}, as of a PyTorch without {name.upper()}."


for _name, _error in {
    "cuda": "AssertionError",
    "xpu": "AssertionError",
    "ipu": "RuntimeError",
    "mtia": "AssertionError",
}.items():
    _absent(_name, _error)


@composite(
    "Tensor.type(Tensor(a) self, Any dtype=None, bool non_blocking=False, *, MemoryFormat? memory_format=None) -> Any",
    out=False,
    **_BY_HAND,
)
def type_(self, dtype, non_blocking, memory_format):
    """Return the name of the legacy tensor type, or cast to a dtype or legacy type."""
    if dtype is None:
        return (
            "torch."
            + ("" if self.device is HOST or self.device is META else self.device.type + ".")
            + dt.LEGACY.get(self.dtype, self.dtype.name)
            + "Tensor"
        )
    if isinstance(dtype, str):
        name, dtype = dtype, {"torch." + n + "Tensor": d for d, n in dt.LEGACY.items()}.get(dtype)
        if dtype is None:
            raise ValueError(f"invalid type: '{name}'")
    d = dtype if isinstance(dtype, dt.dtype) else getattr(dtype, "dtype", None) if isinstance(dtype, type) else None
    if d is None:
        if not isinstance(dtype, type):
            raise TypeError("dtype must be a type, str, or dtype object")
        raise ValueError(f"invalid type: {dtype.__name__!r}")
    return self if d is self.dtype else T._to_copy(self, d)


composite("Tensor.type_as(Tensor self, Tensor other) -> Tensor")(lambda self, other: self.to(other.dtype))


# ------------------------------------------------------------------------------------------------ copy_, fill_, zero_
_copy_grads = {"self": lambda g: T.zeros_like(g), "src": lambda g: g}
_copy = op(
    "_copy(Tensor self, Tensor src) -> Tensor",
    derivative=_copy_grads,
    function=False,
    method=False,
    memory=True,
    node="CopyBackwards",
)


def _copied_specially(self, src):
    """Run copy_ for tangents, lazy conjugates, other layouts or a tracer.

    Return None for all other tensors.
    """
    if PROCESS.interceptors and CONTEXT.tracer is not None:
        return traced(_copy, (self, src), copy_, "_")
    if PROCESS.duals and (level := innermost((self, src))) is not None:
        return forward.written(self, src, level, lambda: copy_(self, src))
    if lazy and (self.__class__ in lazy or src.__class__ in lazy):
        return self._write(src) if self.__class__ in lazy else copy_(self, src._resolved_values())
    return None if src._layout is strided else src.TABLE["copy_"](self, src)


@composite("Tensor.copy_(Tensor(a!) self, Tensor|Scalar other, bool non_blocking=False) -> Tensor(a!)", **_BY_HAND)
def copy_(self, src, non_blocking=False):
    """Copy src's values into self, broadcast and converted."""
    if not isinstance(src, Tensor):
        return fill_(self, src)
    done = _copied_specially(self, src)
    if done is not None:
        return done
    if CONTEXT.grad and (self._requires_grad or self._view is not None):
        check_inplace(self, src)
    if src is self and not self._requires_grad:
        self._bump()
        return self
    if src._shape != self._shape:
        try:
            src_view = src.expand(self._shape)
        except RuntimeError:
            raise RuntimeError(
                f"The size of tensor a ({self._shape[-1] if self._shape else 1}) must match the size of tensor b "
                f"({src._shape[-1] if src._shape else 1}) at non-singleton dimension {max(len(self._shape) - 1, 0)}"
                if len(src._shape) <= len(self._shape)
                else f"output with shape {list(self._shape)} doesn't match the broadcast shape {list(src._shape)}"
            ) from None
    else:
        src_view = src
    _warn_of_discarding(src, self.dtype)
    if src.device is META and self.device is not META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if self._storage is not None and src_view._storage is self._storage:
        refuse_partial_overlap(self, src)  # before it is broadcast
    if CONTEXT.grad and (self._requires_grad or src._requires_grad) and self.dtype.category >= 2:
        shadow = alias(self)
        _copy.record(shadow, (self, src_view))
        _written(_copy, self, src_view, src)
        node, shadow = shadow._grad_fn, None
        rebase(self, node)
    else:
        _written(_copy, self, src_view, src)
    return self


def _written(op, self, source, given):
    """Write the source into self, or pass the call to interceptors.

    `given` is the original argument of copy_ or fill_. If source is None, it is made from `given`.
    """
    if PROCESS.versions:
        check_captured(
            self,
            lambda: (
                "aten::copy_" if op is _copy else f"aten::fill_.{'Tensor' if isinstance(given, Tensor) else 'Scalar'}"
            ),
        )
    if PROCESS.interceptors and intercepted((self, given)):
        version = self._version
        handle(
            op,
            (self, given),
            lambda dst, src=0: write(_once(dst), _source(src, dst) if source is None else source),
            "_",
        )
        if self.__class__ in dispatching and self._version == version:
            self._bump()
    else:
        write(self if op is _copy else _once(self), _source(given, self) if source is None else source)


@tensor_method
def module_load(self, other, assign=False):
    """Return the detached tensor with which Module.load_state_dict swaps a parameter.

    With assign=True this is `other` itself, otherwise self with the values of `other`.
    """
    from ..call.overrides import handle_torch_function, has_torch_function

    if has_torch_function((other,)):
        return handle_torch_function(Tensor.module_load, (self, other), self, other, assign=assign)
    return other.detach() if assign else self.copy_(other).detach()


_fill_grads = {"self": lambda g: T.zeros_like(g), "value": lambda g: g.sum()}
_fill = op(
    "_fill(Tensor self, Tensor|Scalar value) -> Tensor",
    derivative=_fill_grads,
    function=False,
    method=False,
    memory=True,
    aten="fill.Scalar",
    node="FillBackward2",
)


_ZERO = dict(function=False, method=False, memory=True, node="ZeroBackward0")
_zero = op("_zero(Tensor self, Scalar value=0) -> Tensor", derivative=lambda g: T.zeros_like(g), **_ZERO)


@composite("fill_(Tensor(a!) self, Tensor|Scalar value) -> Tensor(a!)", out=False, **_BY_HAND)
def fill_(self, value):
    """Set every element to a number or to a 0-d tensor's value."""
    return _filled(self, value, _fill)


def _filled(self, value, op):
    """Run fill_ and record it as `op`, one of the operators that fill."""
    if isinstance(value, Tensor):
        if value._shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {len(value._shape)} dimensions."
            )
    if PROCESS.interceptors and CONTEXT.tracer is not None:
        return traced(op, (self, value), lambda self, value: _filled(self, value, op), "_")
    if PROCESS.duals and (level := innermost((self, value))) is not None:
        return forward.written(self, value, level, lambda: _filled(self, value, op))
    if CONTEXT.grad and (self._requires_grad or self._view is not None):
        check_inplace(self, value)
    if self.__class__ in lazy:
        return self._write(_source(value, self))
    source = value if isinstance(value, Tensor) else None
    if CONTEXT.grad and (self._requires_grad or source is not None and value._requires_grad):
        shadow = alias(self)
        op.record(shadow, (self, value))
        _written(op, self, source, value)
        node, shadow = shadow._grad_fn, None
        rebase(self, node)
    else:
        _written(op, self, source, value)
    return self


def _once(t):
    """Return t without the repeated elements of an expanded tensor.

    An expanded tensor may be filled, although it may not be written to element by element.
    """
    if t._stride is None or 0 not in t._stride or t.device is META:
        return t
    return strided_view(t, tuple(1 if st == 0 and s else s for s, st in zip(t._shape, t._stride)), t._stride, t._offset)


def _source(value, like):
    if isinstance(value, Tensor):
        return value
    check_fill(value, like.dtype, like._shape, like.device)
    if like.device is HOST and value.__class__ in _READABLE and not PROCESS.active:
        return _constant(value.__class__, repr(value), like.dtype)
    return T.full((), value, dtype=like.dtype, device=like.device)


_READABLE = frozenset((int, float, complex, bool))


@functools.lru_cache(256)
def _constant(kind, text, dtype):
    """Return a tensor of one number that is only read. The text tells 0.0 from -0.0 and finds NaN."""
    return T.full((), kind(text) if kind is not bool else text == "True", dtype=dtype, device=HOST)


@composite("zero_(Tensor(a!) self) -> Tensor(a!)", out=False, **_BY_HAND)
def zero_(self):
    """Set every element to zero."""
    return _filled(self, 0, _zero)


composite("fill(Tensor self, Tensor|Scalar value) -> Tensor", method=False, out=False, inplace_function=True)(
    lambda self, value: self.clone().fill_(value)
)


# ------------------------------------------------------------------------------------------------ detach and item
_detach = op("_detach(Tensor(a) self) -> Tensor(a)", function=False, method=False, memory=True, out=False)
_detach.calls(alias)
_item = op("_local_scalar_dense(Tensor self) -> Scalar", function=False, method=False, memory=True, out=False)
_item.calls(number_in)


@tensor_method
def detach(self):
    """Return a tensor that shares self's memory, without autograd history."""
    if PROCESS.interceptors and intercepted((self,)):
        t = handle(_detach, (self,), alias)
        if t.__class__ in dispatching and t is not self:
            self._vc = t._vc = self._vc or [0]
        return t
    if self.__class__ is not Tensor and self._of_layout:  # called as torch.ops.aten.detach
        return self.detach()
    t = alias(self)
    return t.as_subclass(type(self)) if self.__class__ is not Tensor and subclass_kept(type(self)) else t


@tensor_method
def item(self):
    """Return the value of a tensor of one element as a Python number."""
    try:
        if PROCESS.interceptors and intercepted((self,)):
            return handle(_item, (self,), number_in)
        return number_in(self)
    except Exception as error:
        shorten(error)
        raise


# ------------------------------------------------------------------------------------------------ set_ and resize_
_OTHER_MEMORY = dict(function=False, method=False, memory=True, out=False)
_set_tensor = op("_set_tensor(Tensor self, Tensor source) -> Tensor", aten="set.source_Tensor", **_OTHER_MEMORY)
_set_storage = op("_set_storage(Tensor self, Storage source) -> Tensor", aten="set.source_Storage", **_OTHER_MEMORY)
_set_part = op(
    "_set_part(Tensor self, Storage source, int storage_offset, int[] size, int[] stride) -> Tensor",
    aten="set.source_Storage_storage_offset",
    **_OTHER_MEMORY,
)
_resize_memory = op(
    "_resize_memory(Tensor self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor",
    aten="resize",
    **_OTHER_MEMORY,
)
_resize_memory_as = op(
    "_resize_memory_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor",
    aten="resize_as",
    **_OTHER_MEMORY,
)


_PART = "int storage_offset, int[] size, int[] stride=[]"


@composite("Tensor.set_(Tensor(a!) self) -> Tensor(a!)", **_BY_HAND)
@composite("Tensor.set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)", **_BY_HAND)
@composite(
    f"Tensor.set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, {_PART}) -> Tensor(a!)", **_BY_HAND
)
@composite("Tensor.set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", **_BY_HAND)
@composite(
    f"Tensor.set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, {_PART}) -> Tensor(a!)", **_BY_HAND
)
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Make self use the memory of another storage or tensor."""
    if source is not None and PROCESS.interceptors and intercepted((self, source)):
        source = source.untyped() if isinstance(source, TypedStorage) else source
        if size is None:
            called = _set_tensor if isinstance(source, Tensor) else _set_storage
            return handle(called, (self, source), _set, "_")
        stride = stride or contiguous_strides(size)
        return handle(_set_part, (self, source, storage_offset, size, stride), _set, "_")
    return _set(self, source, storage_offset, size, stride)


def _check_set(self, source):
    check_writable(self)
    check_inplace(self)
    if PROCESS.versions:
        form = "" if source is None else ".source_Tensor" if isinstance(source, Tensor) else ".source_Storage"
        check_captured(self, lambda: f"aten::set_{form}")
    if forward.has_tangent(self):
        raise forward.refuse("set_")


def _set(self, source=None, storage_offset=0, size=None, stride=None):
    _check_set(self, source)
    self._acc = None  # graphs recorded before still lead to the tensor as it was
    if source is None:
        source = UntypedStorage(0)
        size = (0,)
    if isinstance(source, Tensor) and source.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {dt.c_name(source.dtype)} to a tensor of type {dt.c_name(self.dtype)}"
        )
    if isinstance(source, TypedStorage):
        if source.dtype is not self.dtype:
            wanted = dt.C_NAMES.get(self.dtype, self.dtype.name)
            raise RuntimeError(
                f"Expected a Storage of type {wanted} or an UntypedStorage, "
                f"but got type {dt.scalar_name(source.dtype)} for argument 1 'storage'"
            )
        source = source._untyped_storage
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if isinstance(source, Tensor) and size is None:
        vc = self._vc
        self._replace(source if source._storage is not None else alias(source))
        self._vc = vc
        self._bump()
        return self
    st = source._get_storage() if isinstance(source, Tensor) else source
    if size is None:
        size = (st.nbytes() // self.dtype.itemsize,)
    unchanged = size == self._shape and (not stride or stride == self.stride())
    given, stride = stride, stride or (self.stride() if unchanged else contiguous_strides(size))
    need = (
        0 if 0 in size else (storage_offset + sum((s - 1) * t for s, t in zip(size, stride)) + 1) * self.dtype.itemsize
    )
    if need > st.nbytes():
        if unchanged:  # PyTorch grows the storage only if the size changes
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(given or ())}, storage offset {storage_offset}, "
                f"and itemsize {self.dtype.itemsize} requiring a storage size of {need} are out of bounds for storage "
                f"of size {st.nbytes()}"
            )
        st.resize_(need)
    self._ms = self._np = None
    self._storage, self._offset, self._shape = st, storage_offset, size
    self._stride = None if stride == contiguous_strides(size) else stride
    self._device = st.device
    self._bump()
    return self


@tensor_method
def resize(self, *size):
    """Return the elements in another shape (deprecated)."""
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=3)
    size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)
    if numel(size) != numel(self._shape):
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, size))} ({numel(size)} elements in total), "
            f"but the given tensor has a size of {'x'.join(map(str, self._shape))} ({numel(self._shape)} elements). "
            "autograd's resize can only change the shape of a given tensor, while preserving the number of elements. "
        )
    return self.contiguous().view(size)


@tensor_method
def resize_as(self, other):
    """Return the elements in the shape of another tensor (deprecated)."""
    return resize(self, other._shape)


composite("is_same_size(Tensor self, Tensor other) -> bool")(lambda self, other: self._shape == other._shape)


@composite(
    "Tensor.resize_(Tensor(a!) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    varargs="size",
    **_BY_HAND,
)
def resize_(self, size, memory_format):
    """Change the shape in place. Memory grows when it must, and keeps its leading elements."""
    if PROCESS.interceptors and intercepted((self,)):
        return handle(_resize_memory, (self, size, memory_format), _resized, "_")
    return _resized(self, size, memory_format)


def _resized(self, size, memory_format=None):
    check_writable(self)
    if PROCESS.versions:
        check_captured(self, lambda: "aten::resize_")
    if self._requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if forward.has_tangent(self):
        raise RuntimeError("cannot resize variables that has a forward grad")
    if any(n < 0 for n in size) and 0 not in size:
        raise RuntimeError("numel: integer multiplication overflow")
    check_numel(size)
    check_bytes(size, self.dtype)
    stride = format_strides(size, memory_format)
    if size == tuple(self._shape) and memory_format is None:
        return self
    self._bump()
    n = numel(size)
    st = self._get_storage()
    need = (self._offset + n) * self.dtype.itemsize
    written = st.nbytes() // self.dtype.itemsize
    if need > st.nbytes():
        st.resize_(need)
    self._ms = self._np = None
    self._shape, self._stride = size, stride
    if DETERMINISM.enabled and DETERMINISM.fill and self._offset + n > written and self.device is not META:
        strided_view(self, (self._offset + n - written,), None, written).fill_(unwritten(self.dtype))
    return self


@composite(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    out=False,
    **_BY_HAND,
)
def resize_as_(self, the_template, memory_format):
    """Change the shape in place to that of another tensor."""
    if PROCESS.interceptors and intercepted((self, the_template)):
        return handle(_resize_memory_as, (self, the_template, memory_format), _resized_as, "_")
    return _resized_as(self, the_template, memory_format)


def _resized_as(self, the_template, memory_format=None):
    if PROCESS.versions:
        check_captured(self, lambda: "aten::resize_as_")
    if memory_format is preserve_format:
        memory_format = suggested_format(the_template)
    return _resized(self, tuple(the_template._shape), memory_format)


@composite("Tensor.is_pinned(Tensor self, Device? device=None) -> bool", **_BY_HAND)
def is_pinned(self, device):
    """Whether the tensor is in pinned memory of the host, which an accelerator may read at any time."""
    return self._storage is not None and self._storage.is_pinned()


@composite("Tensor.is_set_to(Tensor self, Tensor tensor) -> bool", **_BY_HAND)
def is_set_to(self, tensor):
    """Whether two tensors are the same part of the same storage."""
    return (
        self.data_ptr() == tensor.data_ptr()
        and self._shape == tensor._shape
        and self.stride() == tensor.stride()
        and self._get_storage() is tensor._get_storage()
    )


@composite("Tensor.pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)", **_BY_HAND)
def pin_memory(self, device):
    """Return the tensor in pinned memory of the host, or the tensor itself if it is already pinned."""
    accelerator = of_type(ACCELERATOR)
    if not accelerator.device_count():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if self.device is not HOST:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    return self if self.is_pinned() else accelerator.pinned(self)


@tensor_method
def share_memory_(self):
    """Move the storage to memory that other processes may map."""
    alone = self._storage is None  # the storage is created below, so no other tensor uses it
    self._get_storage()._share((self,) if alone else None)
    return self


# methods that are functions of torch as well
for _name in ("detach", "detach_"):
    provide("torch", _name, getattr(Tensor, _name))
