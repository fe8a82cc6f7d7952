"""Resampling by weighted taps along one dimension after the other.

ResizeBilinearV2 and Col2Im are used where they are correct.
"""

import numpy as np

from ....runtime import pyboost
from ....runtime.ops.resample import UPSAMPLE
from ...host import alias
from ...quiet import quiet
from ..arrays import reversed_taps, weighted_sums
from ..table import legacy, numpy, without
from .conv import windows


# ------------------------------------------------------------------------------------------------ taps of interpolation
def _scale(n, o, align, given):
    if align:
        return (n - 1) / (o - 1) if o > 1 else 0.0
    return 1 / given if given else n / o


def _filters(mode):
    """Return (support, function of |x|) of an antialiasing filter."""
    if mode == "linear-aa":
        return 1, lambda x: np.maximum(1 - x, 0)
    if mode == "cubic-aa":
        a = -0.5
        return 2, lambda x: np.where(
            x < 1, ((a + 2) * x - (a + 3)) * x * x + 1, np.where(x < 2, ((x - 5) * x + 8) * x * a - 4 * a, 0)
        )
    return 3, lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


def _taps(mode, n, o, align, given, dtype):
    """Return (source indices, weights), both (taps, o), computed in dtype."""
    f = dtype.type if dtype.kind == "f" else np.float64
    if mode[:7] == "nearest":
        s = np.float32(_scale(n, o, False, given))
        at = np.arange(o, dtype=np.float32)
        at = np.floor((at + np.float32(0.5)) * s if mode == "nearest-exact" else at * s).astype(np.int64)
        return np.minimum(at, n - 1)[None], None
    s, d = f(_scale(n, o, align, given)), np.arange(o).astype(f)
    if mode.endswith("aa"):
        support, fn = _filters(mode)
        wide = max(s, f(1))
        support, inverse = f(support) * wide, f(1) / wide
        centre = s * (d + f(0.5))
        low = np.maximum((centre - support + f(0.5)).astype(np.int64), 0)
        high = np.minimum((centre + support + f(0.5)).astype(np.int64), n)
        at = low + np.arange((high - low).max())[:, None]
        w = np.where(at < high, fn(np.abs((at - centre + f(0.5)) * inverse)), 0).astype(f)
        return np.minimum(at, high - 1), w / w.sum(0)
    real = s * d if align else s * (d + f(0.5)) - f(0.5)
    if mode == "linear":
        real = np.maximum(real, 0)
        i = np.minimum(real.astype(np.int64), n - 1)
        part = np.minimum(real - i.astype(f), f(1))
        return np.stack((i, np.minimum(i + 1, n - 1))), np.stack((f(1) - part, part))
    i, a = np.floor(real).astype(np.int64), f(-0.75)
    t = real - i.astype(f)

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return np.clip(i + np.arange(-1, 3)[:, None], 0, n - 1), np.stack(
        (far(t + 1), near(t), near(1 - t), far(2 - t))
    ).astype(f)


def _along(w, axis, ndim):
    return w.reshape([-1 if d == axis else 1 for d in range(ndim)])


