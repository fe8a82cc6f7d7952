"""Losses: elementwise ones as a table, those that pick classes or paths one by one. reduction: 0 none, 1 mean, 2 sum."""
import warnings

from ..autograd import MODE
from ..op import broadcast_shapes, composite, op, result_dtype
from .common import F, LINALG, T, Tensor, dt, numel

NAMES = ("none", "mean", "sum")


# ------------------------------------------------------------------------------------------------ reductions
def get_enum(reduction):
    """The number of a reduction's name."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=5)
        return 1
    if reduction not in NAMES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return NAMES.index(reduction)


def legacy_enum(size_average, reduce, reduction):
    """The same where size_average or reduce, which `reduction` replaced, are given."""
    if size_average is None and reduce is None:
        return get_enum(reduction)
    name = "none" if reduce is not None and not reduce else "mean" if size_average is None or size_average else "sum"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.", stacklevel=5)
    return NAMES.index(name)


def reduced(loss, reduction):
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


def _both(name, input, target):
    """input and target broadcast to one shape, with PyTorch's warning where they differ."""
    if input._shape == target._shape:
        return input, target
    warnings.warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to incorrect "
                  "results due to broadcasting. Please ensure they have the same size.", stacklevel=4)
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


# name: (parameters between target and reduction, PyBoost primitive and its call, loss, its derivative by input, and by target: None the negative
# of it, 0 not differentiable)
POINTWISE = {
    "mse_loss": ("", "MSELossExt", lambda p, x, t, r: p(x, t, r), lambda x, t: (x - t).square(), lambda x, t: 2 * (x - t), None),
    "smooth_l1_loss": ("", "SmoothL1Loss", lambda p, x, t, r, beta: p.of(beta, NAMES[r])(x, t), _smooth_l1, _smooth_l1_grad, None),
    "huber_loss": ("", None, None, _huber, lambda x, t, delta: (x - t).clamp(-delta, delta), None),
    "soft_margin_loss": ("", "SoftMarginLoss", lambda p, x, t, r: p.of(NAMES[r])(x, t), lambda x, t: T.logaddexp(-t * x, T.zeros_like(x)),
                         lambda x, t: -t * (-t * x).sigmoid(), 0),
    "binary_cross_entropy": ("Tensor? weight, ", "BinaryCrossEntropy", lambda p, x, t, w, r: p.of(NAMES[r])(x, t, w), _bce,
                             lambda x, t, weight: _weighted((x - t) / ((1 - x) * x).clamp_min(1e-12), weight),
                             lambda x, t, weight: _weighted((-x).log1p().clamp_min(-100) - _log(x), weight)),
    "binary_cross_entropy_with_logits": ("Tensor? weight, Tensor? pos_weight, ", "BCEWithLogitsLoss", lambda p, x, t, w, q, r: p.of(NAMES[r])(x, t, w, q),
                                         _bce_logits, _bce_logits_grad, _bce_logits_target),
}
_AFTER = {"smooth_l1_loss": ", float beta", "huber_loss": ", float delta"}


def _loss_args(self, target, *rest):
    common = result_dtype((self, target))
    return (*(x if x.dtype is common else x.to(common) for x in (self, target)), *rest)


def _declare(name, between, prim, call, dself, dtarget):
    at = 2 + between.count("Tensor?")
    after = _AFTER.get(name, "")

    def gradient(f, sign):
        if after:
            def formula(g, self, target, reduction, extra):
                return _scaled(g, f(self, target, extra), reduction, sign)
        elif at == 2:
            def formula(g, self, target, reduction):
                return _scaled(g, f(self, target), reduction, sign)
        elif at == 3:
            def formula(g, self, target, weight, reduction):
                return _scaled(g, f(self, target, weight), reduction, sign)
        else:
            def formula(g, self, target, weight, pos_weight, reduction):
                return _scaled(g, f(self, target, weight, pos_weight), reduction, sign)
        return formula
    derivative = {"self": gradient(dself, 1)}
    if dtarget != 0:
        derivative["target"] = gradient(dself, -1) if dtarget is None else gradient(dtarget, 1)
    return op(f"_C._nn.{name}(Tensor self, Tensor target, {between}int reduction{after and ', float extra'}) -> Tensor", prim, call=call,
              prepare=_loss_args, derivative=derivative, out=False,
              meta=lambda *a: ((broadcast_shapes(a[1]._shape, a[0]._shape), ())[a[at] > 0], a[0].dtype))


