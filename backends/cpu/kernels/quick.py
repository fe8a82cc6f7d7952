"""NumPy kernels for MINDTORCH_KERNELS=fastest only.

MindSpore's kernels are correct here, but calling them takes longer than the computation. measured.json may also choose
NumPy kernels that the table has for other sizes or dtypes.
"""

import numpy as np

from ... import thresholds
from ..arrays import add_rows, special
from ..blas import dot, matmul
from ..table import quick
from .activation import np_softmax
from .indexing import check_rows
from .matmul import by_rows, cdist, np_addmm, np_attention_scores, np_linear, np_over_rows

# ------------------------------------------------------------------------------------------------ products
quick("mm dot mv", dot)
quick("_mm", by_rows)
quick("_over_rows", np_over_rows)
quick("_linear", np_linear)
quick("addmm", np_addmm)
quick("bmm _bmm", matmul)
quick("_attention_scores", np_attention_scores)
quick("_cdist", cdist)


@quick("baddbmm")
def _baddbmm(c, a, b, beta, alpha):
    out = matmul(a, b)
    if alpha != 1:
        out *= out.dtype.type(alpha)
    if beta:
        out += c if beta == 1 else c * out.dtype.type(beta)
    return out


# ------------------------------------------------------------------------------------------------ elementwise
quick("relu_backward", lambda g, y: np.where(y <= 0, 0, g))
quick("sigmoid", lambda x: 1 / (1 + np.exp(-x)))
quick("sigmoid_backward", lambda g, y: (1 - y) * y * g)
quick("tanh_backward", lambda g, y: (1 - y * y) * g)
quick("_C._nn.silu", lambda x: x / (1 + np.exp(-x)))
quick("_C._nn.hardtanh", lambda x, low, high: np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high)))
quick("_clamp", lambda x, low, high: np.minimum(np.maximum(x, low), high), dtypes="i32 i64 f32 f64")
quick("threshold", lambda x, t, v: np.where(x <= t, x.dtype.type(v), x))
quick("erf", special.erf)
quick("erfc", special.erfc)


# ------------------------------------------------------------------------------------------------ rows
quick("_softmax", np_softmax)


@quick("_softmax_backward_data")
def _softmax_backward(g, y, dim, dtype):
    out = g * y
    if out.shape:
        out -= y * np.add.reduce(out, dim, keepdims=True)
        return out
    return out - y * out


@quick("_log_softmax")
def _log_softmax(x, dim):
    if not x.shape:
        return x - x
    out = x - x.max(dim, keepdims=True)
    out -= np.log(np.add.reduce(np.exp(out), dim, keepdims=True))
    return out


@quick("_log_softmax_backward_data")
def _log_softmax_backward(g, y, dim, dtype):
    return g - np.exp(y) * np.add.reduce(g, dim, keepdims=True) if g.shape else g - g


# ------------------------------------------------------------------------------------------------ embeddings
@quick("_C.embedding_dense_backward")
def _embedding_backward(g, indices, rows, padding_idx, by_freq):
    i = indices.reshape(-1)
    check_rows(i, rows)
    g = g.reshape(i.size, g.shape[-1])
    if i.size * rows <= thresholds.ONE_HOT:
        chosen = np.zeros((rows, i.size), g.dtype)
        chosen[i, np.arange(i.size)] = 1
        out = dot(chosen, g)
    else:
        out = np.zeros((rows, g.shape[1]), g.dtype)
        add_rows(out, i, g)
    if by_freq:
        out /= np.maximum(np.bincount(i, minlength=rows), 1)[:, None].astype(out.dtype)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out
