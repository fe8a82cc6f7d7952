"""Tensor creation: empty and filled tensors, tensors from Python data, arrays and buffers, ranges."""

import functools
import math
import operator
import warnings
from itertools import chain
from numbers import Integral

import numpy as np

from ..backend import backend
from ..call.dispatch import handle, intercepted
from ..call.geometry import preserved_strides, strides_in_order
from ..call.out import COUNTED, FILLED, Out
from ..call.overrides import asking_modes
from ..classes import DisableTorchFunctionSubclass
from ..context import PROCESS
from ..declare import composite, op
from ..determinism import DETERMINISM, unwritten
from ..device import (
    HOST,
    META,
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    new_tensor_device,
    preserve_format,
    strided,
    usable,
)
from ..device import device as Device
from ..dlpack import from_dlpack, is_capsule
from ..registry import provide
from ..signatures import mismatch
from ..storage import UntypedStorage
from ..symbolic import INTS, SYMBOLIC, SymInt
from ..tensor import (
    check_bytes,
    check_numel,
    extent,
    from_array,
    meta_tensor,
    number_in,
    strided_view,
    tensor_method,
    unversioned,
)
from ..tensor import empty as _empty
from ..typed_storage import TypedStorage
from ..warn import warn_once
from .common import T, Tensor, check_fill, check_number, contiguous_strides, dt, numel
from .memory import _strided_empty, format_strides

OPTS = (
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? requires_grad=False, "
    "bool? pin_memory=False"
)
LIKE = (
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? requires_grad=False, "
    "MemoryFormat? memory_format=None, bool? pin_memory=False"
)


def place(device, moving=False):
    return new_tensor_device(moving) if device is None else usable(device, moving)


def _options(dtype, layout, device, default=None):
    if layout is not None and layout is not strided:
        if layout.__class__ is not strided.__class__:
            raise TypeError(f"argument 'layout' must be torch.layout, not {layout.__class__.__name__}")
        raise NotImplementedError(f"layout {layout} is not supported: tensors here are strided")
    if dtype is dt.complex32:
        dt.warn_complex_half()
    return dtype or default or dt.get_default_dtype(), place(device)


NOTHING: dict = {}  # sparse layout -> function of (size, dtype, device) that makes a tensor without values


def _sparse_zeros(size, dtype, layout, device, requires_grad):
    return _flag(NOTHING[layout](_size(size), dtype or dt.get_default_dtype(), place(device)), requires_grad)


def _is_sparse(layout):
    return layout in NOTHING


def _flag(t, requires_grad):
    if not requires_grad:
        return t
    if t.dtype.category < dt.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t._requiring_grad()


def _defined(t):
    """Fill uninitialized memory in deterministic mode, and return the tensor.

    It is filled with NaN, the largest integer or True.
    """
    if DETERMINISM.enabled and DETERMINISM.fill and t.device is not META:
        version = t._vc
        t.fill_(unwritten(t.dtype))
        t._vc = version
    return t


def _size(size):
    for s in size:
        if s < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {s}: {list(size)}")
    return tuple(size)


@composite(f"empty(int[] size, *, {OPTS}, MemoryFormat? memory_format=None) -> Tensor", varargs="size")
def empty(size, dtype, layout, device, requires_grad, pin_memory, memory_format):
    if _is_sparse(layout):
        return _sparse_zeros(size, dtype, layout, device, requires_grad)
    if memory_format is preserve_format:  # there is no tensor whose format could be preserved
        raise RuntimeError("unsupported memory format Preserve")
    d, dev = _options(dtype, layout, device)
    return _flag(_defined(_strided_empty(_size(size), format_strides(size, memory_format), d, dev)), requires_grad)


@composite(f"empty_strided(int[] size, int[] stride, *, {OPTS}) -> Tensor", out=False)
def empty_strided(size, stride, dtype, layout, device, requires_grad, pin_memory):
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    d, dev = _options(dtype, layout, device)
    size, stride = _size(size), tuple(stride)
    check_numel(size)
    n = extent(size, stride)
    if any(s < 0 for s in stride) or n * d.itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if dev is META:
        return _flag(_defined(meta_tensor(size, d, stride)), requires_grad)
    memory = _empty((n,), d, dev)
    return _flag(
        _defined(strided_view(memory, size, None if stride == contiguous_strides(size) else stride, 0)), requires_grad
    )


@composite(f"empty_permuted(int[] size, int[] physical_layout, *, {OPTS}) -> Tensor", out=False)
def empty_permuted(size, physical_layout, dtype, layout, device, requires_grad, pin_memory):
    if len(size) != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for i, p in enumerate(physical_layout):
        if not 0 <= p < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {p} at index {i}). "
                " NB: negative dims not currently supported; file an issue if you want it."
            )
    if len(set(physical_layout)) < len(size):
        raise RuntimeError("Duplicate dim not allowed")
    d, dev = _options(dtype, layout, device)
    return _flag(
        _defined(_strided_empty(_size(size), strides_in_order(size, list(physical_layout)), d, dev)), requires_grad
    )


