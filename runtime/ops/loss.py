"""Losses: a table of elementwise ones, and those over classes, labels or sequences.

The reduction is 0 for none, 1 for mean, 2 for sum.
"""

import math
import warnings

from ..autograd import no_grad
from ..backend import backend
from ..call.autocast import FLOAT32
from ..call.geometry import broadcast_shapes, check_spreads, result_strides
from ..call.promotion import result_dtype
from ..context import CONTEXT
from ..declare import composite, op
from .common import F, T, Tensor, changed, dt, has_values, numel, only, refuse_gradients, wrap_dim
from .creation import tensor

NAMES = ("none", "mean", "sum")


def _loss(schema):
    """Declare a composite that autocast runs in float32."""
    return composite(schema, out=False, autocast=FLOAT32)


# ------------------------------------------------------------------------------------------------ reductions
def get_enum(reduction):
    """Return the number of a reduction, given its name."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=5)
        return 1
    if reduction not in NAMES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return NAMES.index(reduction)


def legacy_enum(size_average, reduce, reduction):
    """Return the number of a reduction, also where the deprecated size_average or reduce is given."""
    if size_average is None and reduce is None:
        return get_enum(reduction)
    name = "none" if reduce is not None and not reduce else "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.", stacklevel=5
    )
    return NAMES.index(name)


def reduced(loss, reduction):
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


def _both(name, input, target):
    """Broadcast input and target to one shape, with PyTorch's warning where their shapes differ."""
    if input._shape == target._shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
        "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=4,
    )
    return T.broadcast_tensors(input, target)


# ------------------------------------------------------------------------------------------------ elementwise
def _smooth_l1(x, t, beta):
    d = (x - t).abs()
    return d if beta == 0 else T.where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta)


def _smooth_l1_grad(x, t, beta):
    d = x - t
    return d.sign() if beta == 0 else (d / beta).clamp(-1, 1)


def _huber(x, t, delta):
    d = (x - t).abs()
    return T.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))


def _log(x):
    return x.log().clamp_min(-100)


def _bce(x, t, weight):
    return _weighted((t - 1) * (-x).log1p().clamp_min(-100) - t * _log(x), weight)


def _weighted(x, weight):
    return x if weight is None else x * weight


def _bce_logits(x, t, weight, pos_weight):
    ls = F.logsigmoid(x)
    return _weighted((1 - t) * x - (ls if pos_weight is None else ((pos_weight - 1) * t + 1) * ls), weight)


def _bce_logits_grad(x, t, weight, pos_weight):
    s = x.sigmoid()
    return _weighted(s - t if pos_weight is None else (pos_weight * t + 1 - t) * s - pos_weight * t, weight)


def _bce_logits_target(x, t, weight, pos_weight):
    return _weighted(-x if pos_weight is None else F.logsigmoid(-x) - pos_weight * F.logsigmoid(x), weight)


# name: (parameters between target and reduction, PyBoost primitive, its call, loss, derivative by input, derivative by
# target). A derivative by target of None means the negative of that by input, 0 means not differentiable.
POINTWISE = {
    "mse_loss": (
        "",
        "MSELossExt",
        lambda p, x, t, r: p(x, t, NAMES[r]),
        lambda x, t: (x - t).square(),
        lambda x, t: 2 * (x - t),
        None,
    ),
    "smooth_l1_loss": (
        "",
        "SmoothL1Loss",
        lambda p, x, t, r, beta: p.of(beta, NAMES[r])(x, t),
        _smooth_l1,
        _smooth_l1_grad,
        None,
    ),
    "huber_loss": ("", None, None, _huber, lambda x, t, delta: (x - t).clamp(-delta, delta), None),
    "soft_margin_loss": (
        "",
        "SoftMarginLoss",
        lambda p, x, t, r: p.of(NAMES[r])(x, t),
        lambda x, t: (x * -t).exp().log1p(),
        lambda x, t: _soft_margin_grad(t, (-t * x).exp()),
        0,
    ),
    "binary_cross_entropy": (
        "Tensor? weight, ",
        "BinaryCrossEntropy",
        lambda p, x, t, w, r: p.of(NAMES[r])(x, t, w),
        _bce,
        lambda x, t, weight: _weighted((x - t) / ((1 - x) * x).clamp_min(1e-12), weight),
        lambda x, t, weight: _weighted((-x).log1p().clamp_min(-100) - _log(x), weight),
    ),
    "binary_cross_entropy_with_logits": (
        "Tensor? weight, Tensor? pos_weight, ",
        "BCEWithLogitsLoss",
        lambda p, x, t, w, q, r: p.of(NAMES[r])(x, t, w, q),
        _bce_logits,
        _bce_logits_grad,
        _bce_logits_target,
    ),
}


