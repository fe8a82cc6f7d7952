"""Matrix products.

MatMul and BatchMatMul take flags for transposed operands, so that a transposed view is never copied.
"""

from functools import cache

import numpy as np

from ....runtime import pyboost
from ....runtime.autograd import no_grad
from ....runtime.decompositions.matmul import attention_scores, plus
from ....runtime.ops.common import T, dt, numel
from ....runtime.tensor import canonical, strided_view
from ....runtime.threads import on_all_cores
from ...host import INTS, alias
from ...quiet import unwarned
from ..arrays import plus_in_place
from ..blas import dot, matmul
from ..table import composite, decomposed, legacy, numpy, pyboost_, without

FLAGGED = "one primitive with transpose flags for all of them: no copy of a transposed operand"
BIASED = (
    FLAGGED + "; NumPy adds the row in place: Add's broadcasting loop takes 80 times as long at 64k elements, "
    "the legacy BiasAdd 7 times"
)
SCALED = FLAGGED + "; NumPy scales it and adds the mask in place: Mul and Add take 5 times as long at 64k elements"
LACKING = "the primitives lack complex128"
# BatchMatMul conjugates a complex operand that it transposes, so _operand transposes none
STACKS = f"{INTS} f16 f32 f64 c64"


@cache
def _flagged(prim, ta, tb):
    """Return the primitive with these transpose flags, which are constructor arguments."""
    return prim.of(ta, tb)


def _product(prim, a, ta, b, tb, work):
    """Multiply two MindSpore tensors, each transposed according to its flag.

    work: the number of multiplications.
    """
    return on_all_cores(_flagged(prim, ta, tb), work)(a, b)


def _operand(t):
    """Return the MindSpore tensor of a matrix or a stack, and whether it is transposed.

    A tensor whose last two dimensions are swapped in memory is returned transposed instead of copied.
    """
    st = t._stride
    if st is None or st[-2] != 1 or st[-1] == 1 or t.dtype.category == dt.COMPLEX:
        return t._mstensor(), False
    shape, st = (*t._shape[:-2], t._shape[-1], t._shape[-2]), (*st[:-2], st[-1], 1)
    return strided_view(t, shape, canonical(shape, st), t._offset)._mstensor(), True


def _rows(t):
    """Return the MindSpore tensor with all leading dimensions merged into one, and whether it is transposed."""
    s = t._shape
    if len(s) == 2:
        return _operand(t)
    a = t._array() if t._stride is None else np.array(t._array(), order="C")
    return pyboost.tensor_from_array(a.reshape(numel(s[:-1]), s[-1])), False


def _mm(prim, a, b):
    """Compute a @ b, where a may have more than two dimensions; the result has two."""
    if not b._shape[0]:
        return np.zeros((*a._shape[:-1], b._shape[1]), a.dtype.np)
    if a._stride is None and b._stride is None and len(a._shape) == 2:  # no view
        return on_all_cores(_flagged(prim, False, False), a._shape[0] * numel(b._shape))(a._mstensor(), b._mstensor())
    work = numel(a._shape) * b._shape[1]
    return _product(prim, *_rows(a), *_operand(b), work)


def _over_rows(prim, a, b):
    """Compute a.T @ b, where both may have more than two dimensions."""
    if not numel(a._shape[:-1]):
        return np.zeros((a._shape[-1], b._shape[-1]), a.dtype.np)
    work = numel(a._shape) * b._shape[-1]
    (a, ta), b = _rows(a), _rows(b)
    return _product(prim, a, not ta, *b, work)


def _bmm(prim, a, b):
    if not a._shape[-1]:
        return np.zeros((*np.broadcast_shapes(a._shape[:-2], b._shape[:-2]), a._shape[-2], b._shape[-1]), a.dtype.np)
    if a._shape[:-2] != b._shape[:-2]:
        batch = np.broadcast_shapes(a._shape[:-2], b._shape[:-2])
        a, b = _expanded(a, batch), _expanded(b, batch)
    return _product(prim, *_operand(a), *_operand(b), numel(a._shape) * b._shape[-1])


def _attention_scores(prim, query, key, mask, scale, causal):
    batch = query._shape[:-2]
    if not batch or batch != key._shape[:-2] or not query._shape[-1]:
        return attention_scores(query, key, mask, scale, causal)
    offset = None if mask is None else mask._array()  # read before the kernel runs, which evicts the processor's caches
    b, tb = _operand(key)
    r = _product(prim, *_operand(query), b, not tb, numel(query._shape) * key._shape[-2])
    _scale_and_add(
        pyboost.array_of(r, (*batch, query._shape[-2], key._shape[-2]), query.dtype.np), scale, offset, causal
    )
    return r