_FULL = dict(
    meta=lambda size, value, dtype, device: check_fill(value, dtype, size, device) or (size, dtype),
    call=lambda p, size, value, dtype, device: p(size, value, dtype),
)
fill_op = op(
    "_full(int[] size, Scalar value, ScalarType dtype, Device device) -> Tensor",
    "FillScalar",
    method=False,
    opmath=False,
    role="fill",
    **_FULL,
)


@composite(f"full(int[] size, Scalar fill_value, *, {OPTS}) -> Tensor")
def full(size, fill_value, dtype, layout, device, requires_grad, pin_memory):
    """Return a tensor of the given size, filled with a number."""
    if _is_sparse(layout):
        raise RuntimeError("full(...) is not implemented for sparse layout")
    d, dev = _options(dtype, layout, device, dt.scalar_dtype(fill_value))
    return _flag(fill_op.call(_size(size), fill_value, d, dev), requires_grad)


def _constant(name, value):
    @composite(f"{name}(int[] size, *, {OPTS}) -> Tensor", varargs="size")
    def make(size, dtype, layout, device, requires_grad, pin_memory):
        if _is_sparse(layout):
            if value:
                raise RuntimeError("full(...) is not implemented for sparse layout")
            return _sparse_zeros(size, dtype, layout, device, requires_grad)
        d, dev = _options(dtype, layout, device)
        if name == "zeros" and dev is not META and any(s < 0 for s in size):
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        return _flag(fill_op.call(_size(size), value, d, dev), requires_grad)

    @composite(f"{name}_like(Tensor self, *, {LIKE}) -> Tensor", method=False, out=False, role="fill")
    def like(self, dtype, layout, device, requires_grad, memory_format, pin_memory):
        if _is_sparse(layout):
            return make(self._shape, dtype or self.dtype, layout, device or self.device, requires_grad, pin_memory)
        return _flag(
            _like(self, dtype, layout, device, memory_format, lambda s, d, dev: fill_op.call(s, value, d, dev)),
            requires_grad,
        )

    @composite(f"Tensor.new_{name}(Tensor self, int[] size, *, {OPTS}) -> Tensor", varargs="size")
    def new(self, size, dtype, layout, device, requires_grad, pin_memory):
        return _flag(
            fill_op.call(_size(size), value, dtype or self.dtype, self.device if device is None else usable(device)),
            requires_grad,
        )


def _like(self, dtype, layout, device, fmt, make):
    d, dev = dtype or self.dtype, self.device if device is None else usable(device)
    if d is dt.complex32:
        dt.warn_complex_half()
    stride = preserved_strides(self) if fmt in (None, preserve_format) else format_strides(self._shape, fmt)
    if stride is None:
        return make(tuple(self._shape), d, dev)
    if dev is META:
        return meta_tensor(self._shape, d, stride)
    return strided_view(make(tuple(self._shape), d, dev), self._shape, stride, 0)


_constant("zeros", 0)
_constant("ones", 1)


@composite(f"empty_like(Tensor self, *, {LIKE}) -> Tensor", method=False, out=False, role="fill")
def empty_like(self, dtype, layout, device, requires_grad, memory_format, pin_memory):
    return _flag(
        _defined(_like(self, dtype, layout, device, memory_format, lambda s, d, dev: _empty(s, d, dev))), requires_grad
    )


@composite(f"full_like(Tensor self, Scalar fill_value, *, {LIKE}) -> Tensor", method=False, out=False, role="fill")
def full_like(self, fill_value, dtype, layout, device, requires_grad, memory_format, pin_memory):
    return _flag(
        _like(self, dtype, layout, device, memory_format, lambda s, d, dev: fill_op.call(s, fill_value, d, dev)),
        requires_grad,
    )


@composite(f"Tensor.new_empty(Tensor self, int[] size, *, {OPTS}) -> Tensor", varargs="size")
def new_empty(self, size, dtype, layout, device, requires_grad, pin_memory):
    return _flag(
        _defined(_empty(_size(size), dtype or self.dtype, self.device if device is None else usable(device))),
        requires_grad,
    )


