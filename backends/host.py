"""Helpers that backends share.

They cover short names of dtypes, the wider dtypes that replace missing ones, numbers as arrays, casts in host memory
and MindSpore's dtypes.
"""

import functools
import os

import numpy as np

from ..runtime import dtypes as dt
from ..runtime import pyboost
from ..runtime.dtypes import halves
from ..runtime.tensor import Tensor, numel
from .quiet import quiet
from .thresholds import PIECE

# the short dtype names used in declarations and tables
DTYPES = {
    "bool": dt.bool_,
    "u8": dt.uint8,
    "i8": dt.int8,
    "i16": dt.int16,
    "i32": dt.int32,
    "i64": dt.int64,
    "u16": dt.uint16,
    "u32": dt.uint32,
    "u64": dt.uint64,
    "f16": dt.float16,
    "bf16": dt.bfloat16,
    "f32": dt.float32,
    "f64": dt.float64,
    "c32": dt.complex32,
    "c64": dt.complex64,
    "c128": dt.complex128,
    "f8_e4m3fn": dt.float8_e4m3fn,
    "f8_e5m2": dt.float8_e5m2,
    "f8_e4m3fnuz": dt.float8_e4m3fnuz,
    "f8_e5m2fnuz": dt.float8_e5m2fnuz,
}
ALL = " ".join(DTYPES)
INTS, UNSIGNED = "u8 i8 i16 i32 i64", "u16 u32 u64"  # PyTorch supports the unsigned ones in few operators
HALVES, FLOATS, COMPLEXES = "f16 bf16", "f32 f64", "c64 c128"
# the wider dtypes that give the same result where a kernel lacks a dtype, in order of preference
WIDER = {
    dt.float16: (dt.float32, dt.float64),
    dt.bfloat16: (dt.float32, dt.float64),
    dt.float32: (dt.float64,),
    dt.complex64: (dt.complex128,),
    dt.bool_: (dt.uint8, dt.int32, dt.int64, dt.float32),
    dt.uint8: (dt.int16, dt.int32, dt.int64),
    dt.int8: (dt.int16, dt.int32, dt.int64),
    dt.int16: (dt.int32, dt.int64),
    dt.int32: (dt.int64,),
}


@functools.cache
def dtype_set(names):
    """Return the set of dtypes named in a declaration such as "f32 f64"."""
    words = names.split()
    if unknown := [word for word in words if word not in DTYPES]:
        raise ValueError(f"no dtype: {' '.join(unknown)}. Those that there are: {' '.join(DTYPES)}")
    return frozenset(DTYPES[word] for word in words)


def words(dtypes):
    """Return the names of dtypes in the format of a declaration."""
    return " ".join(name for name, d in DTYPES.items() if d in dtypes)


def phrase(dtypes):
    """Describe a set of dtypes for readers, with whole groups by name: "bool, all integers, f16 f32 f64"."""
    others = dtype_set(ALL) - dtypes
    if len(others) < 3:
        return f"all but {words(others)}" if others else "all"
    groups = [dtype_set("bool"), dtype_set(f"{INTS} {UNSIGNED}"), dtype_set(f"{HALVES} {FLOATS}")]
    names = {groups[1]: "all integers", groups[2]: "all floats"}
    groups.append(dtype_set(ALL).difference(*groups))
    return ", ".join(names.get(part) or words(part) for group in groups if (part := group & dtypes))


def number_array(value, dtype):
    """Return a Python number as a 0-d array; integers wrap."""
    dt.check_scalar(value)
    if dtype.category == dt.INT and isinstance(value, int):
        return np.array(value & ((1 << (8 * dtype.itemsize)) - 1), dtype=f"u{dtype.itemsize}").view(dtype.np)
    return astype(np.array(value), dtype)


def in_pieces(fn, *arrays, size=PIECE):
    """Call fn on flat pieces of the arrays.

    Values that are not arrays, and 0-d arrays, are passed to each call unchanged. fn writes its results itself.
    """
    flat = [a.reshape(-1) if isinstance(a, np.ndarray) and a.ndim else a for a in arrays]
    split = [isinstance(a, np.ndarray) and a.ndim > 0 for a in flat]
    for i in range(0, max(a.size for a, s in zip(flat, split) if s), size):
        fn(*[a[i : i + size] if s else a for a, s in zip(flat, split)])


HALF, BFLOAT, SINGLE = np.dtype(np.float16), np.dtype(dt.bfloat16.np), np.dtype(np.float32)
MANY = 8192  # elements from which _to_half and _from_half are faster than NumPy for any values
_half_values = None  # the float32 value of each pattern of 16 bits


def halves_of(low):
    """Return the compiled loops (to float32, from float32) for a half type, NumPy's dtype `low`."""
    if low == HALF:
        return halves.from_float16, halves.to_float16
    return halves.from_bfloat16, halves.to_bfloat16


def widened(a):
    """Return an array of a half type as float32."""
    if halves is not None:
        out = np.empty(a.shape, SINGLE)
        halves_of(a.dtype)[0](np.ascontiguousarray(a), out)
        return out
    return _from_half(a) if a.dtype == HALF and a.size >= MANY else a.astype(SINGLE)


def narrowed(a, low):
    """Return an array of float32 as one of a half type, NumPy's dtype `low`, rounded to nearest even."""
    if halves is not None:
        out = np.empty(a.shape, low)
        halves_of(low)[1](np.ascontiguousarray(a), out)
        return out
    return _to_half(a) if low == HALF and a.size >= MANY else a.astype(low)


