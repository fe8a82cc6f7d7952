"""Operators that an accelerator runs as one kernel.

Other devices run their decompositions (runtime/decompositions/fused.py). Programs do not call these operators: the
functions composed of several operators ask the device's backend (`fused`) whether it has one kernel for their
arguments, and torch_npu has names for some. Where a gradient is to be differentiated again, it is computed by the
formulas instead of the backward kernel.
"""

from ..context import CONTEXT
from ..declare import op
from .common import T, dt, numel
from .loss import NAMES

NOT = dict(out=False, method=False)


# ------------------------------------------------------------------------------------------------ attention
def heads_first(t, layout):
    """Convert a tensor from `layout`, BNSD or BSND, to BNSD (batch, heads, sequence, width), or back."""
    return t.transpose(1, 2) if layout == "BSND" else t


def repeated(t, n):
    """Repeat each head of keys or values for the n query heads that share it."""
    return t if n == 1 else t.repeat_interleave(n, 1)


def scores(q, k, hidden, scale, causal):
    """Return scaled query-key products, -inf where a query must not see a key. Half types become float32."""
    s = T.matmul(q.to(dt.OPMATH.get(q.dtype, q.dtype)) * scale, k.to(dt.OPMATH.get(k.dtype, k.dtype)).mT)
    if causal:
        hidden = T.ones(s._shape[-2:], dtype=dt.bool_, device=s.device).triu(1)
    return s if hidden is None else s.masked_fill(hidden, -float("inf"))


def attention_backward(g, query, key, value, hidden, scale, layout, causal):
    """Return the gradients of query, key and value."""
    q, k, v, g = (heads_first(t, layout) for t in (query, key, value, g))
    groups, work = q._shape[1] // k._shape[1], dt.OPMATH.get(q.dtype, q.dtype)
    q, full_k, full_v, g = (t.to(work) for t in (q, repeated(k, groups), repeated(v, groups), g))
    p = T._safe_softmax(scores(q, full_k, hidden, scale, causal), -1)
    dp = T.matmul(g, full_v.mT)
    ds = p * (dp - (dp * p).sum(-1, keepdim=True)) * scale
    grads = T.matmul(ds, full_k), T.matmul(ds.mT, q), T.matmul(p.mT, g)
    summed = (t if groups == 1 or i == 0 else t.unflatten(1, (-1, groups)).sum(2) for i, t in enumerate(grads))
    return tuple(heads_first(t, layout).to(query.dtype) for t in summed)


def _flash_meta(query, key, value, hidden, scale, layout, causal):
    b, n, s = (query._shape[i] for i in ((0, 2, 1) if layout == "BSND" else (0, 1, 2)))
    return [(query._shape, query.dtype), ((b, n, s, 8), dt.float32), ((b, n, s, 8), dt.float32)]


def _flash_grads(g0, query, key, value, hidden, scale, layout, causal, out0, out1, out2):
    if CONTEXT.grad:
        return attention_backward(g0, query, key, value, hidden, scale, layout, causal)
    return flash_attention_backward.call(g0, query, key, value, hidden, out0, out1, out2, scale, layout, causal)


_ATTENTION = "Tensor query, Tensor key, Tensor value, Tensor? hidden"
_HOW = "float scale, str layout, bool causal"
flash_attention = op(
    f"_C.flash_attention({_ATTENTION}, {_HOW}) -> (Tensor, Tensor, Tensor)",
    "FlashAttentionScore",
    meta=_flash_meta,
    derivative={("query", "key", "value"): _flash_grads},
    non_differentiable=(1, 2),
    **NOT,
)
flash_attention_backward = op(
    f"_C.flash_attention_backward(Tensor g, {_ATTENTION}, Tensor out, Tensor highest, Tensor total, "
    f"{_HOW}) -> (Tensor, Tensor, Tensor)",
    "FlashAttentionScoreGrad",
    meta=lambda g, query, key, value, *_: [(t._shape, t.dtype) for t in (query, key, value)],
    **NOT,
)


# ------------------------------------------------------------------------------------------------ cross entropy
def cross_entropy_backward(g, log_prob, target, weight, reduction, ignore_index):
    """Return the gradient of the scores, given their log_softmax."""
    seen = target != ignore_index
    at = T.where(seen, target, 0)
    w = seen.to(log_prob.dtype) if weight is None else T.where(seen, weight.to(log_prob.dtype)[at], 0)
    g = g * w if reduction != 1 else g * w / w.sum()
    return T.exp(log_prob) * g.unsqueeze(1) - T.zeros_like(log_prob).scatter(1, at.unsqueeze(1), g.unsqueeze(1))