@composite(f"Tensor.new_empty_strided(Tensor self, int[] size, int[] stride, *, {OPTS}) -> Tensor")
def new_empty_strided(self, size, stride, dtype, layout, device, requires_grad, pin_memory):
    return T.empty_strided(
        size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


@composite(f"Tensor.new_full(Tensor self, int[] size, Scalar fill_value, *, {OPTS}) -> Tensor")
def new_full(self, size, fill_value, dtype, layout, device, requires_grad, pin_memory):
    return _flag(
        fill_op.call(_size(size), fill_value, dtype or self.dtype, self.device if device is None else usable(device)),
        requires_grad,
    )


# ------------------------------------------------------------------------------------------------ from data
def _not_convertible(dtype):
    name = "numpy." * (dtype.type is not str) + dtype.type.__name__  # str: NumPy 2's variable-width strings
    return TypeError(
        f"can't convert np.ndarray of type {name}. The only supported types are: float64, float32, float16, complex64, "
        "complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    )


def _check_native(a):
    if not a.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders "
            "is currently not supported."
        )


def _of_array(data):
    a = np.asarray(data)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type 'numpy.{type(data).__name__}'")
    if a.dtype.kind == "U" or a.dtype == object:
        raise _not_convertible(a.dtype)
    _check_native(a)
    return a, dt.FROM_NP.get(a.dtype)


def _infer(data, want=None):
    """Return (array, dtype) of nested Python numbers, arrays and tensors.

    `want` is the requested dtype, if any: numbers are read in its precision where possible.
    """
    if isinstance(data, np.ndarray) or isinstance(data, np.generic):
        return _of_array(data)
    if isinstance(data, (bool, int, float, complex)):
        d = _precise(dt.scalar_dtype(data), want)
        return _from_numbers(data, d, want)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        warn_once(_SLOW)
    alike = _alike(data)
    if alike is not None:
        flat, shape = alike
        a, d = _from_numbers(flat, _precise(dt.scalar_dtype(flat[0]), want), want)
        return a.reshape(shape), d
    if not PROCESS.active and (d := _dtype_of_scalars(data)) is not None:
        return _from_numbers([number_in(t) for t in data], _precise(d, want), want)
    shape, flat = [], []
    _flatten(data, 0, shape, flat, want)
    kinds = {x.__class__ for x in flat}
    d = None
    for k in kinds:
        x = (
            dt.scalar_dtype(next(v for v in flat if v.__class__ is k))
            if not issubclass(k, (Tensor, np.generic))
            else None
        )
        if x is None:
            for v in flat:
                if v.__class__ is k:
                    y = v.dtype if isinstance(v, Tensor) else dt.FROM_NP.get(v.dtype)
                    if y is None:
                        raise _not_convertible(v.dtype)
                    x = y if x is None else dt.promote_types(x, y)
        d = x if d is None else dt.promote_types(d, x)
    flat = [v.item() if isinstance(v, (Tensor, np.generic)) else v for v in flat]
    d = _precise(d or dt.get_default_dtype(), want)
    a, d = _from_numbers(flat, d, want)
    return a.reshape(shape), d


_SLOW = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
    "single numpy.ndarray with numpy.array() before converting to a tensor."
)
_ONE = "only one element tensors can be converted to Python scalars"
_NO_INDEX = "only integer tensors of a single element can be converted to an index"
_SCALARS = (bool, int, float, complex, np.generic)


_MOST_DIMENSIONS = 128


def _alike(data):
    """Return (numbers, shape) of nested lists whose numbers are all float, all int or all bool.

    Return None for anything else. This is a fast path that handles whole lists rather than single numbers.
    """
    if type(data) not in (list, tuple):
        return None
    rows, shape = [data], []
    while len(shape) < _MOST_DIMENSIONS:
        n = len(rows[0])
        if not n or any(len(row) != n for row in rows):
            return None
        shape.append(n)
        rows = rows[0] if len(rows) == 1 else list(chain.from_iterable(rows))
        kinds = set(map(type, rows))
        if not kinds <= {list, tuple}:
            return (rows, shape) if kinds in ({float}, {int}, {bool}) else None
    return None


def _dtype_of_scalars(data):
    """Return the dtype of a list or tuple of plain 0-d tensors on the CPU that all have the same dtype.

    Return None for anything else, also if one of the tensors requires a gradient.
    """
    if type(data) not in (list, tuple) or not data or data[0].__class__ is not Tensor:
        return None
    d = data[0].dtype
    for t in data:
        if t.__class__ is not Tensor or t._shape or t.dtype is not d or t.device is not HOST or t._requires_grad:
            return None
    return d


def _rows(array, first):
    """Return an array as a sequence, or a 0-d array as a number.

    The first array determines the shape, so it must not be 0-d.
    """
    if not array.ndim and not first:
        return array[()]
    return array.tolist() if len(array) and array.dtype in (np.int64, np.bool_) else list(array)


def _flatten(data, depth, shape, flat, want):
    """Collect the numbers of nested sequences in `flat`, and the sizes of the sequences in `shape`."""
    if isinstance(data, Tensor):  # a tensor of one element counts as a number, whatever its shape
        if numel(data._shape) != 1:
            raise ValueError(_ONE) if data.dtype.category >= dt.FLOAT else TypeError(_NO_INDEX)
        data = data.detach().reshape(())
    elif isinstance(data, np.ndarray):
        data = _rows(data, not flat)
    if (
        isinstance(data, (list, tuple))
        or hasattr(data, "__getitem__")
        and hasattr(data, "__len__")
        and not isinstance(data, _NO_SEQUENCE)
    ):
        if len(shape) == depth:
            if flat:
                raise TypeError(f"'{type(data).__name__}' object cannot be interpreted as an integer")
            if depth == _MOST_DIMENSIONS:
                raise ValueError(f"too many dimensions '{type(data).__name__}'")
            shape.append(len(data))
        elif shape[depth] != len(data):
            raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
        for x in _elements(data):
            if x is data and flat:
                raise TypeError("new(): self-referential lists are incompatible")
            _flatten(x, depth + 1, shape, flat, want)
        return
    if depth != len(shape):
        raise TypeError("not a sequence")
    known = isinstance(data, (*_SCALARS, Tensor, np.ndarray)) and not isinstance(data, (str, bytes))
    flat.append(data if known else _as_number(data, not flat, want))


