"""Pooling by a loop over the positions within the kernel; each reads a strided slice of the padded input."""

from functools import reduce
from itertools import product

import numpy as np

from ....runtime import pyboost
from ....runtime.ops.pooling import pooled
from ... import thresholds
from ...host import alias
from ..arrays import reversed_taps, weighted_sums
from ..table import legacy, numpy, without


def _positions(kernel, stride, dilation, out):
    """Yield each position within the kernel: its offsets, and its slices of the padded input."""
    for at in product(*map(range, kernel)):
        yield at, tuple(slice(a * d, a * d + s * (o - 1) + 1, s) for a, d, s, o in zip(at, dilation, stride, out))


def _padded(x, value, kernel, stride, padding, dilation, out):
    """Return x padded with `value`, wide enough for the last window."""
    dims = len(kernel)
    pads = [
        (p, max((o - 1) * s + d * (k - 1) + 1 - n - p, 0))
        for n, k, s, p, d, o in zip(x.shape[-dims:], kernel, stride, padding, dilation, out)
    ]
    return np.pad(x, [(0, 0)] * (x.ndim - dims) + pads, constant_values=value) if any(map(any, pads)) else x


def _reached(kernel, n, padding, dilation):
    """Limit the kernel size where it exceeds the padded input, as with ceil_mode.

    Positions behind the end of the input are dropped.
    """
    return tuple(m + p if d == 1 and k > m + 2 * p > 0 else k for k, m, p, d in zip(kernel, n, padding, dilation))


def _grid(values):
    """Return vectors, one for each dimension, as arrays that broadcast against each other."""
    return np.ix_(*values)


MAX_WHY = "the legacy MaxPoolWithArgmaxV2 ignores NaN, gives -3.4e38 for -inf and is 7 times slower at 64k elements"


@numpy("_C._nn.max_pool1d_with_indices _C._nn.max_pool2d_with_indices _C._nn.max_pool3d_with_indices", MAX_WHY)
def max_pool(x, kernel, stride, padding, dilation, ceil):
    n = x.shape[-len(kernel) :]
    out = pooled(n, kernel, stride, padding, dilation, ceil)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    kernel = _reached(kernel, n, padding, dilation)
    xp = _padded(x, lowest, kernel, stride, padding, dilation, out)
    if x.size > thresholds.POOL and x.dtype.char in "fd":
        found = _large_max_pool(xp, n, lowest, kernel, stride, padding, dilation, out)
        if found is not None:
            return found
    # start with the first position of each window inside the input
    starts = [np.arange(m) * s - p for m, s, p in zip(out, stride, padding)]
    first = [np.maximum(start, start % d) for start, d in zip(starts, dilation)]
    flat = reduce(lambda a, bn: a * bn[1] + bn[0], zip(_grid(first), n), 0)
    # where a dilated window has no position inside, this reads the padding
    best = xp[(..., *_grid([f + p for f, p in zip(first, padding)]))]
    index = np.empty(best.shape, np.int64)
    index[...] = flat
    for at, where in _positions(kernel, stride, dilation, out):
        value = xp[(..., *where)]
        at_input = [start + a * d for start, d, a in zip(starts, dilation, at)]
        better = value > best
        if x.dtype.kind == "f":
            better |= value != value
        np.copyto(best, value, where=better)
        np.copyto(index, reduce(lambda a, bn: a * bn[1] + bn[0], zip(_grid(at_input), n), 0), where=better)
    return best, index


def _large_max_pool(xp, n, lowest, kernel, stride, padding, dilation, out):
    """Compute the maxima first and their indices afterwards, without a branch for each element.

    The result is None where a maximum may be NaN or padding.
    """
    offsets, parts = zip(*((at, xp[(..., *where)]) for at, where in _positions(kernel, stride, dilation, out)))
    best = parts[0].copy()
    for part in parts[1:]:
        np.maximum(best, part, out=best)
    if not best.min() > lowest:
        return None
    small = np.int8 if len(parts) < 128 else np.int16
    which = np.full(best.shape, len(parts) - 1, small)
    for k in range(len(parts) - 2, -1, -1):
        here = (parts[k] == best).astype(small)
        np.negative(here, out=here)
        here &= which ^ small(k)
        which ^= here

    def flat(columns):
        return reduce(lambda a, bn: a * bn[1] + bn[0], zip(columns, n), 0)

    index = np.take(flat(np.array(offsets).T * np.array(dilation)[:, None]), which)
    index += flat(_grid([np.arange(m) * s - p for m, s, p in zip(out, stride, padding)]))
    return best, index


without("_C._nn.adaptive_max_pool2d", "ignores NaN")


@numpy(
    "_C._nn.adaptive_max_pool1d _C._nn.adaptive_max_pool2d _C._nn.adaptive_max_pool3d",
    "AdaptiveMaxPool2D ignores NaN, and is there for two dimensions alone",
)
def adaptive_max_pool(x, size):
    """Pool one dimension after the other.

    Among equal values the first in order wins, as over the whole window.
    """
    dims = len(size)
    n = x.shape[-dims:]
    index = np.broadcast_to(np.arange(int(np.prod(n))).reshape(n), x.shape)
    for d in range(x.ndim - 1, x.ndim - 1 - dims, -1):
        count = int(size[d - x.ndim])
        windows, where = _windows(x, d, count), _windows(index, d, count)
        at = np.expand_dims(windows.argmax(d + 1), d + 1)
        x, index = (np.take_along_axis(w, at, d + 1).squeeze(d + 1) for w in (windows, where))
    return x, index


