"""Embeddings, one-hot encoding and padding."""

import numpy as np

from ....runtime import pyboost
from ...host import alias
from ..table import legacy, numpy
from .indexing import SLOW_GATHER, check_rows


# ------------------------------------------------------------------------------------------------ embeddings
def embedding(weight, indices, *_):
    check_rows(indices, weight.shape[0])
    return np.take(weight, indices, 0, mode="clip")


numpy("embedding", f"Embedding has no CPU kernel; {SLOW_GATHER}", embedding)


@numpy("nn.functional.one_hot", "OneHotExt has no CPU kernel; the legacy OneHot is 12 times slower at 64k elements")
def one_hot(x, n):
    if x.size and x.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if x.size and x.max() >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    out = np.zeros((x.size, n), np.int64)
    out[np.arange(x.size), x.reshape(-1)] = 1
    return out


def _scatter_rows(prim, g, indices, rows, padding_idx, by_freq):
    if 0 in g.shape:
        return np.zeros((rows, g.shape[-1]), alias(g).dtype)
    i = alias(indices).reshape(-1)
    out = alias(
        prim(
            pyboost.tensor_from_array(i[:, None]),
            pyboost.tensor_from_array(alias(g).reshape(i.size, -1)),
            (rows, g.shape[-1]),
        )
    )
    if by_freq:
        out /= np.maximum(np.bincount(i, minlength=rows), 1)[:, None].astype(out.dtype)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out


legacy(
    "_C.embedding_dense_backward",
    "ScatterNd",
    "EmbeddingDenseBackward has no CPU kernel",
    fn=_scatter_rows,
    dtypes="f16 f32 f64 c64",
)


# ------------------------------------------------------------------------------------------------ padding
@numpy("constant_pad_nd", "ConstantPadND has no CPU kernel; the legacy PadV3 is 44 times slower at 1M elements")
def constant_pad_nd(x, pad, value):
    n = x.ndim
    size, src, dst = list(x.shape), [slice(None)] * n, [slice(None)] * n
    for i in range(len(pad) // 2):
        d, a, b = n - 1 - i, pad[2 * i], pad[2 * i + 1]
        size[d] += a + b
        src[d] = slice(max(-a, 0), max(x.shape[d] - max(-b, 0), max(-a, 0)))
        dst[d] = slice(max(a, 0), max(a, 0) + src[d].stop - src[d].start)
    out = np.full(size, value, x.dtype)
    out[tuple(dst)] = x[tuple(src)]
    return out


def _repeats(mode, out, d, a, b, m):
    """Return pairs (padding, source of its values) before and after the m elements of a dimension."""
    at = lambda start, stop, step=1: out[(slice(None),) * d + (slice(start, stop, step),)]
    if mode == "replicate":
        return (at(0, a), at(a, a + 1)), (at(a + m, a + m + b), at(a + m - 1, a + m))
    last = a + m - 2
    return (at(0, a), at(2 * a, a, -1)), (at(a + m, a + m + b), at(last, last - b if last >= b else None, -1))


def _widened(shape, padding):
    """Return the padded dimensions, the padded shape, and the slices of the input in it.

    Each dimension is (dimension, before, after, size). Negative padding is ignored here.
    """
    n, whole, inner = len(shape), list(shape), [slice(None)] * len(shape)
    dims = [
        (n - 1 - i, max(padding[2 * i], 0), max(padding[2 * i + 1], 0), shape[n - 1 - i])
        for i in range(len(padding) // 2)
    ]
    for d, a, b, m in dims:
        whole[d], inner[d] = m + a + b, slice(a, a + m)
    return dims, whole, tuple(inner)


def _cut(out, padding):
    """Remove the elements that negative padding cuts off."""
    if min(padding) >= 0:
        return out
    ends = [
        slice(max(-padding[2 * i], 0), out.shape[-1 - i] - max(-padding[2 * i + 1], 0))
        for i in range(len(padding) // 2)
    ]
    return out[(..., *reversed(ends))]


def _edges(mode):
    """Register reflection or replication padding and its gradient.

    The padding is copied from its source; in the gradient it is added to the source.
    """

    def forward(x, padding):
        dims, whole, inner = _widened(x.shape, padding)
        out = np.empty(whole, x.dtype)
        out[inner] = x
        for d, a, b, m in dims:
            for edge, source in _repeats(mode, out, d, a, b, m):
                edge[...] = source
        return _cut(out, padding)

    def backward(g, x, padding):
        dims, whole, inner = _widened(x.shape, padding)
        total = np.zeros(whole, g.dtype)
        _cut(total, padding)[...] = g
        for d, a, b, m in reversed(dims):
            for edge, source in _repeats(mode, total, d, a, b, m):
                source += edge.sum(d, keepdims=True) if mode == "replicate" else edge
        return total[inner]

    for dims in (1, 2, 3):
        name = f"_C._nn.{'reflection' if mode == 'reflect' else 'replication'}_pad{dims}d"
        numpy(name, "no CPU kernel", forward)
        numpy(name + "_backward", "no CPU kernel", backward)


_edges("reflect")
_edges("replicate")