def _elements(data):
    """Return the elements of a sequence. Unless it is a list or tuple, check first that it can be indexed."""
    if not isinstance(data, (list, tuple)) and len(data):
        try:
            data[0]
        except Exception as e:
            raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from e
    return data if len(data) else ()


def _as_number(x, first, want):
    """Convert an object that is not a number to one, which is possible only if a dtype is requested."""
    if isinstance(x, (str, bytes)):
        raise (
            ValueError("too many dimensions 'str'")
            if first
            else TypeError(f"new(): invalid data type '{type(x).__name__}'")
        )
    if want is None:
        raise RuntimeError(f"Could not infer dtype of {type(x).__name__}")
    if want is dt.bool_:
        return bool(x)
    if want.category == dt.INT:
        return operator.index(x)
    if not hasattr(x, "__float__") and not hasattr(x, "__index__"):
        raise TypeError(f"must be real number, not {type(x).__name__}")
    return float(x)


_NO_SEQUENCE = (str, bytes, dict, Tensor, np.generic, np.ndarray)


def _precise(d, want):
    """Return the dtype in which numbers of dtype d are read.

    It is the requested dtype where that is floating point or complex and can hold such numbers, float64 or complex128
    if an integer or bool dtype is requested for floating-point or complex numbers, and d otherwise.
    """
    if want is not None and want.category < dt.FLOAT <= d.category:
        return dt.float64 if d.category == dt.FLOAT else dt.complex128
    return (
        want
        if want is not None
        and want.category >= d.category >= dt.FLOAT
        and want.np is not None
        and want is not dt.complex32
        else d
    )


def _from_numbers(x, d, want):
    """Return (array, dtype) of numbers of dtype d.

    Integers that do not fit into int64 are read as uint64 or float64 if the requested dtype allows it.
    """
    try:
        if want is not None and d.category == dt.COMPLEX and want.category in (dt.INT, dt.FLOAT):
            raise TypeError(
                "must be real number, not complex"
                if want.category == dt.FLOAT
                else "'complex' object cannot be interpreted as an integer"
            )
        if d.category == dt.INT and d.itemsize < 8 or d is dt.bool_:
            return np.array(x, dtype=np.int64 if d is not dt.bool_ else np.bool_).astype(d.np), d
        if d is dt.float16:
            return np.array(x, np.float32).astype(d.np), d  # PyTorch, too, rounds twice
        return dt.stored(np.array(x, dt.READ_AS.get(d, d.np)), d), d
    except OverflowError:
        if want is dt.bool_:  # an integer too large for any dtype is true
            return np.array(x, dtype=object).astype(np.bool_), want
        if want is None or want.category < dt.FLOAT and want is not dt.uint64:
            raise ValueError("Overflow when unpacking long long") from None
    wide = dt.uint64 if want is dt.uint64 else dt.float64
    return np.array(x, dtype=wide.np), wide


def _cast_array(a, dtype):
    t = (
        from_array(np.array(a, order="C"), dt.FROM_NP[a.dtype.newbyteorder("=")])
        if a.dtype.newbyteorder("=") in dt.FROM_NP
        else None
    )
    if t is None:
        raise _not_convertible(a.dtype)
    return t if t.dtype is dtype else backend(t.device).cast(t, dtype)


_COPIES = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}."
)


@asking_modes
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """Return a new leaf tensor with a copy of the data."""
    dev, dtype = place(device, moving=True), dt.of(dtype)
    if isinstance(data, Tensor):
        warnings.warn(_COPIES.format("torch.tensor(sourceTensor)"), UserWarning, stacklevel=2)
        with DisableTorchFunctionSubclass():  # the result is a plain tensor
            return _flag(
                data.detach().to(device=data.device if device is None else dev, dtype=dtype or data.dtype, copy=True),
                requires_grad,
            )
    if isinstance(data, (UntypedStorage, TypedStorage)):
        return _flag(_of_storage(data, dtype, dev), requires_grad)
    if PROCESS.interceptors and _is_symbolic(data):
        return _flag(_of_symbols(data, dtype, dev), requires_grad)
    a, d = _infer(data, dtype)
    want = dtype or d
    if want is not d and want.category == dt.INT and a.size and not hasattr(data, "__array__") and a.dtype.kind in "if":
        for v in (a.min().item(), a.max().item()):
            check_number(v, want, want.name)
    t = _cast_array(a, want)
    if PROCESS.interceptors and intercepted(()):
        t = handle(_lift_fresh, (t,), lambda t: t)
    return _flag(t if dev is HOST else t.to(dev), requires_grad)


