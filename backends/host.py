"""What backends have alike: letters for dtypes, which wider ones stand in, numbers as arrays, casts in the host's memory, MindSpore's dtypes."""

import numpy as np

from ..runtime import dtypes as dt
from .quiet import quiet

CODES = {
    "b": dt.bool_,
    "B": dt.uint8,
    "a": dt.int8,
    "s": dt.int16,
    "i": dt.int32,
    "l": dt.int64,
    "e": dt.float16,
    "z": dt.bfloat16,
    "f": dt.float32,
    "d": dt.float64,
    "F": dt.complex64,
    "D": dt.complex128,
    "t": dt.uint16,
    "u": dt.uint32,
    "v": dt.uint64,
    "x": dt.float8_e4m3fn,
    "y": dt.float8_e5m2,
    "w": dt.float8_e4m3fnuz,
    "q": dt.float8_e5m2fnuz,
    "E": dt.complex32,
}
# where a kernel lacks a dtype: the wider ones in which the result is the same
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


def number_array(value, dtype):
    """A Python number as an array without dimensions; integers wrap."""
    if dtype.category == dt.INT and isinstance(value, int):
        return np.array(value & ((1 << (8 * dtype.itemsize)) - 1), dtype=f"u{dtype.itemsize}").view(dtype.np)
    return astype(np.array(value), dtype)


def astype(a, dtype):
    """NumPy's cast with PyTorch's meaning: complex drops its imaginary part, floats that do not fit wrap as C does."""
    if dtype is dt.complex32 or a.dtype == dt.complex32.np:
        if a.dtype == dt.complex32.np:
            return a if dtype is dt.complex32 else astype(dt.complex_array(a), dtype)
        with quiet():
            return dt.complex_pairs(a)
    if a.dtype.kind == "c" and dtype.category != dt.COMPLEX:
        a = a.real if dtype.category != dt.BOOL else a != 0
    with quiet():
        if dtype.category == dt.INT and dtype.itemsize < 8 and a.dtype.kind not in "biu":
            return a.astype(np.float32 if a.dtype.kind == "V" else a.dtype).astype(np.int64 if dtype is dt.uint32 else np.int32).astype(dtype.np)
        if dtype.category == dt.BOOL and a.dtype.kind not in "biufc":
            return a.astype(np.float32) != 0
        return a.astype(dtype.np)


_MS_DTYPES = {}


def ms_dtype_of(r):
    """The dtype of a MindSpore tensor."""
    d = r.dtype
    k = _MS_DTYPES.get(d)
    if k is None:
        k = _MS_DTYPES[d] = dt.ALL[{"Bool": "bool", "BFloat16": "bfloat16"}.get(str(d), str(d).lower())]
    return k