def _from_half(a):
    """Convert float16 to float32 by a table.

    NumPy computes each element, and takes ten times as long for subnormal ones.
    """
    global _half_values
    if _half_values is None:
        _half_values = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    return _half_values.take(a.view(np.uint16))


def _to_half(a):
    """Convert float32 to float16 by integer operations, rounding to nearest even.

    NumPy takes up to 80 ns for an element whose result is subnormal.
    """
    flat, out = np.ascontiguousarray(a).reshape(-1).view(np.int32), np.empty(a.size, np.int16)
    rooms = np.empty((5, min(PIECE, flat.size)), np.int32)
    rooms[3:] = [[0x400], [0x7C00]]  # as rows, because NumPy does not vectorise the minimum with a number
    for i in range(0, flat.size, PIECE):
        x = flat[i : i + PIECE]
        size, r, s, least, most = rooms[:, : len(x)]
        np.bitwise_and(x, 0x7FFFFFFF, out=size)
        # normal numbers: change the bias of the exponent and drop 13 bits
        np.right_shift(size, 13, out=r)
        r &= 1
        r += size
        r += 0xFFF - (112 << 23)
        r >>= 13
        # subnormal numbers: adding 0.5 moves their bits into place; other numbers give 0x400 or more here
        np.add(size.view(np.float32), np.float32(0.5), out=s.view(np.float32))
        s -= 0x3F000000
        np.minimum(s, least, out=s)
        np.maximum(r, s, out=r)
        np.minimum(r, most, out=r)
        if size.max() > 0x7F800000:
            nan = size > 0x7F800000
            r[nan] = size[nan] >> 13 & 0x3FF | 0x7E00
        np.bitwise_xor(x, size, out=s)
        s >>= 16
        r |= s
        np.copyto(out[i : i + PIECE], r, casting="unsafe")
    return out.view(np.float16).reshape(a.shape)


def astype(a, dtype):
    """Cast an array as PyTorch does: complex drops its imaginary part, floats that do not fit wrap as in C."""
    if a.dtype == dt.complex32.np and dtype is not dt.complex32:
        a = dt.complex_array(a)
    if a.dtype.kind == "c" and dtype.category != dt.COMPLEX:
        a = a.real if dtype.category != dt.BOOL else a != 0
    low = dtype is dt.float16 or dtype is dt.bfloat16
    if (a.dtype == HALF or a.dtype == BFLOAT) and a.dtype != dtype.np:
        a = widened(a)
        if dtype is dt.float32:
            return a
    with quiet():
        if low and a.dtype != dtype.np:  # PyTorch, too, rounds float64 and integers to float32 first
            return narrowed(a.astype(SINGLE, copy=False), dtype.np)
        if dtype.category == dt.INT and dtype.itemsize < 8 and a.dtype.kind not in "biu":
            return (
                a.astype(np.float32 if a.dtype.kind == "V" else a.dtype)
                .astype(np.int64 if dtype is dt.uint32 else np.int32)
                .astype(dtype.np)
            )
        if dtype.category == dt.BOOL and a.dtype.kind not in "biufc":
            return a.astype(np.float32) != 0
        return dt.stored(a, dtype)


_MS_DTYPES = {}


def ms_dtype_of(r):
    """Return the dtype of a MindSpore tensor."""
    d = r.dtype
    k = _MS_DTYPES.get(d)
    if k is None:
        k = _MS_DTYPES[d] = dt.ALL[{"Bool": "bool", "BFloat16": "bfloat16"}.get(str(d), str(d).lower())]
    return k


def alias(r):
    """Return a NumPy array that shares memory with a contiguous MindSpore tensor on the host, whatever its dtype.

    MindSpore's own conversion refuses bfloat16 with NumPy 2.
    """
    return pyboost.array_of(r, r._shape, ms_dtype_of(r).np)


_NUMPY = (np.ndarray, np.generic)
# whether kernel results are checked against the meta functions; tests set it
CHECKED = bool(os.environ.get("MINDTORCH_CHECK"))


def check_promise(result, shape, dtype):
    """Raise AssertionError where a kernel's result does not fit the shape and dtype from the meta function.

    Without this check the result is converted silently: a float would lose its fraction, a vector would be broadcast.
    Conversions that lose nothing are allowed (some primitives return complex numbers without an imaginary part), and so
    are another width of the same kind of number and another shape with as many elements.
    """
    given = (
        result.dtype
        if isinstance(result, Tensor)
        else dt.FROM_NP.get(result.dtype)
        if isinstance(result, _NUMPY)
        else ms_dtype_of(result)
    )
    if given is not None and given.category > dtype.category and _loses(result, dtype):
        raise AssertionError(f"the kernel gives {given}, and the meta function promised {dtype}")
    size = numel(tuple(result.shape))
    if shape is not None and size != numel(shape):
        raise AssertionError(
            f"the kernel gives the shape {tuple(result.shape)}, and the meta function promised {tuple(shape)}"
        )


def _loses(result, dtype):
    """Whether a conversion to this lower category of dtypes changes values."""
    a = result._array() if isinstance(result, Tensor) else result if isinstance(result, _NUMPY) else alias(result)
    if dtype.category == dt.FLOAT:
        return bool(np.any(a.imag))
    if dtype.category == dt.BOOL:  # any integer converts to bool
        return a.dtype.kind not in "iu" and not np.isin(a, (0, 1)).all()
    return bool(np.any(a != np.trunc(a)))