def _is_symbolic(data, depth=0):
    """Whether data are a symbolic number, or a sequence with one. A list may hold itself."""
    if data.__class__ not in (list, tuple):
        return data.__class__ in SYMBOLIC
    return depth < _MOST_DIMENSIONS and any(_is_symbolic(d, depth + 1) for d in data)


def _of_symbols(data, dtype, device):
    """Return a tensor of numbers of which some are symbolic, by an operator for each."""
    if data.__class__ in (list, tuple):
        parts = [_of_symbols(part, dtype, device) for part in data]
        common = functools.reduce(dt.promote_types, (t.dtype for t in parts))
        return T.stack([t.to(common) for t in parts])
    return T.full((), data, dtype=dtype or dt.scalar_dtype(data), device=device)


def _of_storage(data, dtype, device):
    """Return a tensor over a storage's memory, on the given device.

    A typed storage must have the requested dtype. An untyped one is read as int64 if no dtype is requested.
    """
    typed = data.__class__ is TypedStorage
    dtype = dtype or (dt.get_default_dtype() if typed else dt.int64)
    if typed and data.dtype is not dtype:
        raise RuntimeError(
            f"Expected a Storage of type {dt.scalar_name(dtype)} or an UntypedStorage, "
            f"but got {dt.scalar_name(data.dtype)}"
        )
    memory = data._untyped_storage if typed else data
    return T.empty((0,), dtype=dtype, device=memory.device).set_(memory).to(device)


_lift_fresh = op("_lift_fresh(Tensor self) -> Tensor", function=False, method=False, memory=True, out=False)
_lift_fresh.calls(lambda self: self)


@asking_modes
def as_tensor(data, *, dtype=None, device=None):
    """Return a tensor of the data, which shares its memory where possible."""
    dtype = dt.of(dtype)
    if isinstance(data, Tensor):
        with DisableTorchFunctionSubclass():
            dev = data.device if device is None else usable(device, moving=True)
            return data.to(device=dev, dtype=dtype or data.dtype)
    if isinstance(data, np.ndarray) and data.dtype in dt.FROM_NP:
        t = from_numpy(data)
        return t.to(device=place(device, moving=True), dtype=dtype or t.dtype)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(ndarray):
    """Return a tensor over the array's memory."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    a = ndarray
    _check_native(a)
    d = dt.FROM_NP.get(a.dtype)
    if d is None or a.dtype.name not in dt.ALL:
        raise _not_convertible(a.dtype)
    if any(s < 0 for s in a.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    if any(s % a.itemsize for s in a.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate "
            "the memory."
        )
    if not a.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. "
            "This means writing to this tensor will result in undefined behavior. You may want to copy the array to "
            "protect its data or make it writable before converting it to a tensor. This type of warning will be "
            "suppressed for the rest of this program."
        )
        return over_array(a, d, copy=True)
    return over_array(a, d)


def over_array(a, d, copy=False):
    """Return a tensor over an array of any strides, or over a copy of its memory.

    The tensor's storage spans exactly the bytes that the array touches.
    """
    if a.flags.c_contiguous:
        return _borrowed(from_array(a.copy() if copy else a, d))
    n = 0 if a.size == 0 else 1 + sum((s - 1) * (st // a.itemsize) for s, st in zip(a.shape, a.strides))
    flat = np.lib.stride_tricks.as_strided(a.reshape(-1)[:0] if a.size == 0 else a, (n,), (a.itemsize,))
    flat = flat.copy() if copy else flat
    t = _borrowed(from_array(flat if flat.flags.c_contiguous else np.ascontiguousarray(flat), d))
    return t.as_strided(a.shape, tuple(s // a.itemsize for s in a.strides))


def _borrowed(t):
    """Mark the tensor's storage as not resizable, because its memory belongs to another object."""
    t._get_storage()._resizable = False
    return t


@asking_modes
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """Return a tensor of any array-like or buffer, sharing memory unless that is impossible or copy=True.

    A tensor keeps its history unless requires_grad=False is given, which detaches it. A leaf that is returned as it is
    gets the given requires_grad itself, as in PyTorch.
    """
    dev, dtype = None if device is None else usable(device, moving=True), dt.of(dtype)
    if (found := _as_it_lies(obj, dtype, dev, copy)) is None:
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    t, shared = found
    if copy is False and not shared:
        wanted = dtype or t.dtype
        if dev is not None and dev is not t.device:
            raise ValueError(f"can't alias tensor from device '{t.device}' to '{dev}'.")
        raise ValueError(
            f"can't alias tensor with dtype '{dt.scalar_name(t.dtype)}' into dtype '{dt.scalar_name(wanted)}'."
        )
    given, t = t, t.to(device=dev or t.device, dtype=dtype or t.dtype)
    if copy and t is given:
        t = t.clone()
    if requires_grad is None:
        requires_grad = isinstance(obj, Tensor) and obj._requires_grad
    if not requires_grad and not t.is_leaf:
        return t.detach()
    if t._requires_grad == bool(requires_grad):
        return t
    return t._requiring_grad(bool(requires_grad), "Only Tensors of floating point and complex dtype")