def _soft_margin_grad(t, z):
    return -t * z / (z + 1)


_INTO_ZEROS = {"mse_loss", "smooth_l1_loss", "huber_loss"}  # PyTorch writes their gradients into contiguous zeros
_AFTER = {"smooth_l1_loss": ", float beta", "huber_loss": ", float delta"}


def _loss_args(self, target, *rest):
    common = result_dtype((self, target))
    return (*(x if x.dtype is common else x.to(common) for x in (self, target)), *rest)


def _declare(name, between, prim, call, dself, dtarget):
    at = 2 + between.count("Tensor?")
    after = _AFTER.get(name) and ", float extra"
    parameters = f"Tensor self, Tensor target, {between}int reduction{after or ''}"
    opmath = name != "soft_margin_loss"  # it computes in half types, where its exp overflows
    kernel = None

    def gradient(f, sign):
        def whole(g, *a):
            if CONTEXT.grad or f is not dself:
                return composed(f, sign, at, g, *a)
            d = kernel.call(g, *a)
            return d if sign == 1 else -d

        # a formula reads saved arguments by their parameter names, so each signature needs its own lambda
        if after:
            return lambda g, self, target, reduction, extra: whole(g, self, target, reduction, extra)
        if at == 2:
            return lambda g, self, target, reduction: whole(g, self, target, reduction)
        if at == 3:
            return lambda g, self, target, weight, reduction: whole(g, self, target, weight, reduction)
        return lambda g, self, target, weight, pos_weight, reduction: whole(
            g, self, target, weight, pos_weight, reduction
        )

    def strided(a):
        shape = broadcast_shapes(a[0]._shape, a[1]._shape)
        return shape, a[0].dtype, result_strides(shape, a[:at])

    def meta(*a):
        return ((), a[0].dtype) if a[at] else strided(a)

    derivative = {"self": gradient(dself, 1)}
    if dtarget != 0:
        derivative["target"] = gradient(dself, -1) if dtarget is None else gradient(dtarget, 1)
    options = dict(out=False, opmath=opmath)
    kernel = op(
        f"_C._nn.{name}_backward(Tensor grad_output, {parameters}) -> Tensor",
        meta=lambda g, *a: strided(a)[: 2 if name in _INTO_ZEROS else 3],
        **options,
    )
    return op(
        f"_C._nn.{name}({parameters}) -> Tensor",
        prim,
        call=call,
        prepare=_loss_args,
        derivative=derivative,
        meta=meta,
        **options,
    )


def composed(f, sign, at, g, *args):
    """Return the gradient of a reduced loss, where f is the derivative of each element.

    All operators used here are differentiable, so that the gradient can be differentiated again.
    """
    d, reduction = f(*args[:at], *args[at + 1 :]), args[at]
    n = numel(d._shape)
    return d * (g * (sign / n) if reduction == 1 and n else g if sign == 1 else -g)


OPS = {
    n: _declare(n, between, prim, call, dself, dtarget)
    for n, (between, prim, call, _, dself, dtarget) in POINTWISE.items()
}
_LEGACY = "bool? size_average=None, bool? reduce=None, str reduction='mean'"


def _in_dtype_of(x, loss):
    """Return the loss in x's dtype, as PyTorch's kernels write it.

    Raise PyTorch's error if the loss cannot be cast to that dtype.
    """
    if x.dtype.category < dt.FLOAT or not dt.can_cast(loss.dtype, x.dtype):
        common = loss.dtype if loss.dtype.category >= dt.FLOAT else dt.get_default_dtype()
        raise RuntimeError(f"result type {_spoken(common)} can't be cast to the desired output type {_spoken(x.dtype)}")
    return loss if loss.dtype is x.dtype else loss.to(x.dtype)


