"""Normalisations: one operator each.

The derivative is one fused operator unless a further graph is recorded; then it is composed of dispatched operators.
"""

from ..autograd import forward
from ..call.autocast import FLOAT32_ON_ACCELERATORS
from ..call.out import SAME_SCALAR_TYPE
from ..classes import dispatching
from ..context import CONTEXT, PROCESS
from ..declare import composite, op
from ..device import channels_last, channels_last_3d, contiguous_format
from ..registry import ATEN
from ..tensor import alias, unversioned
from .common import F, T, dt, numel, only, refuse_gradients
from .memory import in_format, keep_format, suggested_format


def _share_dtype(x, *params):
    """Check that all tensors have one dtype, or that a half-precision input comes with float32 parameters."""
    for p in params:
        if p is not None and p.dtype is not x.dtype and not (p.dtype is dt.float32 and x.dtype in dt.OPMATH):
            raise RuntimeError(
                "mixed dtype (CPU): "
                + (
                    "all inputs must share same datatype."
                    if p.dtype is dt.float32
                    else "expect parameter to have scalar type of Float"
                )
            )


def _half_of(x, weight):
    return weight.dtype if weight is not None else x.dtype


def _shaped(p, shape):
    return None if p is None else p.reshape(shape)


# ------------------------------------------------------------------------------------------------ the shared derivative
_fused = op(
    "_C.norm_backward(Tensor g, Tensor x, Tensor? mean, Tensor rstd, Tensor? weight, int[] stats, int[] params, "
    "bool affine) -> Tensor[]",
    meta=lambda g, x, mean, rstd, weight, stats, params, affine: (
        [in_format(x._shape, x.dtype, x)]
        + [(tuple(1 if d in params else s for d, s in enumerate(x._shape)), x.dtype)] * 2 * affine
    ),
)


def norm_backward(gs, x, mean, rstd, weight, stats, params, needs):
    """Return the gradients (x, weight, bias) of (x - mean) * rstd * weight + bias.

    mean and rstd are computed over the dimensions `stats`; if it is empty they are constants, and mean is None for RMS
    norm. weight and bias vary over the dimensions that are not in `params`. All of them are shaped to broadcast. `gs`
    holds the gradient of the result and, where mean and rstd were used, theirs.
    """
    g, gm, gr = (*gs, None, None)[:3]
    n = 1
    for d in stats:
        n *= x._shape[d]
    if not CONTEXT.grad and gm is None and gr is None and g is not None:
        out = _fused.call(g, x, mean, rstd, weight, tuple(stats), tuple(params), needs[1] or needs[2])
        return (*out, None, None)[:3]
    gx = gw = gb = None
    if g is not None:
        gx, gw, gb = formula(g, x, mean, rstd, weight, stats, params, True)
    for extra in (
        None if gm is None else gm / n,
        None if gr is None else gr * (-1 / n) * rstd**2 * normal(x, mean, rstd),
    ):
        if extra is not None:
            gx = extra.expand(x._shape) if gx is None else gx + extra
    return gx, gw, gb


def _stats(x, dims, eps, mean, rstd):
    """Return mean and rstd: the saved ones, or recomputed from x when the derivative is to be differentiated again."""
    if not CONTEXT.grad:
        return mean, rstd
    var, mean = T.var_mean(x.to(rstd.dtype), tuple(dims), correction=0, keepdim=True)
    return mean, (var + eps).rsqrt()


def normal(x, mean, rstd):
    return (x if mean is None else x - mean) * rstd


def formula(g, x, mean, rstd, weight, stats, params, affine):
    """Return the gradients, computed by dispatched operators."""
    xh, d = normal(x, mean, rstd), g if weight is None else g * weight
    gx = d * rstd
    if stats:
        gx = gx - xh * (rstd * (d * xh).mean(stats, True))
        gx = gx if mean is None else gx - rstd * d.mean(stats, True)
    if not params:  # each element has its own weight
        return (gx, g * xh, g)[: 1 + 2 * affine]
    return (gx, (g * xh).sum(params, True), g.sum(params, True))[: 1 + 2 * affine]