def _bounds(n, count):
    """Return where each of `count` windows that divide n elements starts and where it ends."""
    i = np.arange(count)
    return i * n // max(count, 1), -(-(i + 1) * n // max(count, 1))


def _windows(x, d, count):
    """Return x with dimension d split in two: the windows that cover it evenly, and the elements of each.

    Of a window shorter than others the last element stands there several times.
    """
    n = x.shape[d]
    if n % count == 0:
        return x.reshape(*x.shape[:d], count, n // count, *x.shape[d + 1 :])
    start, stop = _bounds(n, count)
    return x.take(np.minimum(start[:, None] + np.arange((stop - start).max()), stop[:, None] - 1), d)


# ------------------------------------------------------------------------------------------------ averages
ADAPTIVE = "PyTorch's AdaptiveAvgPool2D is one kernel with its gradient, MindSpore has the forward alone"


def _adaptive_taps(n, count, dtype):
    """Return (positions, weights), both (taps, count), of the averages of `count` windows that divide n elements."""
    start, stop = _bounds(n, count)
    at = start + np.arange((stop - start).max(initial=0))[:, None]
    there = at < stop
    return np.where(there, at, n), (there / (stop - start)).astype(dtype)


@numpy("_C._nn.adaptive_averages", ADAPTIVE)
def adaptive_averages(x, size):
    for axis, count in zip(range(x.ndim - len(size), x.ndim), size):
        n = x.shape[axis]
        if count * count <= n:  # fewer windows than elements in each of them
            parts = [
                x[(*[slice(None)] * axis, slice(a, b))].mean(axis, x.dtype, keepdims=True)
                for a, b in zip(*_bounds(n, count))
            ]
            x = np.concatenate(parts, axis) if parts else x[(*[slice(None)] * axis, slice(0))]
        else:
            x = weighted_sums(x, *_adaptive_taps(n, count, x.dtype), axis)
    return x


@numpy("_C._nn.adaptive_averages_backward", ADAPTIVE)
def adaptive_averages_backward(g, size, dims):
    for axis in range(len(size) - dims, len(size)):
        n = size[axis]
        at, weights = _adaptive_taps(n, g.shape[axis], g.dtype)
        sources, weights = reversed_taps(at, weights, n + 1)  # the last: what the shorter windows lack
        g = weighted_sums(g, sources[:, :n], weights[:, :n], axis)
    return g


def _counts(n, kernel, stride, padding, out, include):
    """Return the number of elements that each window averages over."""
    each = []
    for m, k, s, p, o in zip(n, kernel, stride, padding, out):
        a = np.arange(o) * s - p
        b = np.minimum(a + k, m + p)
        each.append(b - a if include else np.minimum(b, m) - np.maximum(a, 0))
    return reduce(np.multiply, _grid(each))


def avg_pool(x, kernel, stride, padding, ceil, include, divisor):
    n, one = x.shape[-len(kernel) :], (1,) * len(kernel)
    out = pooled(n, kernel, stride, padding, one, ceil)
    met = _reached(kernel, n, padding, one)
    xp = _padded(x, 0, met, stride, padding, one, out)
    total = reduce(np.add, (xp[(..., *where)] for _, where in _positions(met, stride, one, out)))
    by = divisor or _counts(n, kernel, stride, padding, out, include)
    return (total / by).astype(x.dtype)


@numpy(
    "_C._nn.avg_pool1d_backward _C._nn.avg_pool2d_backward _C._nn.avg_pool3d_backward",
    "AvgPool2DGrad has no CPU kernel; the legacy AvgPool3DGrad is 5 times slower at 64k elements",
)
def avg_pool_backward(g, size, kernel, stride, padding, ceil, include, divisor):
    dims = len(kernel)
    n, out, one = size[-dims:], g.shape[-dims:], (1,) * dims
    g = (g / (divisor or _counts(n, kernel, stride, padding, out, include))).astype(g.dtype)
    kernel = _reached(kernel, n, padding, one)
    full = np.zeros(
        (
            *g.shape[:-dims],
            *(max(m + 2 * p, (o - 1) * s + k) for m, p, o, s, k in zip(n, padding, out, stride, kernel)),
        ),
        g.dtype,
    )
    for _, where in _positions(kernel, stride, one, out):
        full[(..., *where)] += g
    return np.ascontiguousarray(full[(..., *(slice(p, p + m) for p, m in zip(padding, n)))])


def _avg3d(prim, x, kernel, stride, padding, ceil, include, divisor):
    """Compute pooling of one or two dimensions by the primitive for three."""
    a, dims = alias(x), len(kernel)
    if divisor is not None and divisor < 0:
        return avg_pool(a, kernel, stride, padding, ceil, include, divisor)
    one, zero = (1,) * (3 - dims), (0,) * (3 - dims)
    lead = a.shape[:-dims]
    x = pyboost.tensor_from_array(a.reshape(*((1,) * (2 - len(lead)) + lead), *one, *a.shape[-dims:]))
    pads = tuple(p for p in zero + tuple(padding) for _ in (0, 1))
    out = alias(prim.of(one + tuple(kernel), one + tuple(stride), "pad", pads, ceil, include, divisor or 0)(x))
    return out.reshape(*lead, *out.shape[-dims:])


AVG = "_C._nn.avg_pool1d _C._nn.avg_pool2d _C._nn.avg_pool3d"
legacy(AVG, "AvgPool3D", "AvgPool2D has no CPU kernel", fn=_avg3d, dtypes="f32")
numpy(AVG, "AvgPool3D takes 5.8 times as long at 64k elements", avg_pool, above=16384)
numpy(AVG, "AvgPool3D lacks the dtype", avg_pool)
