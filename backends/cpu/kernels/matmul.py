"""Matrix products: MatMul and BatchMatMul read a transposed operand by a flag, so a transposed view is never copied."""
import numpy as np

from ....runtime import pyboost
from ....runtime.backend import get
from ....runtime.op import op
from ....runtime.ops.common import T, dt, numel
from ....runtime.tensor import canonical, from_array, strided_view
from ..table import composite, legacy, numpy, pyboost_, without

RUN = get("cpu").launch
FLAGS = "(Tensor self, Tensor mat2, bool transpose_a, bool transpose_b) -> Tensor"
MINE = {"method": False, "function": False, "opmath": False}


def _flag_meta(a, b, ta, tb):
    m, n = a._shape[-1 if ta else -2], b._shape[-2 if tb else -1]
    return (*a._shape[:-2], m, n), a.dtype


def _variants(name):
    made = {}

    def run(prim, a, b, ta, tb):
        f = made.get((ta, tb))
        if f is None:
            f = made[ta, tb] = prim.of(ta, tb)
        return f(a, b)
    return run


mm_flags = op("_mm_flags" + FLAGS, meta=_flag_meta, **MINE)
bmm_flags = op("_bmm_flags" + FLAGS, meta=_flag_meta, **MINE)
add_row = op("_add_row(Tensor self, Tensor row) -> Tensor", "Add", meta=lambda r, row: (r._shape, r.dtype), **MINE)
numpy("_add_row", "no kernel for complex128", np.add, dtypes="D")
legacy("_add_row", "BiasAdd", "Add's broadcasting loop takes 45 times as long from 16k elements on", above=16384)
WHY = "the transpose flags are constructor arguments"
_matmul = _variants("MatMul")
pyboost_("_mm_flags", "MatMul", WHY, fn=_matmul)
# BatchMatMul conjugates a complex operand that it transposes: _layout never asks for that
pyboost_("_bmm_flags", "BatchMatMul", WHY, fn=_variants("BatchMatMul"), dtypes="efdaBsilF")
numpy("_mm_flags _bmm_flags", "no kernel for complex128", lambda a, b, ta, tb: np.matmul(a, b), dtypes="D")


def _layout(t):
    """The tensor as a kernel wants it: its last two dimensions swapped and True where that is how its memory lies."""
    st = t._stride
    if st is None or st[-2] != 1 or st[-1] == 1 or t.dtype.category == dt.COMPLEX:
        return t, False
    shape, st = (*t._shape[:-2], t._shape[-1], t._shape[-2]), (*st[:-2], st[-1], 1)
    return strided_view(t, shape, canonical(shape, st), t._offset), True


def product(a, b):
    """a @ b of two matrices or two stacks of equal rank and batch."""
    if a._shape[-1] == 0:
        return T.zeros((*a._shape[:-1], b._shape[-1]), dtype=a.dtype)
    return flagged(*_layout(a), *_layout(b))


def flagged(a, ta, b, tb, shape=None):
    """The kernel call; shape: of the result, where a stands for more dimensions than two."""
    spec = _flag_meta(a, b, ta, tb)
    return RUN(mm_flags if len(a._shape) == 2 else bmm_flags, spec if shape is None else (shape, spec[1]), (a, b, ta, tb))


def rows(t):
    """All leading dimensions as one, without the bookkeeping of a view."""
    s = t._shape
    if len(s) == 2:
        return t
    flat = (numel(s[:-1]), s[-1])
    return from_array(t._array().reshape(flat), t.dtype) if t._stride is None else t.reshape(flat)


without("bmm _mm _bmm", "the primitives copy a transposed operand and return garbage where nothing is summed")
without("_linear", "Dense copies its weight transposed at every call")
CROSS = "the dimension is a constructor argument"
without("linalg.cross", CROSS)
INIT = "p is a constructor argument"
without("_cdist _pdist", INIT)
FLAGGED = "one primitive with transpose flags for all of them: no copy of a transposed operand"
composite("bmm", FLAGGED)(product)
numpy("mm", "MatMul lacks complex128", np.matmul, dtypes="D")


def _mm(prim, a, b):
    if not a._shape[1]:
        return np.zeros((a._shape[0], b._shape[1]), a.dtype.np)
    (a, ta), (b, tb) = (a, False) if a._stride is None else _layout(a), (b, False) if b._stride is None else _layout(b)
    return _matmul(prim, a._mstensor(), b._mstensor(), ta, tb)


without("mm", FLAGGED)
pyboost_("mm", "MatMul", FLAGGED, _mm, tensors=True)