# ------------------------------------------------------------------------------------------------ layer and rms
def _check_layer(x, normalized_shape, weight, bias):
    k = len(normalized_shape)
    if k < 1:
        raise RuntimeError(
            f"Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            f"normalized_shape = {list(normalized_shape)}"
        )
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and p._shape != tuple(normalized_shape):
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(p._shape)} "
                f"and normalized_shape = {list(normalized_shape)}"
            )
    if tuple(x._shape[-k:]) != tuple(normalized_shape) or len(x._shape) < k:
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, "
            f"{', '.join(map(str, normalized_shape))}], but got input of size{list(x._shape)}"
        )
    return (*x._shape[:-k], *(1,) * k)


def _layer_meta(x, normalized_shape, weight, bias, eps):
    stat = _check_layer(x, normalized_shape, weight, bias)
    _share_dtype(x, weight, bias)
    d = _half_of(x, weight)
    return [(x._shape, x.dtype), (stat, d), (stat, d)]


_LAYER_BACKWARD = (
    "Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, "
    "Any output_mask"
)


@composite(f"aten.native_layer_norm_backward({_LAYER_BACKWARD}) -> (Tensor, Tensor, Tensor)")
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    """Return the gradients of input, weight and bias, with None for those that output_mask excludes."""
    n, k = len(input._shape), len(normalized_shape)
    gx, gw, gb = norm_backward((grad_out,), input, mean, rstd, weight, range(n - k, n), range(n - k), output_mask)
    return _masked((gx, _shaped(gw, normalized_shape), _shaped(gb, normalized_shape)), output_mask)


def _backward(parts, g, *args):
    """Call a backward operator by its name.

    Tensor classes with __torch_dispatch__ have rules for the operators that it is composed of, so for these the
    composition `parts` is called directly unless a mode is active.
    """
    if g.__class__ in dispatching and not CONTEXT.interceptors:
        return parts(g, *args)
    return getattr(ATEN, parts.__name__)(g, *args)


def _masked(gradients, output_mask):
    return tuple(g if wanted else None for g, wanted in zip(gradients, output_mask))


def _layer_backward(g, input, normalized_shape, weight, bias, eps, out1, out2, needs):
    n, k = len(input._shape), len(normalized_shape)
    mean, rstd = _stats(input, range(n - k, n), eps, out1, out2)
    return _backward(native_layer_norm_backward, g, input, normalized_shape, mean, rstd, weight, bias, list(needs))


_NATIVE_LAYER_NORM = dict(
    meta=_layer_meta, derivative={("input", "weight", "bias"): _layer_backward}, out=False, non_differentiable=(1, 2)
)
native_layer_norm = op(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, "
    "Tensor, Tensor)",
    "LayerNormExt",
    **_NATIVE_LAYER_NORM,
)
_LAYER = "Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05"


@composite(f"layer_norm({_LAYER}, bool cudnn_enable=True) -> Tensor", out=False, autocast=FLOAT32_ON_ACCELERATORS)
@composite(f"nn.functional.layer_norm({_LAYER}) -> Tensor", out=False, autocast=FLOAT32_ON_ACCELERATORS)
def layer_norm(input, normalized_shape, weight, bias, eps, cudnn_enable=True):
    return native_layer_norm.call(input, normalized_shape, weight, bias, eps)[0]


def _rms_meta(x, normalized_shape, weight, eps):
    return [(x._shape, x.dtype), (_check_layer(x, normalized_shape, weight, None), dt.OPMATH.get(x.dtype, x.dtype))]


def _rms_backward(gs, input, normalized_shape, weight, out1, needs):
    n, k = len(input._shape), len(normalized_shape)
    gx, gw, _ = norm_backward(
        (gs[0], None, gs[1] if len(gs) > 1 else None),
        input,
        None,
        out1,
        weight,
        range(n - k, n),
        range(n - k),
        (*needs, False),
    )
    return gx, _shaped(gw, normalized_shape)


