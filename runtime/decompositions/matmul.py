"""Products of matrices and vectors, distances, attention."""

import math

from .. import dtypes as dt
from ..ops.linalg import pinv_forward
from ..ops.matmul import rows
from ..registry import LINALG, F, T, decomposition
from ..tensor import unviewed

decomposition("_linalg_pinv")(pinv_forward)
decomposition("_over_rows")(lambda a, b: T.mm(rows(a).t(), rows(b)))


@decomposition("_attention_scores")
def attention_scores(query, key, mask, scale, causal):
    scores = T.matmul(query if scale == 1 else query * scale, key.transpose(-2, -1))
    if causal:
        scores = scores + T.full(scores._shape[-2:], -math.inf, dtype=scores.dtype, device=scores.device).triu(1)
    if mask is not None and mask.dtype is dt.bool_:
        mask = T.full(mask._shape, -math.inf, dtype=scores.dtype, device=scores.device).masked_fill(mask, 0)
    return scores if mask is None else scores + mask


def plus(product, c, beta, alpha):
    """Return beta * c + alpha * product; c is not read where beta is 0."""
    if product.dtype.category == dt.INT:
        beta, alpha = int(beta), int(alpha)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (c if beta == 1 else c * beta)


for _name, _fn in {
    "baddbmm": lambda c, a, b, beta, alpha: plus(T.bmm(a, b), c, beta, alpha),
    "addmv": lambda c, a, v, beta, alpha: plus(T.mv(a, v), c, beta, alpha),
    "dot": lambda a, b: unviewed(T.mm(a.unsqueeze(0), b.unsqueeze(1)).reshape(())),
    "vdot": lambda a, b: T.dot(T.conj_physical(a) if a.dtype.is_complex else a, b),
    "mv": lambda a, v: unviewed(T.mm(a, v.unsqueeze(1)).squeeze(1)),
}.items():
    decomposition(_name)(_fn)


@decomposition("_safe_softmax")
def masked_softmax(x, dim, dtype):
    r = T.softmax(x, dim, dtype=dtype)
    return r.masked_fill((x == float("-inf")).all(dim, keepdim=True), 0) if x._shape else r


@decomposition("_cdist")
def distances(a, b, p):
    diff = a.unsqueeze(-2) - b.unsqueeze(-3)
    return (
        LINALG.vector_norm(diff, p, -1)
        if diff._shape[-1]
        else T.zeros(diff._shape[:-1], dtype=a.dtype, device=a.device)
    )


@decomposition("_pdist")
def paired(a, p):
    i, j = T.triu_indices(len(a), len(a), 1, device=a.device)
    return T._cdist(a.index_select(0, i).unsqueeze(1), a.index_select(0, j).unsqueeze(1), p).reshape(-1)


@decomposition("_addmm_activation")
def addmm_activation(c, a, b, beta, alpha, use_gelu):
    out = T.addmm(c, a, b, beta=beta, alpha=alpha)
    return F.gelu(out) if use_gelu else T.relu(out)