def _cross_entropy_meta(input, target, weight, reduction, ignore_index):
    return [(target._shape if reduction == 0 else (), input.dtype), (input._shape, input.dtype)]


def _cross_entropy_grad(g0, input, target, weight, reduction, ignore_index, out1):
    if CONTEXT.grad:
        return cross_entropy_backward(g0, T.log_softmax(input, 1), target, weight, reduction, ignore_index)
    return cross_entropy_loss_backward.call(g0, out1, target, weight, reduction, ignore_index)


_LOSS = "Tensor target, Tensor? weight, int reduction, int ignore_index"
cross_entropy_loss = op(
    f"_C.cross_entropy_loss(Tensor input, {_LOSS}) -> (Tensor, Tensor)",
    "CrossEntropyLoss",
    meta=_cross_entropy_meta,
    call=lambda p, input, target, weight, reduction, ignore: p(input, target, weight, NAMES[reduction], ignore)[:2],
    derivative={"input": _cross_entropy_grad},
    non_differentiable=(1,),
    **NOT,
)
cross_entropy_loss_backward = op(
    f"_C.cross_entropy_loss_backward(Tensor g, Tensor log_prob, {_LOSS}) -> Tensor",
    "CrossEntropyLossGrad",
    meta=lambda g, log_prob, *_: (log_prob._shape, log_prob.dtype),
    call=lambda p, g, log_prob, target, weight, reduction, ignore: p(
        g, log_prob, target, weight, None, None, NAMES[reduction], ignore
    ),
    **NOT,
)


# ------------------------------------------------------------------------------------------------ gradients of norms
rms_norm_backward = op(
    "_C.rms_norm_backward(Tensor g, Tensor x, Tensor rstd, Tensor weight) -> (Tensor, Tensor)",
    "RmsNormGrad",
    meta=lambda g, x, rstd, weight: [(x._shape, x.dtype), (weight._shape, dt.float32)],
    **NOT,
)
layer_norm_backward = op(
    "_C.layer_norm_backward(Tensor g, Tensor x, int[] shape, Tensor mean, Tensor rstd, Tensor weight) -> (Tensor, "
    "Tensor, Tensor)",
    "LayerNormGradExt",
    meta=lambda g, x, shape, mean, rstd, weight: [
        (x._shape, x.dtype),
        (weight._shape, weight.dtype),
        (weight._shape, weight.dtype),
    ],
    call=lambda p, g, x, shape, mean, rstd, weight: p(g, x, tuple(shape), mean, rstd, weight, weight, (1, 1, 1)),
    **NOT,
)
_channels = lambda g, x, mean, rstd, weight, *_: [
    (x._shape, x.dtype),
    ((x._shape[1],), weight.dtype),
    ((x._shape[1],), weight.dtype),
]
batch_norm_backward = op(
    "_C.batch_norm_backward(Tensor g, Tensor x, Tensor mean, Tensor rstd, Tensor weight) -> (Tensor, Tensor, Tensor)",
    "BatchNormGradExt",
    meta=_channels,
    # MindSpore's class has the mask before training and eps, its kernel behind them; eps is used in evaluation alone
    call=lambda p, g, x, mean, rstd, weight: p.of(1e-5, (1, 1, 1))(g, x, weight, None, None, mean, rstd, True),
    **NOT,
)
group_norm_backward = op(
    "_C.group_norm_backward(Tensor g, Tensor x, Tensor mean, Tensor rstd, Tensor weight) -> (Tensor, Tensor, Tensor)",
    "GroupNormGrad",
    meta=_channels,
    call=lambda p, g, x, mean, rstd, weight: p(g, x, mean, rstd, weight, mean.shape[1], True, True, True),
    **NOT,
)


# ------------------------------------------------------------------------------------------------ of activations
def _gradient(name, primitive, extra="", call=None):
    schema = f"_C.{name}(Tensor grad_output, Tensor self{extra}) -> Tensor"
    return op(schema, primitive, meta=lambda g, self, *_: (self._shape, self.dtype), call=call, **NOT)


