"""Table entries of gradients that one primitive computes.

Where the primitive does not take the arguments, the gradient is composed of operators, as on a device without it.
"""

import functools

from ...runtime import dtypes as dt
from ...runtime import pyboost
from ...runtime.context import CONTEXT
from ...runtime.ops.fused import (
    AVERAGES,
    GRADIENTS,
    batch_norm_backward,
    group_norm_backward,
    layer_norm_backward,
    rms_norm_backward,
)
from ...runtime.ops.loss import NAMES
from ...runtime.ops.resample import MODES, PADDINGS
from ...runtime.registry import T
from ..plan import Kernel
from .fused import FUSED, HALVES, followed
from .table import composite, depends, pyboost_, unless

FORMULA = "PyTorch's formula in one call"


# ---------------------------------------------------------------- convolutions
@functools.partial(
    pyboost_, "_C.convolution_backward", "ConvolutionGrad", "gradients that are not asked for are left out"
)
def _convolution(prim, g, x, weight, sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    bias = pyboost.primitive("Empty", target="Ascend")(tuple(sizes), g.dtype, "Ascend") if mask[2] else None
    rest = tuple(stride), tuple(padding), tuple(dilation), transposed, tuple(output_padding), groups
    found = prim(g, x, weight, bias, *rest, tuple(map(int, mask)))
    return [part for part, asked in zip(found, mask) if asked]


unless(
    "_C.convolution_backward",
    lambda g, x, *_: not x._shape[1] or len(x._shape) > 5,
    "no input channels, or more than three dimensions",
)


# ---------------------------------------------------------------- activations
pyboost_("hardtanh_backward", "HardtanhGrad", FORMULA)
pyboost_("softplus_backward", "SoftplusGradExt", FORMULA)
pyboost_("leaky_relu_backward", "LeakyReLUGradExt", FORMULA, lambda prim, g, x, slope: prim(g, x, slope, False))
pyboost_("elu_backward", "EluGradExt", FORMULA, lambda prim, g, x, alpha: prim(g, x, alpha, False))


def _in_one_call(op):
    def gradient(g, x, *args):
        if CONTEXT.grad or followed((g, x)) or g.dtype is not x.dtype or 0 in x._shape:
            return None
        return op.call(g, x, *args)

    return gradient


FUSED.update({name: _in_one_call(op) for name, op in GRADIENTS.items()})
for _dims in (2, 3):
    pyboost_(
        f"_C.grid_sampler_{_dims}d_backward",
        f"GridSampler{_dims}DGrad",
        FORMULA,
        lambda prim, g, x, grid, mode, pad, align: prim.of(MODES[mode], PADDINGS[pad], align, (1, 1))(g, x, grid),
    )
    unless(f"_C.grid_sampler_{_dims}d_backward", lambda g, x, grid, mode, *_: mode == 2, "bicubic interpolation")


# ---------------------------------------------------------------- losses
LOSSES = {
    "mse_loss": ("MSELossGradExt", lambda prim, g, x, t, r: prim(g, x, t, NAMES[r])),
    "smooth_l1_loss": ("SmoothL1LossGrad", lambda prim, g, x, t, r, beta: prim.of(beta, NAMES[r])(x, t, g)),
    "soft_margin_loss": ("SoftMarginLossGrad", lambda prim, g, x, t, r: prim.of(NAMES[r])(x, t, g)),
    "binary_cross_entropy": ("BinaryCrossEntropyGrad", lambda prim, g, x, t, w, r: prim.of(NAMES[r])(x, t, g, w)),
    "binary_cross_entropy_with_logits": (
        "BinaryCrossEntropyWithLogitsBackward",
        lambda prim, g, x, t, w, q, r: prim(g, x, t, w, q, NAMES[r]),
    ),
}
for _name, (_primitive, _call) in LOSSES.items():
    pyboost_(f"_C._nn.{_name}_backward", _primitive, FORMULA, _call)
    unless(
        f"_C._nn.{_name}_backward",
        lambda g, x, target, *_: x._shape != target._shape or not x._shape,
        "the prediction and the target have one shape, with dimensions",
    )


# ---------------------------------------------------------------- pools
@functools.partial(pyboost_, "_C._nn.max_pool2d_with_indices_backward", "MaxPoolGradWithIndices", FORMULA)
def _max_pool(prim, g, x, kernel, stride, padding, dilation, ceil_mode, indices):
    return prim.of(tuple(kernel), tuple(stride), tuple(padding), tuple(dilation), ceil_mode)(x, g, indices)


def _average_pool(dims):
    def gradient(g, size, *windows):
        return AVERAGES[dims].call(g, T.empty(size, dtype=g.dtype, device=g.device), *windows)

    return gradient


for _dims, _op in AVERAGES.items():
    composite(f"_C._nn.avg_pool{_dims}d_backward", f"{_op.prim} reads the shape from a tensor")(_average_pool(_dims))


# ---------------------------------------------------------------- norms
def _over_last(x, mean, weight, stats, params):
    """Whether this is a layer norm or an RMS norm."""
    n, k = len(x._shape), len(weight._shape)
    return bool(k) and list(stats) == list(range(n - k, n)) and list(params) == list(range(n - k))


def _over_batches(x, mean, weight, stats, params):
    """Whether this is a batch norm in training."""
    n = len(x._shape)
    return mean is not None and n > 1 and list(stats) == list(params) == [0, *range(2, n)] and len(weight._shape) == n


def _over_groups(x, mean, weight, stats, params):
    """Whether this is a group norm, of which x is (batch, groups, channels of a group, elements)."""
    groups = mean is not None and len(x._shape) == 4 and (list(stats), list(params)) == ([2, 3], [0, 3])
    return groups and weight._shape == (1, *x._shape[1:3], 1)


def _last(g, x, mean, rstd, weight):
    if mean is not None:
        return layer_norm_backward.call(g, x, weight._shape, mean, rstd, weight)
    gx, gw = rms_norm_backward.call(g, x, rstd.to(dt.float32), weight)
    return gx, gw.to(x.dtype), T.zeros(weight._shape, dtype=x.dtype, device=x.device)  # not used


def _batches(g, x, mean, rstd, weight):
    return batch_norm_backward.call(g, x, *(t.reshape(-1) for t in (mean, rstd, weight)))


def _groups(g, x, mean, rstd, weight):
    n, groups, per, size = x._shape
    g, x = (t.reshape(n, groups * per, size) for t in (g, x))
    return group_norm_backward.call(g, x, mean.reshape(n, groups), rstd.reshape(n, groups), weight.reshape(-1))


def _gradients_by(call):
    """Return the kernel that computes the gradients of a norm by one of the functions above."""

    def backward(g, x, mean, rstd, weight, stats, params, affine):
        gx, gw, gb = call(g, x, mean, rstd, weight)
        shape = tuple(1 if d in params else s for d, s in enumerate(x._shape))
        return gx.reshape(x._shape), gw.reshape(shape), gb.reshape(shape)

    return Kernel("composite", backward, why="a primitive for each kind of norm")


NORMS = {
    fits: _gradients_by(call)
    for fits, call in ((_over_last, _last), (_over_batches, _batches), (_over_groups, _groups))
}


def _norm(g, x, mean, rstd, weight, stats, params, affine):
    """Return the kernel that computes the gradients of a norm, or None where no primitive does."""
    if not affine or weight is None or weight.dtype is not x.dtype or x.dtype not in HALVES or 0 in x._shape:
        return None
    return next((kernel for fits, kernel in NORMS.items() if fits(x, mean, weight, stats, params)), None)


depends("_C.norm_backward", _norm)


# ---------------------------------------------------------------- primitives that nothing is bound to, and why
PARTS = "PyTorch composes the operator of others, whose gradients are bound"
OTHERS = "no operator of PyTorch"
UNBOUND = {
    "AdaptiveAvgPool2DGradExt": "PyTorch takes the mean where the output is one element; else averages are composed",
    "AdaptiveAvgPool3DGradExt": "PyTorch takes the mean where the output is one element; else averages are composed",
    "AdaptiveMaxPool2DGrad": "MindSpore 2.7 has no class of it",
    "Col2ImGrad": "the gradient of fold is unfold, which is bound",
    "ConvolutionStrGrad": "padding by name is resolved before; ConvolutionGrad takes the numbers",
    "GatherDGradV2": "the gradient of gather is scatter_add, which is bound",
    "GeLUGrad": "GeluGradExt takes the approximation too",
    "InplaceStopGradient": OTHERS,
    "KLDivGrad": PARTS,
    "L1LossBackwardExt": PARTS,
    "LogSigmoidGrad": "the gradient is two operators; the buffer that it takes is not kept",
    "MaskedSelectGrad": "the gradient is written behind the mask by operators that are bound",
    "MaxPoolGradWithMask": "MaxPoolGradWithIndices takes PyTorch's indices, this one a mask of bits",
    "NLLLoss2dGrad": "pictures of classes are turned into rows, which NLLLossGrad takes",
    "PReLUGrad": "PyTorch's operator gives the weight's gradient for each element, this one sums it",
    "RepeatInterleaveGrad": PARTS,
    "RotaryPositionEmbeddingGrad": "not tried yet: the gradient is five operators",
    "SeluGrad": "PyTorch's selu is elu with factors, of which EluGradExt takes one",
    "AddLayerNormGrad": OTHERS,
    "BatchNormElemtGrad": "a part of synchronized batch norm, which is composed as on other devices",
    "BatchNormReduceGrad": "a part of synchronized batch norm, which is composed as on other devices",
    **dict.fromkeys(("GmmBackward", "GmmBackwardFusion", "GmmV2Backward", "GmmV2BackwardFusion"), OTHERS),
    **dict.fromkeys(("CellBackwardHook", "MoeTokenPermuteGrad", "MoeTokenUnpermuteGrad"), OTHERS),
    **dict.fromkeys(("MultiScaleDeformableAttnGrad", "SpeedFusionAttentionGrad", "LightningIndexerGrad"), OTHERS),
    **dict.fromkeys(("NsaCompressGrad", "NsaSelectAttentionGrad", "SparseFlashAttentionGrad"), OTHERS),
}