def _as_it_lies(obj, dtype, dev, copy):
    """Return a tensor over the memory of an array-like, where it has some, and whether it is as asarray wants it.

    None for numbers and sequences, which have to be read.
    """
    if isinstance(obj, Tensor):
        t = obj
        shared = (dtype is None or dtype is t.dtype) and (dev is None or dev is t.device)
    elif isinstance(obj, np.ndarray):
        t, shared = from_numpy(obj), dtype is None or dt.FROM_NP.get(obj.dtype) is dtype
    elif hasattr(obj, "__dlpack__") or is_capsule(obj):
        t = from_dlpack(obj)
        shared = dtype is None or dtype is t.dtype
    elif isinstance(obj, UntypedStorage):
        d = dtype or dt.get_default_dtype()
        t, shared = _empty((0,), d).set_(obj, 0, (obj.nbytes() // d.itemsize,)), True
    elif isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        t, shared = tensor(obj), False
    elif _is_buffer(obj):
        t, shared = frombuffer(obj, dtype=dtype or dt.get_default_dtype()), True
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return None
    return t, shared


def _is_buffer(obj):
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """Return a 1-d tensor over the memory of a buffer object."""
    try:
        view, dtype = memoryview(buffer), dt.of(dtype)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    n, size = view.nbytes, dtype.itemsize
    if n == 0 or count == 0:
        raise ValueError(f"both buffer length ({n}) and count ({count}) must not be 0")
    if not 0 <= offset < n:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({n} bytes) minus 1"
        )
    if count < 0:
        if (n - offset) % size:
            raise ValueError(
                f"buffer length ({n - offset} bytes) after offset ({offset} bytes) must be a multiple of element "
                f"size ({size})"
            )
        count = (n - offset) // size
    if offset + count * size > n:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater "
            f"than actual buffer length ({n} bytes)"
        )
    raw = np.frombuffer(buffer, np.uint8, count * size, offset)
    if not raw.flags.writeable:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "This means you can write to the underlying (supposedly non-writable) buffer using the tensor. "
            "You may want to copy the buffer to protect its data or make it writable before converting it to a "
            "tensor. This type of warning will be suppressed for the rest of this program."
        )
        raw = raw.copy()
    t = from_array(raw.view(dtype.np) if dtype.np is not None else raw, dtype)
    t._storage = UntypedStorage._from_array(raw, resizable=False)
    return _flag(t, requires_grad)


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False):
    """Return a 1-d tensor over a memory-mapped file.

    With shared=True, writes change the file, which grows if it is too small.
    """
    dtype = dt.of(dtype) or dt.get_default_dtype()
    if pin_memory:
        raise RuntimeError("tensors constructed from a file cannot be pinned")
    if device is not None and Device(device).type != HOST.type:
        raise RuntimeError(f"only CPU tensors can be mapped to files, got {device}")
    storage = UntypedStorage.from_file(filename, bool(shared), size * dtype.itemsize)
    t = from_array(storage._array()[: size * dtype.itemsize].view(dtype.np), dtype)
    t._storage = storage
    return t


FUNCTIONS = {f.__name__: f for f in (tensor, as_tensor, from_numpy, asarray, frombuffer, from_file, from_dlpack)}
for _f in FUNCTIONS.values():
    _f.__module__ = "torch.utils.dlpack" if _f is from_dlpack else "torch"
provide("torch", "tensor", tensor)