_with_number = lambda p, g, x, number: p.of(number)(g, x)
# PyTorch's name of a gradient that is composed of operators elsewhere: the operator that one kernel computes
GRADIENTS = {
    f"aten.{o.name}": o
    for o in (
        _gradient("glu_backward", "GluGrad", ", int dim", _with_number),
        _gradient("hardshrink_backward", "HShrinkGrad", ", Scalar lambd", _with_number),
        _gradient("softshrink_backward", "SoftShrinkGrad", ", Scalar lambd", _with_number),
        _gradient("hardsigmoid_backward", "HSigmoidGrad"),
        _gradient("mish_backward", "MishGradExt"),
        _gradient("threshold_backward", "ThresholdGrad", ", Scalar threshold"),
    )
}


# ------------------------------------------------------------------------------------------------ gradients of pools
_IMAGE = (
    "Tensor g, Tensor image, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, "
    "int? divisor_override"
)
AVERAGES = {
    dims: op(
        f"_C.avg_pool{dims}d_backward({_IMAGE}) -> Tensor",  # only the shape of image counts
        primitive,
        meta=lambda g, image, *_: (image._shape, g.dtype),
        call=lambda p, g, image, kernel, stride, padding, *rest: p(
            g, image, tuple(kernel), tuple(stride), tuple(padding), *rest
        ),
        **NOT,
    )
    for dims, primitive in ((2, "AvgPool2DGrad"), (3, "AvgPool3DGradExt"))
}


# ------------------------------------------------------------------------------------------------ swiglu, rotary
def _half_shape(self, dim):
    dim %= len(self._shape)
    if self._shape[dim] % 2:
        raise RuntimeError(f"swiglu: dimension {dim} of size {self._shape[dim]} has no halves")
    return (*self._shape[:dim], self._shape[dim] // 2, *self._shape[dim + 1 :]), self.dtype


def swiglu_backward(g, self, dim):
    a, b = self.chunk(2, dim)
    s = T.sigmoid(a)
    return T.cat([g * b * s * (1 + a * (1 - s)), g * a * s], dim)


def _swiglu_grad(g, self, dim):
    return swiglu_backward(g, self, dim) if CONTEXT.grad else _swiglu_backward.call(g, self, dim)


op("_C.swiglu(Tensor self, int dim) -> Tensor", "Swiglu", meta=_half_shape, derivative={"self": _swiglu_grad}, **NOT)
_swiglu_backward = op(
    "_C.swiglu_backward(Tensor g, Tensor self, int dim) -> Tensor",
    "SwigluGrad",
    meta=lambda g, self, dim: (self._shape, self.dtype),
    **NOT,
)


def turned(x, interleaved):
    """Rotate the halves of the last dimension, or its adjacent pairs if interleaved, by 90 degrees."""
    if interleaved:
        return T.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    a, b = x.chunk(2, -1)
    return T.cat((-b, a), -1)


def _rotary_grads(g, self, cos, sin, interleaved, needs):
    def fitted(t, like):
        return (
            t.sum([d for d, n in enumerate(like._shape) if n != t._shape[d]], keepdim=True)
            if t._shape != like._shape
            else t
        )

    return (
        g * cos - turned(g * sin, interleaved) if needs[0] else None,
        fitted(g * self, cos) if needs[1] else None,
        fitted(g * turned(self, interleaved), sin) if needs[2] else None,
    )


op(
    "_C.rotary_embedding(Tensor self, Tensor cos, Tensor sin, bool interleaved) -> Tensor",
    "RotaryPositionEmbedding",
    meta=lambda self, cos, sin, interleaved: (self._shape, self.dtype),
    call=lambda p, x, cos, sin, interleaved: p(x, cos, sin, int(interleaved)),
    derivative={("self", "cos", "sin"): _rotary_grads},
    **NOT,
)


# ------------------------------------------------------------------------------------------------ dropout
def mask_bytes(n):
    """Return the length of a mask of one bit for each of n elements, in whole blocks of 128 bits."""
    return -(-n // 128) * 16


dropout_drawn = op(
    "_C.dropout_drawn(Tensor self, float p, int seed, int offset) -> (Tensor, Tensor)",
    "DropoutExt",
    meta=lambda self, p, seed, offset: [(self._shape, self.dtype), ((mask_bytes(numel(self._shape)),), dt.uint8)],
    derivative={"self": lambda g0, p, out1: dropout_drawn_backward.call(g0, out1, p)},
    non_differentiable=(1,),
    **NOT,
)
dropout_drawn_backward = op(
    "_C.dropout_drawn_backward(Tensor g, Tensor mask, float p) -> Tensor",
    "DropoutGradExt",
    meta=lambda g, mask, p: (g._shape, g.dtype),
    derivative={"g": lambda g, mask, p: dropout_drawn_backward.call(g, mask, p)},
    non_differentiable=(1,),
    **NOT,
)