def _weighted_form(loss, weight, input, reduction):
    """Return loss * weight, reduced. The mean divides by the sum of the weights."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == 1 else reduced(loss, reduction)


@_loss(f"nn.functional.mse_loss(Tensor input, Tensor target, {_LEGACY}, Tensor? weight=None) -> Tensor")
def mse_loss(input, target, size_average, reduce, reduction, weight):
    reduction = legacy_enum(size_average, reduce, reduction)
    x, t = _both("mse_loss", input, target)
    return (
        OPS["mse_loss"].call(x, t, reduction)
        if weight is None
        else _weighted_form((x - t).square(), weight, input, reduction)
    )


@_loss(f"nn.functional.l1_loss(Tensor input, Tensor target, {_LEGACY}, Tensor? weight=None) -> Tensor")
def l1_loss(input, target, size_average, reduce, reduction, weight):
    reduction = legacy_enum(size_average, reduce, reduction)
    x, t = _both("l1_loss", input, target)
    return (
        reduced((x - t).abs(), reduction) if weight is None else _weighted_form((x - t).abs(), weight, input, reduction)
    )


@_loss(f"nn.functional.smooth_l1_loss(Tensor input, Tensor target, {_LEGACY}, float beta=1.0) -> Tensor")
def smooth_l1_loss(input, target, size_average, reduce, reduction, beta):
    reduction = legacy_enum(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    x, t = _both("smooth_l1_loss", input, target)
    return OPS["smooth_l1_loss"].call(x, t, reduction, beta) if beta else reduced((x - t).abs(), reduction)


@_loss(
    "nn.functional.huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, "
    "Tensor? weight=None) -> Tensor"
)
def huber_loss(input, target, reduction, delta, weight):
    reduction = get_enum(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    x, t = _both("huber_loss", input, target)
    call = OPS["huber_loss"].call
    return (
        _in_dtype_of(input, call(x, t, reduction, delta))
        if weight is None
        else _weighted_form(call(x, t, 0, delta), weight, input, reduction)
    )


@_loss(f"nn.functional.soft_margin_loss(Tensor input, Tensor target, {_LEGACY}) -> Tensor")
def soft_margin_loss(input, target, size_average, reduce, reduction):
    refuse_gradients("soft_margin_loss", target=target)
    return _in_dtype_of(
        input, OPS["soft_margin_loss"].call(input, target, legacy_enum(size_average, reduce, reduction))
    )


@_loss(
    "nn.functional.binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
    "bool? reduce=None, str reduction='mean') -> Tensor"
)
def binary_cross_entropy(input, target, weight, size_average, reduce, reduction):
    reduction = legacy_enum(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            f"deprecated. Please ensure they have the same size."
        )
    if target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {_spoken(target.dtype)} but expected {_spoken(input.dtype)}")
    only("binary_cross_entropy", input, dt.FLOAT)
    if weight is not None:
        check_spreads(input._shape, input._shape, weight._shape)
        weight = weight.expand(input._shape)
    return OPS["binary_cross_entropy"].call(input, target, weight, reduction)


@composite(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
    "int reduction=Mean) -> Tensor",
    method=False,
    out=False,
)
def binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction):
    only("log_sigmoid_cpu", self, dt.FLOAT)
    if pos_weight is not None:
        check_spreads(self._shape, pos_weight._shape, self._shape)
    if weight is not None:
        check_spreads(self._shape, self._shape, weight._shape)
    return _in_dtype_of(
        target, OPS["binary_cross_entropy_with_logits"].call(self, target, weight, pos_weight, reduction)
    )


@_loss(
    "nn.functional.binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, "
    "bool? size_average=None, bool? reduce=None, str reduction='mean', Tensor? pos_weight=None) -> Tensor"
)
def f_binary_cross_entropy_with_logits(input, target, weight, size_average, reduce, reduction, pos_weight):
    reduction = legacy_enum(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


# ------------------------------------------------------------------------------------------------ classes
def _check_classes(x, target, weight):
    c = x._shape[-1]
    if weight is not None and weight.dtype is not x.dtype:
        raise RuntimeError(f"expected scalar type {_spoken(x.dtype)} but found {_spoken(weight.dtype)}")
    _check_class_dtype(target)
    if weight is not None and weight._shape != (c,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {c} classes or no classes but got weight tensor of "
            f"shape: {list(weight._shape)}"
        )


def _spoken(d):
    return dt.scalar_name(d)


def _nll_meta(self, target, weight, reduction, ignore_index):
    _check_classes(self, target, weight)
    return [(target._shape if reduction == 0 else (), self.dtype), ((), self.dtype)]


def _ones(x, weight):
    return T.ones(x._shape[-1], dtype=x.dtype, device=x.device) if weight is None else weight


_nll_loss_prepare = lambda self, target, weight, *a: (self, target, _ones(self, weight), *a)
_nll_loss_call = lambda p, x, t, w, reduction, ignore: p.of(NAMES[reduction], ignore)(x, t, w)
_nll_loss_grads = {
    "self": lambda g0, self, target, weight, reduction, ignore_index, out1: _nll_backward.call(
        g0, self, target, weight, reduction, ignore_index, out1
    )
}
_NLL_LOSS = dict(
    meta=_nll_meta,
    prepare=_nll_loss_prepare,
    saves_given=True,
    call=_nll_loss_call,
    derivative=_nll_loss_grads,
    non_differentiable=(1,),
    out=False,
    empty_ok=True,
)
_nll = op(
    "_C._nn.nll_loss(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor, Tensor)",
    "NLLLoss",
    **_NLL_LOSS,
    aten="nll_loss_forward.default",
)
_nll_backward_call = lambda p, g, x, t, w, reduction, ignore, total: p.of(NAMES[reduction], ignore)(x, g, t, w, total)
_nll_backward_grads = {
    "grad_output": lambda g, target, weight, reduction, ignore_index: _nll.call(
        g, target, weight, reduction, ignore_index
    )[0]
}
_nll_backward_prepare = lambda g, self, target, weight, *a: (g, self, target, _ones(self, weight), *a)
_NLL_BACKWARD = dict(
    meta=lambda g, x, *_: (x._shape, x.dtype),
    prepare=_nll_backward_prepare,
    saves_given=True,
    call=_nll_backward_call,
    derivative=_nll_backward_grads,
    out=False,
)
_nll_backward = op(
    "_C._nn.nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, "
    "int ignore_index, Tensor total_weight) -> Tensor",
    "NLLLossGrad",
    **_NLL_BACKWARD,
)


_rows = lambda x: x.movedim(1, -1).reshape((-1, x._shape[1]))


def nll_loss2d_gradient(g0, self, target, weight, reduction, ignore_index, out1):
    n, c, *size = self._shape
    gradient = _nll_backward.call(
        g0 if reduction else g0.reshape((-1,)),
        _rows(self),
        target.reshape((-1,)),
        weight,
        reduction,
        ignore_index,
        out1,
    )
    return gradient.reshape((n, *size, c)).movedim(-1, 1).contiguous()


@composite(
    "_C._nn.nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor "
    "output, Tensor total_weight)",
    derivative=nll_loss2d_gradient,
    node="NllLoss2DBackward0",
    non_differentiable=(1,),
    out=False,
)
def _nll2d(self, target, weight, reduction, ignore_index):
    """Compute nll_loss with pixels as rows."""
    loss, total = _nll.call(_rows(self), target.reshape((-1,)), weight, reduction, ignore_index)
    return loss if reduction else loss.reshape(target._shape), total


def _check_class_dtype(target):
    if target.dtype not in (dt.int64, dt.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {_spoken(target.dtype)}")


def nll_loss_nd(x, target, weight, reduction, ignore_index):
    """Return nll_loss for an input of any rank, with the classes in dimension 1."""
    n = len(x._shape)
    if n < 1:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if n == 1 and len(target._shape) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if n > 1 and not target._shape:
        raise ValueError(f"Expected input batch_size ({x._shape[0]}) to match target batch_size (0).")
    if n == 1:
        _check_class_dtype(target)
        if numel(target._shape) != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {numel(target._shape)}")
        return _nll.call(x.unsqueeze(0), target.reshape(1), weight, reduction, ignore_index)[0].reshape(
            () if reduction else target._shape
        )
    refuse_gradients("nll_loss_forward" if n == 2 else "nll_loss2d_forward", weight=weight)
    if x._shape[0] != target._shape[0]:
        raise ValueError(f"Expected input batch_size ({x._shape[0]}) to match target batch_size ({target._shape[0]}).")
    if n == 2:
        if len(target._shape) != 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        return _nll.call(x, target, weight, reduction, ignore_index)[0]
    want = (x._shape[0], *x._shape[2:])
    if n == 4:
        _check_class_dtype(target)
    if target._shape != want:
        raise RuntimeError(f"Expected target size {list(want)}, got {list(target._shape)}")
    if n != 4:
        x, target = x.reshape((*x._shape[:2], 1, -1)), target.reshape((want[0], 1, -1))
    loss = _nll2d.op.call(x, target, weight, reduction, ignore_index)[0]
    return loss if n == 4 or reduction else loss.reshape(want)


@_loss(
    "nn.functional.nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
    "int ignore_index=-100, bool? reduce=None, str reduction='mean') -> Tensor"
)
def nll_loss(input, target, weight, size_average, ignore_index, reduce, reduction):
    return nll_loss_nd(input, target, weight, legacy_enum(size_average, reduce, reduction), ignore_index)


def _smoothing(logp, target, weight, reduction, ignore_index, dim):
    """Return the loss of the uniform part of smoothed labels, before it is multiplied by its factor."""
    loss = -(logp if weight is None else logp * _along(weight, logp, dim)).sum(dim)
    ignored = target == ignore_index
    loss = loss.masked_fill(ignored, 0)
    if reduction != 1:
        return reduced(loss, reduction)
    if weight is None:
        return loss.sum() / ignored.logical_not().sum()
    return loss.sum() / T.where(ignored, 0, weight[target.masked_fill(ignored, 0)]).sum()


def _along(weight, x, dim):
    return weight.reshape([-1 if d == dim else 1 for d in range(len(x._shape))])


def _check_probabilities(input, target, weight, ignore_index, dim):
    """Check targets that are class probabilities, and return the number of classes."""
    if target.dtype.category != dt.FLOAT:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {_spoken(target.dtype)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if not input._shape:
        raise IndexError("Dimension specified as 1 but tensor has no dimensions")
    n = input._shape[dim]
    if weight is not None and weight._shape != (n,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {n} classes or no classes but got weight "
            f"tensor of shape: {list(weight._shape)}"
        )
    return n


@_loss(
    "nn.functional.cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
    "int ignore_index=-100, bool? reduce=None, str reduction='mean', float label_smoothing=0.0) -> Tensor"
)
def cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing):
    reduction = legacy_enum(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    dim = 0 if len(input._shape) == 1 else 1
    if input._shape != target._shape:
        if not input._shape:
            wrap_dim(1, 0)  # raises PyTorch's error
        fused = backend(input.device).fused("nn.functional.cross_entropy")
        if (
            fused is not None
            and (out := fused(input, target, weight, reduction, ignore_index, label_smoothing)) is not None
        ):
            return out
        logp = F.log_softmax(input, dim)
        loss = nll_loss_nd(logp, target, weight, reduction, ignore_index)
        if not label_smoothing:
            return loss
        smooth = _smoothing(logp, target, weight, reduction, ignore_index, dim)
        return (1 - label_smoothing) * loss + label_smoothing / input._shape[dim] * smooth
    n = _check_probabilities(input, target, weight, ignore_index, dim)
    if label_smoothing:
        target = target * (1 - label_smoothing) + (label_smoothing / n if n else 0)
    terms = F.log_softmax(input, dim) * target
    if weight is not None:
        terms = terms * _along(weight, input, dim)
    if reduction == 0:
        return -terms.sum(dim)
    return -terms.sum() if reduction == 2 else -terms.sum() / (numel(changed(input._shape, dim)) if n else 0)


@composite(
    "nn.functional.linear_cross_entropy(Tensor input, Tensor linear_weight, Tensor target, *, "
    "Tensor? linear_bias=None, Tensor? weight=None, str reduction='mean', int? ignore_index=None, "
    "float label_smoothing=0.0, Any options=None) -> Tensor",
    out=False,
)
def linear_cross_entropy(
    input, linear_weight, target, linear_bias, weight, reduction, ignore_index, label_smoothing, options
):
    """Return the cross_entropy of a linear layer's output.

    `options` is accepted but ignored: it determines how to save memory, not what to compute.
    """
    if len(input._shape) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(input._shape)}")
    if len(linear_weight._shape) < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {len(linear_weight._shape)}")
    *lead, features = input._shape
    *classes, last = linear_weight._shape
    if features != last:
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {features} and {last}, "
            f"respectively"
        )
    if linear_bias is not None and list(linear_bias._shape) != classes:
        raise RuntimeError(f"expected linear_bias shape {tuple(classes)}, got {tuple(linear_bias._shape)}")
    if len(classes) > 1 and not lead:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight._shape)} requires batched input, "
            f"(N, {features}), got unbatched input with shape {tuple(input._shape)}"
        )
    if list(target._shape) == [*lead, *classes] and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    logits = F.linear(
        input, linear_weight.reshape(-1, features), None if linear_bias is None else linear_bias.reshape(-1)
    ).reshape(*lead, *classes)
    return F.cross_entropy(
        logits, target, weight, None, -100 if ignore_index is None else ignore_index, None, reduction, label_smoothing
    )


# ------------------------------------------------------------------------------------------------ both namespaces
def _two_forms(name, tensors, between="", own=True, autocast=FLOAT32, **options):
    """Declare fn(*tensors, *between, reduction) as torch.NAME and as nn.functional.NAME.

    torch.NAME takes the reduction as a number, nn.functional.NAME takes its name and the deprecated arguments.
    """

    def deco(fn):
        if own:
            composite(f"{name}({tensors}{between}, int reduction=Mean) -> Tensor", method=False, out=False, **options)(
                fn
            )
        n = tensors.count("Tensor") + between.count("=")

        @composite(
            f"nn.functional.{name}({tensors.replace('Tensor self', 'Tensor input')}{between}, {_LEGACY}) -> Tensor",
            out=False,
            autocast=autocast,
            **options,
        )
        def functional(*a):
            return fn(*a[:n], legacy_enum(*a[n:]))

        return fn

    return deco


@_two_forms("hinge_embedding_loss", "Tensor self, Tensor target", ", float margin=1.0")
def hinge_embedding_loss(x, target, margin, reduction):
    far = T.where(target != 1, (T.full_like(x, margin) - x).clamp_min(0), 0)
    return reduced(far + T.where(target != -1, x, 0), reduction)


@_two_forms("margin_ranking_loss", "Tensor input1, Tensor input2, Tensor target", ", float margin=0.0")
def margin_ranking_loss(input1, input2, target, margin, reduction):
    if not len(input1._shape) == len(input2._shape) == len(target._shape):
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@_two_forms("cosine_embedding_loss", "Tensor input1, Tensor input2, Tensor target", ", float margin=0.0")
def cosine_embedding_loss(input1, input2, target, margin, reduction):
    n = len(target._shape)
    if n > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(input1._shape) != n + 1 or len(input2._shape) != n + 1:
        raise RuntimeError(
            f"{n}D target tensor expects {n + 1}D input tensors, but found inputs with sizes {list(input1._shape)} "
            f"and {list(input2._shape)}."
        )
    square = (input1 * input1).sum(n) + 1e-12, (input2 * input2).sum(n) + 1e-12
    cos = (input1 * input2).sum(n) / (square[0] * square[1]).sqrt()
    return reduced(T.where(target == 1, 1 - cos, 0) + T.where(target == -1, (cos - margin).clamp_min(0), 0), reduction)


@_two_forms("multilabel_soft_margin_loss", "Tensor input, Tensor target, Tensor? weight=None", own=False, autocast=None)
def multilabel_soft_margin_loss(input, target, weight, reduction):
    loss = -_weighted(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input), weight)
    classes = len(input._shape) - 1  # the input's last dimension, whatever the target's rank
    if classes < 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    return reduced(loss.sum(classes) / input._shape[classes], reduction)


def _margin_rows(input, target, name):
    """Return input as (N, C), and target as it is."""
    n = len(input._shape)
    if n > 2 or (n and input._shape[-1] == 0):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input._shape)}"
        )
    return input.reshape(-1, input._shape[-1] if n else 1), target


@_two_forms(
    "multi_margin_loss",
    "Tensor input, Tensor target",
    ", int p=1, float margin=1.0, Tensor? weight=None",
    own=False,
    no_forward="multi_margin_loss",
)
def multi_margin_loss(input, target, p, margin, weight, reduction):
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    x, t = _margin_rows(input, target, "multi_margin_loss")
    n, c = x._shape
    if len(t._shape) > 1 or numel(t._shape) != n:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{n}], but got {list(t._shape)}. Input has shape {list(input._shape)}."
        )
    if weight is not None and len(weight._shape) != 1:
        raise ValueError("weight must be one-dimensional")
    if weight is not None and weight._shape != (c,):
        raise RuntimeError(f"inconsistent weight size, expected {c} but got {list(weight._shape)}")
    if t.dtype is not dt.int64:
        raise RuntimeError(f"expected scalar type Long but found {_spoken(t.dtype)}")
    only("multi_margin_loss_cpu_kernel", x, dt.FLOAT, half=False)
    t = t.reshape(n, 1)
    if backend(input.device).host and has_values(input) and n and bool(((t < 0) | (t >= c)).any()):
        raise RuntimeError("target out of range")
    z = margin - x.gather(1, t) + x
    z = T.where(z > 0, z, 0)  # 0 also at NaN; no gradient at 0
    z = z if p == 1 else z * z
    z = z if weight is None else z * weight[t]
    loss = z.scatter(1, t, 0).sum(1) / c
    if len(input._shape) < 2:
        loss = loss.reshape(() if reduction == 0 and not target._shape else (-1,))
    return reduced(loss, reduction)


@_two_forms(
    "multilabel_margin_loss", "Tensor input, Tensor target", own=False, no_forward="multilabel_margin_loss_forward"
)
def multilabel_margin_loss(input, target, reduction):
    x, _ = _margin_rows(input, target, "multilabel_margin_loss")
    n, c = x._shape
    if numel(target._shape) != n * c or (len(input._shape) == 2 and target._shape != input._shape):
        raise RuntimeError(f"inconsistent target size: {list(target._shape)} for input of size: {list(input._shape)}")
    only("multilabel_margin_loss_forward_out_frame", x, dt.FLOAT, half=False)
    t = target.reshape(n, c)
    if backend(input.device).host and has_values(input) and n and bool(((t < -1) | (t >= c)).any()):
        raise RuntimeError("argument #2 'target' is out of range")
    valid = (t < 0).cumsum(1) == 0
    at = T.where(valid, t, c)
    wanted = T.zeros((n, c + 1), dtype=dt.bool_, device=x.device).scatter(1, at, True)[:, :c]
    z = 1 - x.gather(1, T.where(valid, t, 0)).unsqueeze(2) + x.unsqueeze(1)
    # z > 0: 0 also at NaN; no gradient at 0
    loss = T.where((z > 0) & valid.unsqueeze(2) & wanted.logical_not().unsqueeze(1), z, 0).sum((1, 2)) / c
    return reduced(loss if len(input._shape) == 2 else loss.reshape(()), reduction)


def _kl(x, target, log_target):
    for t in (x, target):
        if not t.dtype.is_floating_point:
            raise RuntimeError(f"kl_div: {'Complex' if t.dtype.is_complex else 'Integral'} inputs not supported.")
    return target.exp() * (target - x) if log_target else T.xlogy(target, target) - target * x


@composite(
    "kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor",
    method=False,
    out=False,
)
def kl_div(self, target, reduction, log_target):
    return reduced(_kl(self, target, log_target), reduction)


@_loss(
    "nn.functional.kl_div(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, "
    "str reduction='mean', bool log_target=False) -> Tensor"
)
def f_kl_div(input, target, size_average, reduce, reduction, log_target):
    if size_average is None and reduce is None and reduction in ("mean", "batchmean"):
        if reduction == "batchmean":
            loss = reduced(_kl(input, target, log_target), 2)
            return loss / input._shape[0] if input._shape else loss
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release.",
            stacklevel=3,
        )
    return reduced(_kl(input, target, log_target), legacy_enum(size_average, reduce, reduction))


def _poisson(x, target, log_input, full, eps, reduction):
    loss = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@composite(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
    out=False,
)
def poisson_nll_loss(*args):
    return _poisson(*args)


@_loss(
    "nn.functional.poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, "
    "bool? size_average=None, float eps=1e-08, bool? reduce=None, str reduction='mean') -> Tensor"
)
def f_poisson_nll_loss(input, target, log_input, full, size_average, eps, reduce, reduction):
    return _poisson(input, target, log_input, full, eps, legacy_enum(size_average, reduce, reduction))


@composite(
    "nn.functional.gaussian_nll_loss(Tensor input, Tensor target, Tensor|Scalar var, bool full=False, float eps=1e-06, "
    "str reduction='mean') -> Tensor",
    out=False,
)
def gaussian_nll_loss(input, target, var, full, eps, reduction):
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = T.full_like(input, var)
    elif var._shape != input._shape:
        if input._shape[:-1] == var._shape:
            var = var.unsqueeze(-1)
        elif len(var._shape) != len(input._shape) or sum(b for a, b in zip(input._shape, var._shape) if a != b) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in NAMES:
        raise ValueError(reduction + " is not valid")
    if has_values(var) and bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, NAMES.index(reduction))


# ------------------------------------------------------------------------------------------------ triplets
def _same_rank(anchor, positive, negative):
    ranks = [len(t._shape) for t in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )


def _triplet(anchor, positive, negative, distance, margin, swap, reduction):
    _same_rank(anchor, positive, negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = T.minimum(far, distance(positive, negative))
    return reduced((near + margin - far).clamp_min(0), reduction)


_TRIPLE = "Tensor anchor, Tensor positive, Tensor negative"


@composite(
    f"triplet_margin_loss({_TRIPLE}, float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, "
    "int reduction=Mean) -> Tensor",
    out=False,
)
def triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction):
    return _triplet(anchor, positive, negative, lambda a, b: T.pairwise_distance(a, b, p, eps), margin, swap, reduction)


@_loss(
    f"nn.functional.triplet_margin_loss({_TRIPLE}, float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, "
    f"{_LEGACY}) -> Tensor"
)
def f_triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, size_average, reduce, reduction):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, legacy_enum(size_average, reduce, reduction)
    )


@composite(
    f"nn.functional.triplet_margin_with_distance_loss({_TRIPLE}, *, Any distance_function=None, float margin=1.0, "
    "bool swap=False, str reduction='mean') -> Tensor",
    out=False,
)
def triplet_margin_with_distance_loss(anchor, positive, negative, distance_function, margin, swap, reduction):
    if reduction not in NAMES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _triplet(
        anchor, positive, negative, distance_function or T.pairwise_distance, margin, swap, NAMES.index(reduction)
    )


# ------------------------------------------------------------------------------------------------ ctc_loss
def _ctc_args(log_probs, targets, input_lengths, target_lengths, blank):
    """Check the arguments of ctc_loss, and return them with targets as (N, S)."""
    steps, n, classes = log_probs._shape
    where = "(while checking arguments for ctc_loss_allocate_outputs)"
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != n:
            raise RuntimeError(f"{name} must be of size batch_size")
        if lengths and min(lengths) < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {min(lengths)} {where}")
    if input_lengths and max(input_lengths) > steps:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value {max(input_lengths)} {where}"
        )
    longest = max(target_lengths, default=0)
    if len(targets._shape) == 1:
        if targets._shape[0] != sum(target_lengths):
            raise RuntimeError(
                f"Expected tensor to have size {sum(target_lengths)} at dimension 0, but got size {targets._shape[0]} "
                f"for argument #2 'targets' {where}"
            )
        rows = [F.pad(t, (0, longest - t._shape[0])) for t in targets.split(list(target_lengths))]
        targets = T.stack(rows) if rows else targets.reshape(0, longest)
    elif targets._shape[1] < longest:
        raise RuntimeError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets._shape[1]} for "
            f"argument #2 'targets' {where}"
        )
    return log_probs, targets[:, :longest], input_lengths, target_lengths, blank


def _ctc_meta(log_probs, targets, *_):
    steps, n, _ = log_probs._shape
    only("ctc_loss_cpu", log_probs, dt.FLOAT, half=False)
    return [((n,), log_probs.dtype), ((n, steps, 2 * targets._shape[1] + 1), log_probs.dtype)]


def _no_second(name):
    def fail(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return fail


_CTC = "Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool zero_infinity"
_ctc_grad = lambda g0, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, out0, out1: (
    _ctc_backward.call(g0, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, out0, out1)
)
_CTC_LOSS = dict(
    meta=_ctc_meta,
    derivative={"log_probs": _ctc_grad},
    non_differentiable=(1,),
    empty_ok=True,
    no_forward="_ctc_loss",
    aten="_ctc_loss.default",
)
_ctc = op(f"_C.ctc_loss(Tensor log_probs, {_CTC}) -> (Tensor, Tensor)", None, **_CTC_LOSS)
_CTC_BACKWARD = dict(
    meta=lambda g, log_probs, *_: (log_probs._shape, log_probs.dtype),
    derivative={"g": _no_second("_ctc_loss_backward")},
)
_ctc_backward = op(
    f"_C._ctc_loss_backward(Tensor g, Tensor log_probs, {_CTC}, Tensor loss, Tensor log_alpha) -> Tensor",
    None,
    **_CTC_BACKWARD,
)


def _lengths(v):
    if isinstance(v, Tensor):
        if v.dtype.category > dt.INT:
            raise RuntimeError("input_lengths must be integral")
        return tuple(v.reshape(-1).tolist())
    return tuple(int(i) for i in v) if isinstance(v, (tuple, list)) else (int(v),)


@composite(
    "ctc_loss(Tensor log_probs, Tensor targets, Any input_lengths, Any target_lengths, int blank=0, "
    "int reduction=Mean, bool zero_infinity=False) -> Tensor",
    out=False,
)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    if not numel(log_probs._shape):
        raise RuntimeError("log_probs tensor must not be empty")
    batch = len(log_probs._shape) == 3
    target_lengths = _lengths(target_lengths)
    x = log_probs if batch else log_probs.unsqueeze(1)
    targets = targets if batch else targets.reshape(1, -1)
    loss = _ctc.call(*_ctc_args(x, targets, _lengths(input_lengths), target_lengths, blank), zero_infinity)[0]
    if zero_infinity:
        loss = T.where(loss == math.inf, 0, loss)
    if reduction == 1:
        return (loss / tensor(target_lengths, dtype=loss.dtype, device=loss.device).clamp_min(1)).mean()
    return loss.sum() if reduction == 2 else loss if batch else loss.squeeze(0)


@_loss(
    "nn.functional.ctc_loss(Tensor log_probs, Tensor targets, Any input_lengths, Any target_lengths, int blank=0, str "
    "reduction='mean', bool zero_infinity=False) -> Tensor"
)
def f_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, get_enum(reduction), zero_infinity)