_FUSED_RMS_NORM = dict(
    meta=_rms_meta,
    call=lambda p, x, shape, weight, eps: p.of(eps)(x, weight),
    derivative={("input", "weight"): _rms_backward},
    node="MulBackward0",
)
_rms = op(
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
    "RmsNorm",
    out=False,
    **_FUSED_RMS_NORM,
)


@composite(
    "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    out=False,
    alias=("nn.functional.rms_norm",),
)
def rms_norm(input, normalized_shape, weight, eps):
    only("rms_norm", input, dt.FLOAT, dt.COMPLEX)
    if eps is None:
        eps = dt.finfo(dt.OPMATH.get(input.dtype, input.dtype)).eps
    if input.dtype.is_complex:
        # the mean of squares, not of absolute squares, so it is complex
        _check_layer(input, normalized_shape, weight, None)
        out = input * ((input * input).mean(tuple(range(-len(normalized_shape), 0)), True) + eps).rsqrt()
        return out if weight is None else out * weight
    if weight is not None and weight._requires_grad and not input._requires_grad and input.dtype not in dt.OPMATH:
        # the weight's gradient reads the normalized input alone, as PyTorch's parts do: the input may be changed
        _check_layer(input, normalized_shape, weight, None)
        return _rms.call(input, normalized_shape, None, eps)[0] * weight
    return _rms.call(input, normalized_shape, weight, eps)[0]


# ------------------------------------------------------------------------------------------------ groups
def _group_meta(x, weight, bias, N, C, HxW, group, eps):
    if C % group:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(x._shape)} and num_groups={group}"
        )
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and (len(p._shape) != 1 or p._shape[0] != C):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list((p if weight is None else weight)._shape)} and input of shape "
                f"{list(x._shape)}"  # as in PyTorch, the shape of the weight for both
            )
    if weight is not None and bias is not None and bias.dtype is not weight.dtype:
        raise RuntimeError(
            f"expected scalar type {dt.scalar_name(weight.dtype)} but found {dt.scalar_name(bias.dtype)}"
        )
    _share_dtype(x, weight, bias)
    d = _half_of(x, weight)
    return [in_format(x._shape, x.dtype, x), ((N, group), d), ((N, group), d)]


_GROUP_BACKWARD = (
    "Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group, "
    "Any output_mask"
)


@composite(f"aten.native_group_norm_backward({_GROUP_BACKWARD}) -> (Tensor, Tensor, Tensor)")
def native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask):
    """Return the gradients of input, weight and bias, with None for those that output_mask excludes."""
    return _masked(_group_gradients((grad_out,), input, mean, rstd, weight, N, C, HxW, group, output_mask), output_mask)


def _group_backward(gs, input, weight, N, C, HxW, group, out1, out2, needs):
    if gs[0] is not None and not any(g is not None for g in gs[1:]):
        return _backward(native_group_norm_backward, gs[0], input, out1, out2, weight, N, C, HxW, group, list(needs))
    return _group_gradients(gs, input, out1, out2, weight, N, C, HxW, group, needs)