def np_attention_scores(query, key, mask, scale, causal):
    return _scale_and_add(matmul(query, key.swapaxes(-2, -1)), scale, mask, causal)


def _scale_and_add(product, scale, offset, causal):
    """Scale the product and add the masks, in place; the caller owns the product."""
    if scale != 1:
        unwarned(np.multiply, product, product.dtype.type(scale), product)
    for mask in (np.tri(*product.shape[-2:], dtype=bool) if causal else None, offset):
        if mask is not None:
            if mask.dtype == bool:
                mask = np.where(mask, product.dtype.type(0), product.dtype.type(-np.inf))
            unwarned(np.add, product, mask, product)
    return product


def _expanded(t, batch):
    if t._shape[:-2] == batch:
        return t
    with no_grad():
        return t.expand((*batch, *t._shape[-2:]))


def _linear(prim, x, weight, bias):
    *batch, _ = x._shape  # unpacked, because indexing a Size is slow
    n, inner = weight._shape
    shape = (*batch, n)
    if not inner:
        return np.zeros(shape, x.dtype.np) + (0 if bias is None else bias._array())
    row = bias._array() if bias is not None and bias._shape == (n,) else None
    if len(batch) == 1 and x._stride is None and weight._stride is None and x.dtype.category != dt.COMPLEX:  # no view
        r = on_all_cores(_flagged(prim, False, True), batch[0] * inner * n)(x._mstensor(), weight._mstensor())
    else:
        w, tw = (weight, False) if x.dtype.category != dt.COMPLEX else (weight.detach().transpose(0, 1), True)
        w, swapped = _operand(w)
        r = _product(prim, *_rows(x), w, tw == swapped, numel(x._shape) * n)
    if bias is None:
        return r if len(batch) == 1 else pyboost.array_of(r, shape, x.dtype.np)
    return alias(r).reshape(shape) + bias._array() if row is None else plus_in_place(r, shape, x.dtype, row)


def _addmm(prim, c, a, b, beta, alpha):
    if beta == 1 == alpha and c._shape == (b._shape[1],) and a._shape[1]:
        row = c._array()  # read before the kernel runs, which evicts the processor's caches
        return plus_in_place(_mm(prim, a, b), (numel(a._shape[:-1]), *c._shape), c.dtype, row)
    with no_grad():
        return plus(T.mm(a, b), c, beta, alpha)


without("mm bmm _mm _bmm addmm", "the primitives copy a transposed operand and return garbage where nothing is summed")
without("_linear", "Dense copies its weight transposed at every call")
for _names, _primitive, _why, _fn, _dtypes in (
    ("mm _mm", "MatMul", FLAGGED, _mm, None),
    ("bmm _bmm", "BatchMatMul", FLAGGED, _bmm, STACKS),
    ("_over_rows", "MatMul", FLAGGED, _over_rows, None),
    ("_attention_scores", "BatchMatMul", SCALED, _attention_scores, "f32 f64"),
    ("addmm", "MatMul", BIASED, _addmm, None),
    ("_linear", "MatMul", BIASED, _linear, None),
):
    pyboost_(_names, _primitive, _why, _fn, _dtypes, tensors=True)


# ------------------------------------------------------------------------------------------------ thin matrices
FEW = 4
ROWS = 2048
WORK = 1 << 18  # multiplications; 4 rows by 256 x 256
THIN = (
    "BatchMatMul and MatMul take 11 to 20 times as long where a few rows meet a matrix of 64k elements, "
    "4 to 15 times where such a matrix has a few columns as its product, 3 to 4 times where the product has as many "
    "and sums over a few"
)


def _thin(rows, *matrix):
    """Whether NumPy computes the product in a third of the time.

    The matrix may be transposed.
    """
    return 0 < min(rows, *matrix) <= FEW and rows <= ROWS and rows * numel(matrix) <= WORK


def _thin_product(a, matrix, bias=None):
    return _thin(numel(a._shape[:-1]), *matrix._shape)


def _thin_stack(a, columns):
    """Return the same for a stack of products of a with matrices of this many columns."""
    return a._shape[-2] <= FEW and numel(a._shape) * columns <= WORK


def by_rows(a, b):
    """Compute a @ b for a with any number of dimensions and a matrix b."""
    return dot(a, b) if a.ndim == 2 else dot(a.reshape(-1, a.shape[-1]), b) if a.size else matmul(a, b)


