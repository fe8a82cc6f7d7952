"""Embeddings, one-hot, padding, resampling."""

import numpy as np

from ....runtime import pyboost
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
        return np.zeros((rows, g.shape[-1]), g.asnumpy().dtype)
    i = indices.asnumpy().reshape(-1)
    out = prim(pyboost.tensor_from_array(i[:, None]), pyboost.tensor_from_array(g.asnumpy().reshape(i.size, -1)), (rows, g.shape[-1])).asnumpy()
    if by_freq:
        out /= np.maximum(np.bincount(i, minlength=rows), 1)[:, None].astype(out.dtype)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out


legacy("_C.embedding_dense_backward", "ScatterNd", "EmbeddingDenseBackward has no CPU kernel", fn=_scatter_rows, dtypes="fdeF")


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