def scalar_tensor(s, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return a 0-d tensor with the value of a number."""
    return _flag(fill_op.call((), s, dt.of(dtype) or dt.get_default_dtype(), place(device)), requires_grad)


@tensor_method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Return a tensor of data with self's dtype and device."""
    dtype, device = dtype or self.dtype, self.device if device is None else device
    if isinstance(data, Tensor):
        warnings.warn(_COPIES.format("tensor.new_tensor(sourceTensor)"), UserWarning, stacklevel=2)
        return _flag(data.detach().to(dtype=dtype, device=device, copy=True), requires_grad)
    return tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


def _spoken_options(dtype, device):
    """Return how PyTorch's error message for legacy constructors describes a tensor."""
    rest = "layout=Strided, requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt)"
    return f"TensorOptions(dtype={dt.c_name(dtype)}, device={device.type}, {rest})"


def legacy_new(args, dtype=None, home=HOST, device=None):
    """Construct a tensor for torch.Tensor(...), torch.FloatTensor(...) or t.new(...).

    The arguments are sizes, a sequence, a storage or a tensor. With dtype None, a tensor of any dtype is accepted, and
    the default dtype is used for everything else.
    """
    if device is not None and Device(device).type != home.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {home.type} but device type: {Device(device).type} was passed"
        )
    options = {"dtype": dtype or dt.get_default_dtype(), "device": home}
    if len(args) == 1 and (isinstance(x := args[0], bool) or not isinstance(x, Integral)):
        kind = type(x)
        if isinstance(x, Tensor):
            if device is not None:
                raise RuntimeError(
                    "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported.  "
                    "Use torch.tensor(...) or torch.as_tensor(...) instead."
                )
            if dtype not in (None, x.dtype) or x.device.type != home.type:
                raise TypeError(
                    f"expected {_spoken_options(options['dtype'], home)} (got {_spoken_options(x.dtype, x.device)})"
                )
            return x.view_as(x)
        if isinstance(x, (UntypedStorage, TypedStorage)):
            if isinstance(x, TypedStorage) and x.dtype is not options["dtype"]:
                raise RuntimeError(
                    f"Expected a Storage of type {options['dtype']} or an UntypedStorage, but got type {x.dtype} for "
                    f"argument 1 'storage'"
                )
            return T.empty((0,), **options).set_(x)
        if not isinstance(x, Size):
            if isinstance(x, str):
                raise TypeError("new(): invalid data type 'str'")
            if isinstance(x, dict) or not hasattr(x, "__len__"):
                name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
                raise TypeError(f"new(): data must be a sequence (got {name})")
            return tensor(x, **options)
        return T.empty(tuple(x), **options)
    if any(isinstance(x, (float, tuple, list)) for x in args):
        raise TypeError(
            f"new() received an invalid combination of arguments - got ({', '.join(type(x).__name__ for x in args)}), "
            "but expected one of:\n"
            " * (*, torch.device device = None)\n * (torch.Storage storage)\n * (Tensor other)\n"
            " * (tuple of ints size, *, torch.device device = None)\n * (object data, *, torch.device device = None)\n"
        )
    return T.empty(tuple(args) or (0,), **options)


@tensor_method
def new(self, *args, device=None, size=None):
    """Return a tensor with self's dtype and device, made by the legacy constructor."""
    return legacy_new(args if size is None else (Size(size),), self.dtype, self.device, device)


@tensor_method
def __new__(cls, *args, device=None, size=None):
    t = legacy_new(args if size is None else (Size(size),), device=device)
    return t if cls is Tensor else t.as_subclass(cls)


scalar_tensor.__module__ = "torch"
FUNCTIONS["scalar_tensor"] = scalar_tensor

# ------------------------------------------------------------------------------------------------ ranges
_arange_meta = lambda start, end, step, dtype, device: check_bytes((arange_size(start, end, step, dtype),), dtype)
_ARANGE = dict(meta=_arange_meta, call=lambda p, start, end, step, dtype, device: p(start, end, step, dtype))
arange_op = op(
    "_arange(Scalar start, Scalar end, Scalar step, ScalarType dtype, Device device) -> Tensor",
    "Arange",
    opmath=False,
    role="fill",
    **_ARANGE,
)


def arange_size(start, end, step, dtype):
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (start.__class__ in INTS and end.__class__ in INTS or math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if bool(step > 0) != bool(end > start) and start != end:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is dt.int64:
        for n in (start, end, step):
            check_number(n, dt.int64)
        start, end, step = (n if n.__class__ in INTS else int(n) for n in (start, end, step))
        if step == 0:
            raise ValueError("step must be nonzero")
        return (end - start + step - (1 if step > 0 else -1)) // step
    return max(math.ceil((end - start) / step), 0)


@composite(f"arange(Scalar end, *, {OPTS}) -> Tensor", out=COUNTED)
def arange_end(end, dtype, layout, device, requires_grad, pin_memory):
    return _arange(0, end, 1, dtype, device, requires_grad)


@composite(f"arange.start(Scalar start, Scalar end, Scalar step=1, *, {OPTS}) -> Tensor", out=COUNTED)
def arange_start(start, end, step, dtype, layout, device, requires_grad, pin_memory):
    return _arange(start, end, step, dtype, device, requires_grad)


def _arange(start, end, step, dtype, device, requires_grad):
    if not start.__class__ is end.__class__ is step.__class__ is int:
        start, end, step = (x.item() if hasattr(x, "item") else x for x in (start, end, step))
    if dtype is None:
        dtype = (
            dt.int64
            if all(isinstance(n, int) or n.__class__ is SymInt for n in (start, end, step))
            else dt.get_default_dtype()
        )
    return _flag(arange_op.call(start, end, step, dtype, place(device)), requires_grad)


@composite(f"range(Scalar start, Scalar end, Scalar step=1, *, {OPTS}) -> Tensor", out=FILLED)
def range_(start, end, step, dtype, layout, device, requires_grad, pin_memory):
    d = dtype or dt.get_default_dtype()
    if step == 0:
        raise RuntimeError("step must be nonzero")
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=3,
    )
    n = int((end - start) / step) + 1
    return T.arange(0, n, dtype=d, device=device) * step + start


