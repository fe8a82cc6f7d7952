"""Creation of filled tensors, ranges, and complex numbers from their parts."""

import math

import numpy as np

from ....runtime import dtypes as dt
from ....runtime.ops.creation import arange_size
from ..arrays import MOST_DIMS
from ..table import legacy, numpy, without


@numpy(
    "_full",
    "FillScalar has no CPU kernel; the legacy FillV2 costs 50 us against 1 at 64 elements and moves no other bytes",
)
def _full(size, value, dtype, device):
    size = size if len(size) <= MOST_DIMS else math.prod(size)
    if not value and str(value)[0] != "-":  # not -0.0
        return np.zeros(size, dtype.np)
    return np.full(size, _wrapped(value, dtype), dtype.np)


def _wrapped(value, dtype):
    if dtype.category == 1 and isinstance(value, (int, float)):
        return np.array(int(value) & ((1 << 8 * dtype.itemsize) - 1), f"u{dtype.itemsize}").view(dtype.np)
    if dtype is dt.float16:
        return np.float32(value)
    if dtype is dt.float8_e4m3fn:
        return dt.saturated(np.asarray(value))
    return value if dtype is not dt.complex32 else dt.complex_pairs(np.asarray(value))


@numpy(
    "_arange", "Arange has no CPU kernel; the legacy Range takes 0-d tensors only and costs 30 us more at 64 elements"
)
def _arange(start, end, step, dtype, device):
    if dtype is dt.int64:
        return np.arange(int(start), int(end), int(step))
    n = arange_size(start, end, step, dtype)
    if dtype.category == 1:
        return (int(start) + np.arange(n) * int(step)).astype(dtype.np)
    return (start + np.arange(n, dtype=np.float64) * step).astype(dtype.np)


@numpy(
    "_linspace",
    "LinSpaceExt has no CPU kernel; the legacy LinSpace counts from the start alone and rounds otherwise than PyTorch",
)
def _linspace(start, end, steps, dtype, device):
    if steps == 1:
        return np.array([start]).astype(dtype.np)
    d = (
        dtype.np
        if dtype.category >= 2 and dtype.itemsize >= 4
        else np.dtype(np.float32 if dtype.category == 2 else np.float64)
    )
    if dtype.category == 1:
        start, end = int(start), int(end)
    s, e = d.type(start), d.type(end)
    step = (e - s) / d.type(max(steps - 1, 1))
    i = np.arange(steps)
    half = steps // 2
    return np.where(i < half, s + step * i.astype(d), e - step * (steps - 1 - i).astype(d)).astype(d).astype(dtype.np)


without("_complex", "Complex is a legacy primitive, and does not broadcast")
legacy("_complex", "Complex", "no PyBoost primitive of that name", dtypes="f32 f64", broadcasts=False)
