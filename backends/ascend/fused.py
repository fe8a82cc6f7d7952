"""Single aclnn calls for functions that other devices compute by several operators.

A function returns None for arguments that its call does not support. Cases where CANN's documentation differs from
PyTorch's semantics or is unclear are left to the operators: additive masks (the order of mask and scale differs between
versions) and dropout (its random numbers are not PyTorch's).
"""

import functools

from ...runtime import dtypes as dt
from ...runtime import pyboost
from ...runtime.call.dispatch import intercepted
from ...runtime.context import PROCESS
from ...runtime.ops.fused import cross_entropy_loss, flash_attention
from ...runtime.registry import T
from . import chips, devices
from .kernels import filled
from .table import pyboost_

FUSED: dict = {}  # full name of a function composed of operators: the function that is called instead
HALVES = (dt.float16, dt.bfloat16, dt.float32)
WIDEST, CAUSAL = 512, 2048  # the largest head size; the size of the triangle that CANN takes as a causal mask


def fused(name, primitive):
    """Decorate the function that is called instead of `name`, by a primitive that the chip must have."""

    def deco(fn):
        FUSED[name] = lambda *args: None if chips.lacks(primitive) else fn(*args)
        return fn

    return deco


def followed(tensors):
    """Whether calls below autograd are intercepted, or forward-mode differentiation is active.

    In these cases the function must run as separate operators.
    """
    return PROCESS.duals or PROCESS.interceptors and intercepted(tensors)


# ---------------------------------------------------------------- attention
@functools.lru_cache(2)
def _triangle(process):
    return T.ones((CAUSAL, CAUSAL), dtype=dt.bool_, device="npu").triu(1)


def _attends(query, key, value, mask, dropout_p, is_causal, gqa):
    """Whether the attention kernel takes these arguments.

    It takes four dimensions, one head size, and a boolean mask or none, without dropout, and only where `followed` is
    false.
    """
    if (
        dropout_p
        or followed((query, key, value))
        or query.dtype not in HALVES
        or not query.dtype is key.dtype is value.dtype
    ):
        return False
    if any(len(t._shape) != 4 or 0 in t._shape or t.device != query.device for t in (query, key, value)):
        return False
    (b, n, _, d), (kb, kn, _, kd) = query._shape, key._shape
    heads = n % kn == 0 if gqa else n == kn
    # CANN takes (b, n, s, s), (b, 1, s, s) and (1, 1, s, s)
    masked = (
        mask is None
        or mask.dtype is dt.bool_
        and len(mask._shape) == 4
        and mask.device == query.device
        and mask._shape[:2] in ((b, n), (b, 1), (1, 1))
    )
    return b == kb and heads and d == kd <= WIDEST and key._shape == value._shape and masked


def _hidden(mask, query, key):
    """Return the mask in CANN's format: true hides a key, and the shape is expanded to all queries and keys."""
    if mask is None:
        return None
    return T.logical_not(mask).expand((*mask._shape[:2], query._shape[2], key._shape[2])).contiguous()


@fused("nn.functional.scaled_dot_product_attention", "FlashAttentionScore")
def _attention(query, key, value, mask, dropout_p, is_causal, scale, gqa):
    if not _attends(query, key, value, mask, dropout_p, is_causal, gqa):
        return None
    scale = query._shape[-1] ** -0.5 if scale is None else scale
    rows = query.transpose(1, 2)
    if rows.is_contiguous():  # the layout that projections produce; the result gets the same layout
        out = flash_attention.call(
            rows, key.transpose(1, 2), value.transpose(1, 2), _hidden(mask, query, key), scale, "BSND", is_causal
        )[0]
        return out.transpose(1, 2)
    return flash_attention.call(query, key, value, _hidden(mask, query, key), scale, "BNSD", is_causal)[0]


def _shared(hidden, layout, causal, query):
    """Return the mask, number of heads and sparse mode, which both attention primitives take."""
    return (
        (_triangle(0)._mstensor() if causal else hidden),
        query.shape[2 if layout == "BSND" else 1],
        2 if causal else 0,
    )


@functools.partial(pyboost_, "_C.flash_attention", "FlashAttentionScore", "attributes come first")
def _flash(prim, query, key, value, hidden, scale, layout, causal):
    mask, heads, sparse = _shared(hidden, layout, causal, query)
    top, total, _, out = prim.of(heads, 1.0, scale, 2147483647, 2147483647, 0, layout, sparse)(
        query, key, value, None, None, None, mask
    )
    return out, top, total


@functools.partial(pyboost_, "_C.flash_attention_backward", "FlashAttentionScoreGrad", "attributes come first")
def _flash_backward(prim, g, query, key, value, hidden, out, top, total, scale, layout, causal):
    mask, heads, sparse = _shared(hidden, layout, causal, query)
    prim = prim.of(heads, 1.0, scale, 2147483647, 2147483647, 0, layout, sparse)
    return prim(query, key, value, g, None, None, None, mask, top, total, None, out)[:3]


# ---------------------------------------------------------------- losses
@fused("nn.functional.cross_entropy", "CrossEntropyLoss")
def _cross_entropy(input, target, weight, reduction, ignore_index, label_smoothing):
    shapes = len(input._shape) == 2 and 0 not in input._shape and target._shape == input._shape[:1]
    if not shapes or label_smoothing or followed((input,)) or target.device != input.device:
        return None
    if input.dtype not in HALVES or target.dtype is not dt.int64:
        return None
    if weight is not None and (
        weight.dtype is not dt.float32 or weight.device != input.device or weight._requires_grad
    ):
        return None
    return cross_entropy_loss.call(input, target, weight, reduction, ignore_index)[0]


# ---------------------------------------------------------------- scaled gradients
def _unscale(grads, found_inf, inv_scale):
    """Refuse to look for infinities on a chip that does not give any; return None for the operators on all others."""
    if devices.saturates():
        raise NotImplementedError(
            f"GradScaler on device npu: {devices.chip()} gives the largest number in place of infinity, and 0 in place "
            "of NaN, so that gradients which overflowed cannot be seen; train in float32, or with a fixed scale"
        )


FUSED["_amp_foreach_non_finite_check_and_unscale_"] = _unscale


# ---------------------------------------------------------------- optimizers
def adam(prim, dst, grad, average, square, weight1, beta2, weight2, root, eps, step_size, keep, step, lr):
    """Call aclnnApplyAdamWV2, which computes the bias correction from the step number.

    Without amsgrad the fourth tensor is not read.
    """
    decay = (1 - keep) / lr if lr else 0.0
    count = filled((1,), step, pyboost.ms_dtype(dt.int64))  # made on the device, once for all parameters of a step
    prim(dst, average, square, square, grad, count, lr, 1 - weight1, beta2, decay, eps, False, False)


UPDATES = {"_adam_": ("AdamW", adam)}