_LINSPACE = dict(
    meta=lambda start, end, steps, dtype, device: (
        check_number(start, dtype) or check_number(end, dtype) or check_bytes((steps,), dtype)
    ),
    call=lambda p, start, end, steps, dtype, device: p(start, end, steps, dtype),
    opmath=False,
)
linspace_op = op(
    "_linspace(Scalar start, Scalar end, int steps, ScalarType dtype, Device device) -> Tensor",
    "LinSpaceExt",
    role="fill",
    **_LINSPACE,
)


def _ends(name, start, end, steps):
    """Check the arguments of linspace or logspace, and return start and end as numbers, and steps."""
    if isinstance(steps, (bool, float)) or not hasattr(steps, "__index__"):
        raise mismatch(name, False, (start, end, steps), {})
    wrong = [
        f"{what} with {len(x._shape)} dimension(s)"
        for what, x in (("start", start), ("end", end))
        if isinstance(x, Tensor) and x._shape
    ]
    if wrong:
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {' and '.join(wrong)}.")
    steps = steps.__index__()
    dt.check_int64(steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return *(x.item() if isinstance(x, Tensor) else x for x in (start, end)), steps


def _range_dtype(name, start, end, dtype):
    """Return the dtype of a range, which is complex if one of its ends is."""
    if isinstance(start, complex) or isinstance(end, complex):
        inferred = dt.scalar_dtype(1j)
        if dtype is not None and not dtype.is_complex:
            raise RuntimeError(
                f"torch.{name}(): inferred dtype {dt.c_name(inferred)} can't be safely cast to passed dtype "
                f"{dt.scalar_name(dtype)}"
            )
        return dtype or inferred
    return dtype or dt.get_default_dtype()


@composite(f"linspace(Tensor|Scalar start, Tensor|Scalar end, Any steps, *, {OPTS}) -> Tensor", out=FILLED)
def linspace(start, end, steps, dtype, layout, device, requires_grad, pin_memory):
    start, end, steps = _ends("linspace", start, end, steps)
    return _flag(
        linspace_op.call(start, end, steps, _range_dtype("linspace", start, end, dtype), place(device)), requires_grad
    )


@composite(
    f"logspace(Tensor|Scalar start, Tensor|Scalar end, Any steps, float base=10.0, *, {OPTS}) -> Tensor", out=FILLED
)
def logspace(start, end, steps, base, dtype, layout, device, requires_grad, pin_memory):
    start, end, steps = _ends("logspace", start, end, steps)
    d = _range_dtype("logspace", start, end, dtype)
    if d is dt.bool_:
        raise NotImplementedError("\"logspace_cpu\" not implemented for 'Bool'")
    wide = dt.float64 if d.category < dt.COMPLEX else dt.complex128
    if d.category == dt.INT:
        start, end = int(start), int(end)
    return _flag(T.pow(base, T.linspace(start, end, steps, dtype=wide, device=device)).to(d), requires_grad)


@composite(f"eye(int n, int? m=None, *, {OPTS}) -> Tensor")
def eye(n, m, dtype, layout, device, requires_grad, pin_memory):
    m = n if m is None else m
    if n < 0 or m < 0:
        raise RuntimeError(
            f"n must be greater or equal to 0, got {n}" if n < 0 else f"m must be greater or equal to 0, got {m}"
        )
    d, dev = _options(dtype, layout, device)
    out = fill_op.call((n, m), 0, d, dev)
    out.diagonal().fill_(1)
    return _flag(unversioned(out), requires_grad)


OBJECT_DTYPE = Out("Expected object of scalar type {Want} but got scalar type {Got} for argument 'out'")


@composite("complex(Tensor real, Tensor imag) -> Tensor", method=False, out=OBJECT_DTYPE)
def complex_(real, imag):
    if not {real.dtype, imag.dtype} <= {dt.float16, dt.float32, dt.float64}:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {dt.scalar_name(real.dtype)} and "
            f"{dt.scalar_name(imag.dtype)}"
        )
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {dt.scalar_name(real.dtype)} but got scalar type "
            f"{dt.scalar_name(imag.dtype)} for second argument"
        )
    return T._complex(real, imag)


_complex_grads = {"real": lambda g: T.real(g), "imag": lambda g: T.imag(g)}
_COMPLEX = dict(
    promote=lambda common, *a: (common, dt.TO_COMPLEX[common]),
    derivative=_complex_grads,
    method=False,
    inplace=False,
    out=OBJECT_DTYPE,
)
op("_complex(Tensor real, Tensor imag) -> Tensor", "Complex", **_COMPLEX)


__all__ = ["contiguous_format", "channels_last", "channels_last_3d", "numel", "HOST"]