def np_over_rows(a, b):
    return (
        dot(a.reshape(-1, a.shape[-1]).T, b.reshape(-1, b.shape[-1]))
        if a.size
        else np.zeros((a.shape[-1], b.shape[-1]), a.dtype)
    )


def np_linear(x, weight, bias):
    out = by_rows(x, weight.T)
    if bias is not None:
        out = np.add(out, bias, out=out) if bias.ndim == 1 else out.reshape(*x.shape[:-1], -1) + bias
    return out


def np_addmm(c, a, b, beta, alpha):
    out = dot(a, b)
    if alpha != 1:
        out *= out.dtype.type(alpha)
    if beta:
        out += c if beta == 1 else c * out.dtype.type(beta)
    return out


numpy("mm", THIN, dot, dtypes="f32 f64", when=_thin_product)
numpy("_mm", THIN, by_rows, dtypes="f32 f64", when=_thin_product)
numpy(
    "_over_rows",
    THIN,
    np_over_rows,
    dtypes="f32 f64",
    when=lambda a, b: _thin(a._shape[-1], numel(a._shape[:-1]), b._shape[-1]),
)
numpy("_linear", THIN, np_linear, dtypes="f32 f64", when=_thin_product)
numpy("addmm", THIN, np_addmm, dtypes="f32 f64", when=lambda c, a, b, beta, alpha: _thin_product(a, b))
numpy("bmm _bmm", THIN, matmul, dtypes="f32 f64", when=lambda a, b: _thin_stack(a, b._shape[-1]))
numpy(
    "_attention_scores",
    THIN,
    np_attention_scores,
    dtypes="f32 f64",
    when=lambda query, key, *how: _thin_stack(query, key._shape[-2]),
)

# ------------------------------------------------------------------------------------------------ without a primitive
numpy("mm _mm bmm _bmm", LACKING, matmul, dtypes="c128")
numpy("_over_rows", LACKING, np_over_rows, dtypes="c128")
numpy("_linear", LACKING, lambda x, w, b: x @ w.T if b is None else x @ w.T + b, dtypes="c128")
numpy("addmm", LACKING, lambda c, a, b, beta, alpha: (beta * c if beta else 0) + alpha * (a @ b), dtypes="c128")
decomposed("baddbmm", "Baddbmm has no CPU kernel")
decomposed("addmv", "Addmv has no CPU kernel")
decomposed("dot", "Dot has no CPU kernel")
decomposed("vdot", "Vdot has no CPU kernel")
decomposed("mv", "Mv has no CPU kernel")
CROSS = "the dimension is a constructor argument"
without("linalg.cross", CROSS)
INIT = "p is a constructor argument"
without("_cdist _pdist", INIT)


@composite("_safe_softmax", "no primitive of that name")
def safe_softmax(x, dim, dtype):
    r = T.softmax(x, dim, dtype=dtype)
    # a NaN in a row makes its first element NaN; only then are rows of -inf searched for
    if x._shape and np.isnan(r.select(dim, 0)._array()).any():
        r = r.masked_fill((x == float("-inf")).all(dim, keepdim=True), 0)
    return r


pyboost_(
    "_cdist",
    "Cdist",
    INIT,
    fn=lambda prim, a, b, p: (
        pyboost.primitive("Cdist", p)(a, b) if a.shape[-1] else np.zeros((*a.shape[:-1], b.shape[-2]), np.float32)
    ),
    dtypes="f32",
)


@numpy("_cdist", "Cdist computes float64 in single precision", dtypes="f64")
def cdist(a, b, p):
    from scipy.spatial import distance

    metric, kw = {0: ("hamming", {}), 1: ("cityblock", {}), 2: ("euclidean", {}), np.inf: ("chebyshev", {})}.get(
        p, ("minkowski", {"p": p})
    )
    if a.ndim == 3:
        return np.stack([cdist(x, y, p) for x, y in zip(a, b)])
    return (
        distance.cdist(a, b, metric, **kw) * (a.shape[1] if p == 0 else 1) if a.shape[1] else np.zeros((len(a), len(b)))
    )


legacy(
    "_pdist",
    "Pdist",
    INIT,
    fn=lambda prim, a, p: (
        pyboost.primitive("Pdist", p, legacy=True)(a)
        if a.shape[-1]
        else np.zeros(a.shape[0] * (a.shape[0] - 1) // 2, alias(a).dtype)
    ),
)
pyboost_("linalg.cross", "Cross", CROSS, fn=lambda prim, a, b, dim: pyboost.primitive("Cross", dim)(a, b))
numpy("linalg.cross", "Cross lacks complex128 and the unsigned types", lambda a, b, dim: np.cross(a, b, axis=dim))