@composite("_mm", FLAGGED)
def fold(a, b):
    shape = (*a._shape[:-1], b._shape[1])
    return flagged(rows(a), False, *_layout(b), shape) if b._shape[0] else T.zeros(shape, dtype=a.dtype)


@composite("_bmm", FLAGGED + "; BatchMatMul does not broadcast")
def stack(a, b):
    s, r = a._shape[:-2], b._shape[:-2]
    if s != r:
        batch = np.broadcast_shapes(s, r)
        a, b = a.expand((*batch, *a._shape[-2:])), b.expand((*batch, *b._shape[-2:]))
    return product(a, b)


@composite("dot", "Dot has no CPU kernel")
def dot(a, b):
    return product(a.unsqueeze(0), b.unsqueeze(1)).reshape(())


@composite("vdot", "Vdot has no CPU kernel")
def vdot(a, b):
    return dot(T.conj(a) if a.dtype.is_complex else a, b)


@composite("mv", "Mv has no CPU kernel")
def mv(a, v):
    return product(a, v.unsqueeze(1)).squeeze(1)


def _row_added(r, row, shape=None):
    if r._shape[1] == row._shape[0]:
        return RUN(add_row, (shape or r._shape, r.dtype), (r, row))
    return (r + row).reshape(shape or r._shape)


def _plus(r, c, beta, alpha):
    """beta * c + alpha * r; c is not read where beta is 0."""
    if r.dtype.category == dt.INT:
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        r = r * alpha
    if beta == 0:
        return r
    c = c if beta == 1 else c * beta
    return _row_added(r, c) if len(c._shape) == 1 and len(r._shape) == 2 else r + c


composite("addmm baddbmm", "Addmm and Baddbmm have no CPU kernel")(lambda c, a, b, beta, alpha: _plus(product(a, b), c, beta, alpha))
composite("addmv", "Addmv has no CPU kernel")(lambda c, a, v, beta, alpha: _plus(mv(a, v), c, beta, alpha))


@composite("_linear", "Dense copies its weight transposed at every call: 30 to 40 times slower for one row")
def linear(x, weight, bias):
    shape = (*x._shape[:-1], weight._shape[0])
    if not weight._shape[1]:
        r = T.zeros(shape, dtype=x.dtype)
    else:
        x = rows(x)
        a, ta = _layout(x) if x._stride is not None else (x, False)
        w, tw = (weight, False) if weight._stride is None else _layout(weight)
        row = bias is not None and len(bias._shape) == 1
        if x.dtype.category == dt.COMPLEX:
            w, tw = weight.transpose(0, 1), True
        r = flagged(a, ta, w, not tw, None if row else shape)
        if row:
            return _row_added(r, bias, shape)
    return r if bias is None else r + bias


@composite("_safe_softmax", "no primitive of that name")
def safe_softmax(x, dim, dtype):
    r = T.softmax(x, dim, dtype=dtype)
    # NaN in a row shows in its first element; such rows are looked at once more
    if x._shape and np.isnan(r.select(dim, 0)._array()).any():
        r = r.masked_fill((x == float("-inf")).all(dim, keepdim=True), 0)
    return r


pyboost_("_cdist", "Cdist", INIT, fn=lambda prim, a, b, p: pyboost.primitive("Cdist", p)(a, b) if a.shape[-1] else
         np.zeros((*a.shape[:-1], b.shape[-2]), np.float32), dtypes="f")


@numpy("_cdist", "Cdist computes float64 in single precision", dtypes="d")
def cdist(a, b, p):
    from scipy.spatial import distance
    metric, kw = {0: ("hamming", {}), 1: ("cityblock", {}), 2: ("euclidean", {}), np.inf: ("chebyshev", {})}.get(p, ("minkowski", {"p": p}))
    if a.ndim == 3:
        return np.stack([cdist(x, y, p) for x, y in zip(a, b)])
    return distance.cdist(a, b, metric, **kw) * (a.shape[1] if p == 0 else 1) if a.shape[1] else np.zeros((len(a), len(b)))


legacy("_pdist", "Pdist", INIT, fn=lambda prim, a, p: pyboost.primitive("Pdist", p, legacy=True)(a) if a.shape[-1] else
       np.zeros(a.shape[0] * (a.shape[0] - 1) // 2, a.asnumpy().dtype))
pyboost_("linalg.cross", "Cross", CROSS, fn=lambda prim, a, b, dim: pyboost.primitive("Cross", dim)(a, b))
numpy("linalg.cross", "Cross lacks complex128 and the unsigned types", lambda a, b, dim: np.cross(a, b, axis=dim))