def _scaled(g, d, reduction, sign):
    n = numel(d._shape)
    return d * (g * (sign / n) if reduction == 1 and n else g if sign == 1 else -g)


OPS = {n: _declare(n, between, prim, call, dself, dtarget) for n, (between, prim, call, _, dself, dtarget) in POINTWISE.items()}
_LEGACY = "bool? size_average=None, bool? reduce=None, str reduction='mean'"


def _weighted_form(loss, weight, input, reduction):
    """loss * weight reduced; the mean is that of the weights."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == 1 else reduced(loss, reduction)


@composite(f"nn.functional.mse_loss(Tensor input, Tensor target, {_LEGACY}, Tensor? weight=None) -> Tensor", out=False)
def mse_loss(input, target, size_average, reduce, reduction, weight):
    reduction = legacy_enum(size_average, reduce, reduction)
    x, t = _both("mse_loss", input, target)
    return OPS["mse_loss"].call(x, t, reduction) if weight is None else _weighted_form((x - t).square(), weight, input, reduction)


@composite(f"nn.functional.l1_loss(Tensor input, Tensor target, {_LEGACY}, Tensor? weight=None) -> Tensor", out=False)
def l1_loss(input, target, size_average, reduce, reduction, weight):
    reduction = legacy_enum(size_average, reduce, reduction)
    x, t = _both("l1_loss", input, target)
    return reduced((x - t).abs(), reduction) if weight is None else _weighted_form((x - t).abs(), weight, input, reduction)


@composite(f"nn.functional.smooth_l1_loss(Tensor input, Tensor target, {_LEGACY}, float beta=1.0) -> Tensor", out=False)
def smooth_l1_loss(input, target, size_average, reduce, reduction, beta):
    reduction = legacy_enum(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    x, t = _both("smooth_l1_loss", input, target)
    return OPS["smooth_l1_loss"].call(x, t, reduction, beta) if beta else reduced((x - t).abs(), reduction)


@composite("nn.functional.huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor", out=False)
def huber_loss(input, target, reduction, delta, weight):
    reduction = get_enum(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    x, t = _both("huber_loss", input, target)
    call = OPS["huber_loss"].call
    return call(x, t, reduction, delta) if weight is None else _weighted_form(call(x, t, 0, delta), weight, input, reduction)


@composite(f"nn.functional.soft_margin_loss(Tensor input, Tensor target, {_LEGACY}) -> Tensor", out=False)
def soft_margin_loss(input, target, size_average, reduce, reduction):
    return OPS["soft_margin_loss"].call(input, target, legacy_enum(size_average, reduce, reduction))


@composite("nn.functional.binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
           "str reduction='mean') -> Tensor", out=False)
def binary_cross_entropy(input, target, weight, size_average, reduce, reduction):
    reduction = legacy_enum(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. Please ensure "
                         "they have the same size.")
    return OPS["binary_cross_entropy"].call(input, target, None if weight is None else weight.expand(input._shape), reduction)


@composite("binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=Mean) -> Tensor",
           method=False, out=False)
def binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction):
    return OPS["binary_cross_entropy_with_logits"].call(self, target, weight, pos_weight, reduction)


@composite("nn.functional.binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
           "str reduction='mean', Tensor? pos_weight=None) -> Tensor", out=False)
def f_binary_cross_entropy_with_logits(input, target, weight, size_average, reduce, reduction, pos_weight):
    reduction = legacy_enum(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return OPS["binary_cross_entropy_with_logits"].call(input, target, weight, pos_weight, reduction)


# ------------------------------------------------------------------------------------------------ classes
def _check_classes(x, target, weight):
    c = x._shape[-1]
    if target.dtype not in (dt.int64, dt.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {_spoken(target.dtype)}")
    if weight is not None and weight._shape != (c,):
        raise RuntimeError(f"weight tensor should be defined either for all {c} classes or no classes but got weight tensor of shape: "
                           f"{list(weight._shape)}")


def _spoken(d):
    return dt.scalar_name(d)


def _nll_meta(self, target, weight, reduction, ignore_index):
    _check_classes(self, target, weight)
    return [(target._shape if reduction == 0 else (), self.dtype), ((), self.dtype)]


def _ones(x, weight):
    return T.ones(x._shape[-1], dtype=x.dtype, device=x.device) if weight is None else weight


_nll = op("_C._nn.nll_loss(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor, Tensor)", "NLLLoss", meta=_nll_meta,
          prepare=lambda self, target, weight, *a: (self, target, _ones(self, weight), *a), non_differentiable=(1,), out=False, empty_ok=True,
          call=lambda p, x, t, w, reduction, ignore: p.of(NAMES[reduction], ignore)(x, t, w),
          derivative={"self": lambda g0, self, target, weight, reduction, ignore_index, out1:
                      _nll_backward.call(g0, self, target, weight, reduction, ignore_index, out1)})
_nll_backward = op("_C._nn.nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor weight, int reduction, int ignore_index, "
                   "Tensor total_weight) -> Tensor", "NLLLossGrad", meta=lambda g, x, *_: (x._shape, x.dtype), out=False,
                   call=lambda p, g, x, t, w, reduction, ignore, total: p.of(NAMES[reduction], ignore)(x, g, t, w, total),
                   derivative={"grad_output": lambda g, target, weight, reduction, ignore_index: _nll.call(g, target, weight, reduction, ignore_index)[0]})


def nll_loss_nd(x, target, weight, reduction, ignore_index):
    """nll_loss of any rank: classes on dimension 1."""
    n = len(x._shape)
    if n < 1:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if n == 1:
        if numel(target._shape) != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {numel(target._shape)}")
        return _nll.call(x.unsqueeze(0), target.reshape(1), weight, reduction, ignore_index)[0].reshape(() if reduction else target._shape)
    if x._shape[0] != (target._shape or (1,))[0]:
        raise ValueError(f"Expected input batch_size ({x._shape[0]}) to match target batch_size ({(target._shape or (1,))[0]}).")
    if n == 2:
        if len(target._shape) != 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        return _nll.call(x, target, weight, reduction, ignore_index)[0]
    want = (x._shape[0], *x._shape[2:])
    if target._shape != want:
        raise RuntimeError(f"Expected target size {list(want)}, got {list(target._shape)}")
    rows = x.movedim(1, -1).reshape(-1, x._shape[1])
    return _nll.call(rows, target.reshape(-1), weight, reduction, ignore_index)[0].reshape(() if reduction else want)


@composite("nn.functional.nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, "
           "str reduction='mean') -> Tensor", out=False)
def nll_loss(input, target, weight, size_average, ignore_index, reduce, reduction):
    return nll_loss_nd(input, target, weight, legacy_enum(size_average, reduce, reduction), ignore_index)


def _smoothing(logp, target, weight, reduction, ignore_index, dim):
    """What the uniform part of smoothed labels adds, before its factor."""
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


@composite("nn.functional.cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, "
           "bool? reduce=None, str reduction='mean', float label_smoothing=0.0) -> Tensor", out=False)
def cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing):
    reduction = legacy_enum(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    dim = 0 if len(input._shape) == 1 else 1
    if input._shape != target._shape or not input._shape:
        if not input._shape:
            raise ValueError("Expected 1 or more dimensions (got 0)")
        logp = F.log_softmax(input, dim)
        loss = nll_loss_nd(logp, target, weight, reduction, ignore_index)
        if not label_smoothing:
            return loss
        smooth = _smoothing(logp, target, weight, reduction, ignore_index, dim)
        return (1 - label_smoothing) * loss + label_smoothing / input._shape[dim] * smooth
    if target.dtype.category < dt.FLOAT:
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {_spoken(target.dtype)}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    n = input._shape[dim]
    if weight is not None and weight._shape != (n,):
        raise RuntimeError(f"cross_entropy: weight tensor should be defined either for all {n} classes or no classes but got weight tensor of shape: "
                           f"{list(weight._shape)}")
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / n
    terms = F.log_softmax(input, dim) * target
    if weight is not None:
        terms = terms * _along(weight, input, dim)
    if reduction == 0:
        return -terms.sum(dim)
    return -terms.sum() if reduction == 2 else -terms.sum() / (numel(input._shape) // n)