def _group_gradients(gs, input, out1, out2, weight, N, C, HxW, group, needs):
    shape, per = (N, group, C // group, HxW), (1, group, C // group, 1)
    wide = [None if g is None else g.reshape(shape if k == 0 else (N, group, 1, 1)) for k, g in enumerate(gs)]
    gx, gw, gb = norm_backward(
        wide,
        input.reshape(shape),
        out1.reshape(N, group, 1, 1),
        out2.reshape(N, group, 1, 1),
        _shaped(weight, per),
        (2, 3),
        (0, 3),
        needs,
    )
    return keep_format(gx.reshape(input._shape), input), _shaped(gw, (C,)), _shaped(gb, (C,))


_native_group_norm_call = lambda p, x, weight, bias, N, C, HxW, group, eps: p(x, group, weight, bias, eps)
_NATIVE_GROUP_NORM = dict(
    meta=_group_meta, call=_native_group_norm_call, derivative={("input", "weight", "bias"): _group_backward}, out=False
)
native_group_norm = op(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    "GroupNorm",
    **_NATIVE_GROUP_NORM,
)
_GROUP = "Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05"


def _group_norm(input, num_groups, weight, bias, eps):
    if len(input._shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(input._shape)}")
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    n, c = input._shape[:2]
    x = input.contiguous() if suggested_format(input) is None else input
    return native_group_norm.call(x, weight, bias, n, c, numel(input._shape[2:]), num_groups, eps)[0]


@composite(f"group_norm({_GROUP}, bool cudnn_enabled=True) -> Tensor", out=False, autocast=FLOAT32_ON_ACCELERATORS)
def group_norm(input, num_groups, weight, bias, eps, cudnn_enabled):
    return _group_norm(input, num_groups, weight, bias, eps)


@composite(f"nn.functional.group_norm({_GROUP}) -> Tensor", out=False, autocast=FLOAT32_ON_ACCELERATORS)
def f_group_norm(input, num_groups, weight, bias, eps):
    if len(input._shape) >= 2 and num_groups > 0:
        size = (numel(input._shape[:2]) // num_groups, num_groups, *input._shape[2:])
        if size[0] * numel(size[2:]) == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {list(input._shape)}"
            )
    return _group_norm(input, num_groups, weight, bias, eps)


# ------------------------------------------------------------------------------------------------ batches
def _batch_meta(x, weight, bias, running_mean, running_var, training, momentum, eps):
    c = x._shape[1]
    for name, p in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if p is not None and p._shape != (c,):
            raise RuntimeError(f"{name} should contain {c} elements not {numel(p._shape)}")
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    _share_dtype(x, weight, bias, running_mean, running_var)
    stat = (c,) if training else (0,)
    d = dt.OPMATH.get(x.dtype, x.dtype) if _half_of(x, weight) is not x.dtype else x.dtype
    return [in_format(x._shape, x.dtype, x), (stat, d), (stat, d)]


_BATCH_BACKWARD = (
    "Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, "
    "Tensor? save_invstd, bool train, float eps,"
    " Any output_mask"
)


@composite(f"aten.native_batch_norm_backward({_BATCH_BACKWARD}) -> (Tensor, Tensor, Tensor)")
def native_batch_norm_backward(
    grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask
):
    """Return the gradients of input, weight and bias, with None for those that output_mask excludes."""
    n = len(input._shape)
    per, dims = (1, -1, *(1,) * (n - 2)), (0, *range(2, n))
    mean, rstd = (save_mean, save_invstd) if train else (running_mean, (running_var + eps).rsqrt())
    gx, gw, gb = norm_backward(
        (grad_out,),
        input,
        mean.reshape(per),
        rstd.reshape(per),
        _shaped(weight, per),
        dims if train else (),
        dims,
        output_mask,
    )
    return _masked((gx, _shaped(gw, (-1,)), _shaped(gb, (-1,))), output_mask)


def _batch_backward(g, input, weight, running_mean, running_var, training, eps, out1, out2, needs):
    n = len(input._shape)
    mean, rstd = _stats(input, (0, *range(2, n)), eps, out1, out2) if training else (out1, out2)
    return _backward(
        native_batch_norm_backward, g, input, weight, running_mean, running_var, mean, rstd, training, eps, list(needs)
    )


_NATIVE_BATCH_NORM = dict(
    meta=_batch_meta,
    derivative={("input", "weight", "bias"): _batch_backward},
    out=False,
    empty_ok=True,
    non_differentiable=(1, 2),
)
_BATCH = (
    "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps"
)
_LEGIT = _BATCH.replace("Tensor? running", "Tensor running")
_native_batch_norm = op(
    f"_C.native_batch_norm({_BATCH}) -> (Tensor, Tensor, Tensor)", "BatchNormExt", **_NATIVE_BATCH_NORM
)


@composite(f"_native_batch_norm_legit({_LEGIT}) -> (Tensor, Tensor, Tensor)", out=False)
@composite(f"native_batch_norm({_BATCH}) -> (Tensor, Tensor, Tensor)", out=SAME_SCALAR_TYPE)
def _native(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """Run batch normalisation; its kernel updates the running statistics in place."""
    if len(input._shape) < 2:
        if input._shape == (0,):
            return input.clone(), input.detach(), input.detach()
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(input._shape)}")
    refuse_gradients("native_batch_norm", running_mean=running_mean, running_var=running_var)
    stats = [running_mean, running_var]
    if PROCESS.duals and forward.has_tangent(input) and forward.has_tangent(*stats):
        raise RuntimeError(
            "batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined"
        )
    if (
        training
        and running_mean is not None
        and (running_mean.dtype in dt.OPMATH or running_mean._stride or running_var._stride)
    ):
        stats = [s.detach().to(dt.OPMATH.get(s.dtype, s.dtype)).contiguous() for s in stats]
        copied = True
    elif training and running_mean is not None:
        # The kernel overwrites the running statistics and the derivative does not read them, so their version counter
        # must not change.
        stats, copied = [s.data if s.__class__ in dispatching else unversioned(alias(s)) for s in stats], False
    out = _native_batch_norm.call(input, weight, bias, *stats, training, momentum, eps)
    if training and running_mean is not None:
        for s, new in zip((running_mean, running_var), stats if copied else ()):
            s.data.copy_(new)  # does not bump the version counter, as in PyTorch
    if 0 in input._shape and input._stride is not None:
        return out[0].as_strided(input._shape, input.stride()), *out[1:]
    fmt = input._stride and next(
        (f for f in (channels_last, channels_last_3d) if input.is_contiguous(memory_format=f)), None
    )
    return keep_format(out[0], input) if fmt is None else out[0].contiguous(memory_format=fmt), *out[1:]


@composite(
    "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    out=False,
)
def _native_batch_norm_legit_no_stats(input, weight, bias, training, momentum, eps):
    return _native(input, weight, bias, None, None, training, momentum, eps)


@composite(f"batch_norm({_BATCH}, bool cudnn_enabled) -> Tensor", out=False)
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    return _native(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@composite(
    "nn.functional.batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, "
    "Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
    out=False,
    aten_constants=(("cudnn_enabled", True),),
)
def f_batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps):
    if eps <= 0:
        raise ValueError(f"batch_norm eps must be positive, but got {eps}")
    if training and input._shape[0] * numel(input._shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
    return _native(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


# ------------------------------------------------------------------------------------------------ instances, neighbours
def _affine(x, weight, bias):
    per = (1, -1, *(1,) * (len(x._shape) - 2))
    x = x if weight is None else x * weight.reshape(per)
    return x if bias is None else x + bias.reshape(per)


@composite(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    out=False,
)
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """Apply batch normalisation with every sample as a batch of its own."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    shape = input._shape
    b, c = shape[:2]
    if not b:
        return _affine(input.clone(memory_format=contiguous_format), weight, bias)
    each = [None if p is None else p.repeat(b) for p in (weight, bias, running_mean, running_var)]
    out = _native(input.reshape((1, b * c, *shape[2:])), *each, use_input_stats, momentum, eps)[0]
    for s, new in ((running_mean, each[2]), (running_var, each[3])):
        if s is not None and use_input_stats:
            s.detach().copy_(new.reshape(b, c).mean(0))
    return out.reshape(shape)


@composite(
    "nn.functional.instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, "
    "Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor",
    out=False,
    aten_constants=(("cudnn_enabled", True),),
)
def f_instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps):
    if use_input_stats and numel(input._shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


@composite(
    "nn.functional.local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, "
    "float k=1.0) -> Tensor",
    out=False,
)
def local_response_norm(input, size, alpha, beta, k):
    n = len(input._shape)
    if n < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {n} dimensions)")
    if not numel(input._shape):
        return input
    square = input.mul(input)
    padded = F.pad(square, (0, 0) * (n - 2) + (size // 2, (size - 1) // 2))
    c = input._shape[1]
    total = padded.narrow(1, 0, c)
    for i in range(1, size):
        total = total + padded.narrow(1, i, c)
    if input.dtype is not dt.int64:
        only("avg_pool2d" if n == 3 else "avg_pool3d_out_frame", input, dt.FLOAT, half=n == 3)
    mean = total / size if total.dtype.category >= dt.FLOAT else total // size
    return input / (mean * alpha + k).pow(beta)
