"""The fused kernels of runtime/ops/fused.py, computed by several operators."""

import math

from .. import dtypes as dt
from ..device import HOST
from ..generator import Generator
from ..ops import fused
from ..ops.loss import nll_loss_nd
from ..ops.norm import formula
from ..ops.pooling import spread
from ..registry import T, decomposition


@decomposition("_C.flash_attention")
def flash_attention(query, key, value, hidden, scale, layout, causal):
    q, k, v = (fused.heads_first(t, layout) for t in (query, key, value))
    groups = q._shape[1] // k._shape[1]
    s = fused.scores(q, fused.repeated(k, groups), hidden, scale, causal)
    highest = s.amax(-1, keepdim=True)
    p = T._safe_softmax(s, -1)
    total = T.exp(s - highest).sum(-1, keepdim=True)
    out = T.matmul(p, fused.repeated(v, groups).to(p.dtype)).to(query.dtype)
    spread = (*highest._shape[:-1], 8)
    return fused.heads_first(out, layout).contiguous(), *(
        t.float().expand(spread).contiguous() for t in (highest, total)
    )


@decomposition("_C.flash_attention_backward")
def flash_attention_backward(g, query, key, value, hidden, out, highest, total, scale, layout, causal):
    return tuple(t.contiguous() for t in fused.attention_backward(g, query, key, value, hidden, scale, layout, causal))


@decomposition("_C.cross_entropy_loss")
def cross_entropy_loss(input, target, weight, reduction, ignore_index):
    log_prob = T.log_softmax(input, 1)
    return nll_loss_nd(log_prob, target, weight, reduction, ignore_index), log_prob


decomposition("_C.cross_entropy_loss_backward")(fused.cross_entropy_backward)


@decomposition("_C.rms_norm_backward")
def rms_norm_backward(g, x, rstd, weight):
    params = range(len(x._shape) - len(weight._shape))
    gx, gw, _ = formula(g, x, None, rstd, weight, range(len(params), len(x._shape)), params, True)
    return gx, gw.reshape(weight._shape)


@decomposition("_C.layer_norm_backward")
def layer_norm_backward(g, x, shape, mean, rstd, weight):
    params = range(len(x._shape) - len(shape))
    gx, gw, gb = formula(g, x, mean, rstd, weight, range(len(params), len(x._shape)), params, True)
    return gx, gw.reshape(weight._shape), gb.reshape(weight._shape)


@decomposition("_C.batch_norm_backward")
def batch_norm_backward(g, x, mean, rstd, weight):
    params = 0, *range(2, len(x._shape))
    mean, rstd, weight = (t.reshape(1, -1, *(1,) * (len(x._shape) - 2)) for t in (mean, rstd, weight))
    return tuple(
        t.reshape(s) for t, s in zip(formula(g, x, mean, rstd, weight, params, params, True), (x._shape, -1, -1))
    )


@decomposition("_C.group_norm_backward")
def group_norm_backward(g, x, mean, rstd, weight):
    (n, c), groups = x._shape[:2], mean._shape[1]
    shape, stats = (n, groups, c // groups, -1), (n, groups, 1, 1)
    g, y, weight = g.reshape(shape), x.reshape(shape), weight.reshape(1, groups, c // groups, 1)
    found = formula(g, y, mean.reshape(stats), rstd.reshape(stats), weight, (2, 3), (0, 3), True)
    return tuple(t.reshape(s) for t, s in zip(found, (x._shape, -1, -1)))


for _dims, _op in fused.AVERAGES.items():
    decomposition(_op.full)(lambda g, image, *windows, _dims=_dims: spread(g, image._shape, *windows))


@decomposition("_C.swiglu")
def swiglu(x, dim):
    a, b = x.chunk(2, dim)
    return a * T.sigmoid(a) * b


decomposition("_C.swiglu_backward")(fused.swiglu_backward)
decomposition("_C.rotary_embedding")(lambda x, cos, sin, interleaved: x * cos + fused.turned(x, interleaved) * sin)


def _kept(mask, shape):
    """Return the elements that a mask of bits keeps, as booleans."""
    bits = mask.unsqueeze(1) >> T.arange(8, dtype=mask.dtype, device=mask.device) & 1
    return bits.flatten()[: math.prod(shape)].reshape(shape).bool()


@decomposition("_C.dropout_drawn")
def dropout_drawn(x, p, seed, offset):
    generator = Generator().manual_seed(seed + offset)
    bits = T.rand((fused.mask_bytes(x.numel()), 8), generator=generator, device=HOST).ge(p).to(x.device, dt.uint8)
    mask = (bits << T.arange(8, dtype=dt.uint8, device=x.device)).sum(1, dtype=dt.uint8)
    return dropout_drawn_backward(x, mask, p), mask


@decomposition("_C.dropout_drawn_backward")
def dropout_drawn_backward(g, mask, p):
    return T.where(_kept(mask, g._shape), g / (1 - p), 0)