def _times_repeated(shape, size, scales, mode):
    """Return how often each element is repeated along each dimension by nearest upsampling.

    The result is None unless all elements of a dimension are repeated equally often.
    """
    times = []
    for d, (n, o) in enumerate(zip(shape, size)):
        (at,), _ = _taps(mode, n, o, False, scales[d] if scales else None, np.dtype(np.float32))
        if not n or o % n or (at != np.arange(o) // (o // n)).any():
            return None
        times.append(o // n)
    return times


def _repeated(x, times):
    """Repeat each element as a block, by one copy into a view with an extra dimension for each of the last ones."""
    dims = len(times)
    lead, inner = x.shape[:-dims], x.shape[-dims:]
    out = np.empty((*lead, *(n for pair in zip(inner, times) for n in pair)), x.dtype)
    out[...] = x.reshape(*lead, *(n for size in inner for n in (size, 1)))
    return out.reshape(*lead, *(n * t for n, t in zip(inner, times)))


def _blocks_summed(g, times):
    """Sum the blocks of the given size along the last dimensions."""
    total = None
    for first in np.ndindex(*times):
        part = g[(..., *(slice(i, None, t) for i, t in zip(first, times)))]
        total = part.copy() if total is None else np.add(total, part, out=total)
    return total


def _summed_at(g, at, n, axis):
    """Sum the elements at equal positions along an axis; positions are sorted, n is the result's size."""
    first = np.flatnonzero(np.diff(at, prepend=-1))
    sums = np.add.reduceat(g, first, axis)
    if len(first) == n:
        return sums
    out = np.zeros((*g.shape[:axis], n, *g.shape[axis + 1 :]), g.dtype)
    out[(*[slice(None)] * axis, at[first])] = sums
    return out


def upsample(mode):
    def fn(source, size, align, scales):
        x = source
        np.empty((*x.shape[:2], *size), x.dtype)  # fails for a huge size before the indices use up the memory
        if mode[:7] == "nearest" and (times := _times_repeated(x.shape[2:], size, scales, mode)) is not None:
            return _repeated(x, times)
        for axis in range(x.ndim - 1, 1, -1):
            n, o = x.shape[axis], size[axis - 2]
            given = scales[axis - 2] if scales else None
            at, w = _taps(mode, n, o, align, given, x.dtype)
            if w is None:
                x = x if n == o and not given else np.take(x, at[0], axis)
                continue
            bits = 0
            if x.dtype == np.uint8:
                # weights are 16-bit integers, and the sum is rounded after each dimension; weights of the same point at
                # an edge are added first
                for i in range(len(w) - 1):
                    w[i + 1] += np.where(at[i] == at[i + 1], w[i], 0)
                    w[i] = np.where(at[i] == at[i + 1], 0, w[i])
                bits = int(np.log2((2**15 - 0.5) / w.max()))
                w = np.floor(w * 2**bits + 0.5).astype(np.int32)
            y = sum(np.take(x, i, axis) * _along(v, axis, x.ndim) for i, v in zip(at, w))
            x = np.clip((y + 2 ** (bits - 1)) >> bits, 0, 255).astype(np.uint8) if bits else y
        return x.copy() if x is source else x

    return fn


def upsample_backward(mode):
    def fn(g, size, align, scales):
        if mode[:7] == "nearest" and (times := _times_repeated(size[2:], g.shape[2:], scales, mode)) is not None:
            return _blocks_summed(g, times)
        for axis in range(2, g.ndim):
            n, o = size[axis], g.shape[axis]
            at, w = _taps(mode, n, o, align, scales[axis - 2] if scales else None, g.dtype)
            if w is None:
                g = _summed_at(g, at[0], n, axis)
                continue
            g = weighted_sums(g, *reversed_taps(at, w.astype(g.dtype), n), axis)
        return np.ascontiguousarray(g)

    return fn


def _bilinear(prim, x, size, align, scales):
    """Call ResizeBilinearV2 where scales match the sizes and all values are finite: it turns infinity into NaN."""
    a = alias(x)
    if scales is not None and any(o != n * s for n, o, s in zip(a.shape[2:], size, scales)) or not np.isfinite(a).all():
        with quiet():
            return upsample("linear")(a, size, align, scales)
    if a.ndim == 3:
        a = a[:, :, None]
        x, size = pyboost.tensor_from_array(a), (1, *size)
    return alias(prim.of(align, not align)(x, tuple(size)))


for _name, (_mode, _dims, _prim) in UPSAMPLE.items():
    _why = f"{_prim or 'upsampling of this mode'} has no CPU kernel"
    if _mode == "nearest":
        without("_C._nn." + _name, "takes the output's size or the scales, not both")
        _why = "UpsampleNearest2D takes size or scales, not both, and is 14 times slower at 64k elements"
    elif _dims == 3:
        without("_C._nn." + _name, "takes the output's size or the scales, not both")
        _why = "UpsampleTrilinear3D takes size or scales, not both"
    elif _mode == "linear":
        legacy("_C._nn." + _name, "ResizeBilinearV2", _why, fn=_bilinear, dtypes="f32")
    without(f"_C._nn.{_name}_backward", "takes the output's size or the scales, not both")
    numpy("_C._nn." + _name, _why, upsample(_mode))
    numpy(f"_C._nn.{_name}_backward", _why, upsample_backward(_mode))


# ------------------------------------------------------------------------------------------------ sliding blocks
@numpy("_C._nn.im2col", "Im2ColExt has no CPU kernel; the legacy Im2Col is 9 times slower at 64k elements")
def im2col(x, kernel, dilation, padding, stride):
    return np.ascontiguousarray(windows(x, kernel, stride, padding, dilation).transpose(0, 1, 4, 5, 2, 3))


@numpy("_C._nn.col2im", "the legacy Col2Im lacks the dtype")
def col2im(x, size, kernel, dilation, padding, stride):
    count = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)]
    cols = x.reshape(x.shape[0], -1, *kernel, *count)
    out = np.zeros((*cols.shape[:2], *(n + 2 * p for n, p in zip(size, padding))), x.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            out[
                (
                    ...,
                    *(slice(a * d, a * d + s * (m - 1) + 1, s) for a, d, s, m in zip((i, j), dilation, stride, count)),
                )
            ] += cols[:, :, i, j]
    return np.ascontiguousarray(out[(..., *(slice(p, p + n) for p, n in zip(padding, size)))])


def _col2im(prim, x, size, kernel, dilation, padding, stride):
    a = alias(x)
    x = pyboost.tensor_from_array(a.reshape(a.shape[0], -1, int(np.prod(kernel)), a.shape[-1]))
    return prim.of(tuple(kernel), tuple(dilation), tuple(padding), tuple(stride))(
        x, pyboost.tensor_from_array(np.array(size, np.int32))
    )


legacy("_C._nn.col2im", "Col2Im", "Col2ImExt has no CPU kernel", fn=_col2im, dtypes="f32")
