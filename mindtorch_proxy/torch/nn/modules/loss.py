"""Losses."""

import math
import warnings

from .. import _reduction
from .. import functional as F
from .distance import PairwiseDistance
from .linear import Linear
from .module import Module
from .utils import _layer

__all__ = [
    "L1Loss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "GaussianNLLLoss",
    "KLDivLoss",
    "MSELoss",
    "BCELoss",
    "BCEWithLogitsLoss",
    "HingeEmbeddingLoss",
    "MultiLabelMarginLoss",
    "SmoothL1Loss",
    "HuberLoss",
    "SoftMarginLoss",
    "CrossEntropyLoss",
    "LinearCrossEntropyLoss",
    "MultiLabelSoftMarginLoss",
    "CosineEmbeddingLoss",
    "MarginRankingLoss",
    "MultiMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "CTCLoss",
]


class _Loss(Module):
    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        legacy = size_average is not None or reduce is not None
        self.reduction = _reduction.legacy_get_string(size_average, reduce) if legacy else reduction


class _WeightedLoss(_Loss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _check_delta(self):
    if not isinstance(self.delta, (float, int)):
        raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


def _check_p(self):
    if self.p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if self.weight is not None and self.weight.dim() != 1:
        raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {self.weight.dim()}D instead")


def _check_margin(self):
    if self.margin <= 0:
        raise ValueError(f"{type(self).__name__}: expected margin to be greater than 0, got {self.margin} instead")


def _set_distance(self):
    _check_margin(self)
    if self.distance_function is None:
        del self.distance_function  # a module is registered, None is a plain attribute
        self.distance_function = PairwiseDistance()


def _keep_weights(self):
    weights = {name: self.__dict__.pop(name) for name in ("weight", "pos_weight")}
    for name, weight in weights.items():
        self.register_buffer(name, weight)


_OLD = "size_average=None, reduce=None, reduction='mean'"

L1Loss = _layer("L1Loss", lambda self, input, target: F.l1_loss(input, target, reduction=self.reduction), base=_Loss)
NLLLoss = _layer(
    "NLLLoss(weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean')",
    lambda self, input, target: F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction),
    base=_WeightedLoss,
)
PoissonNLLLoss = _layer(
    "PoissonNLLLoss(log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean')",
    lambda self, log_input, target: F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction),
    base=_Loss,
)
GaussianNLLLoss = _layer(
    "GaussianNLLLoss(*, full=False, eps=1e-6, reduction='mean')",
    lambda self, input, target, var: F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction),
    base=_Loss,
)
KLDivLoss = _layer(
    f"KLDivLoss({_OLD}, log_target=False)",
    lambda self, input, target: F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target),
    base=_Loss,
)
MSELoss = _layer("MSELoss", lambda self, input, target: F.mse_loss(input, target, reduction=self.reduction), base=_Loss)
BCELoss = _layer("BCELoss", lambda self, input, target: F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction), base=_WeightedLoss)
BCEWithLogitsLoss = _layer(
    f"BCEWithLogitsLoss(weight=None, {_OLD}, pos_weight=None)",
    lambda self, input, target: F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction),
    base=_Loss,
    setup=_keep_weights,
)
HingeEmbeddingLoss = _layer(
    f"HingeEmbeddingLoss(margin=1.0, {_OLD})",
    lambda self, input, target: F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction),
    base=_Loss,
)
MultiLabelMarginLoss = _layer("MultiLabelMarginLoss", lambda self, input, target: F.multilabel_margin_loss(input, target, reduction=self.reduction), base=_Loss)
SmoothL1Loss = _layer(
    f"SmoothL1Loss({_OLD}, beta=1.0)", lambda self, input, target: F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta), base=_Loss
)
HuberLoss = _layer(
    "HuberLoss(reduction='mean', delta=1.0)",
    lambda self, input, target: F.huber_loss(input, target, reduction=self.reduction, delta=self.delta),
    base=_Loss,
    setup=_check_delta,
)
SoftMarginLoss = _layer("SoftMarginLoss", lambda self, input, target: F.soft_margin_loss(input, target, reduction=self.reduction), base=_Loss)
CrossEntropyLoss = _layer(
    "CrossEntropyLoss(weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0)",
    lambda self, input, target: F.cross_entropy(
        input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction, label_smoothing=self.label_smoothing
    ),
    base=_WeightedLoss,
)
MultiLabelSoftMarginLoss = _layer(
    "MultiLabelSoftMarginLoss",
    lambda self, input, target: F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction),
    base=_WeightedLoss,
)
CosineEmbeddingLoss = _layer(
    f"CosineEmbeddingLoss(margin=0.0, {_OLD})",
    lambda self, input1, input2, target: F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction),
    base=_Loss,
)
MarginRankingLoss = _layer(
    f"MarginRankingLoss(margin=0.0, {_OLD})",
    lambda self, input1, input2, target: F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction),
    base=_Loss,
)
MultiMarginLoss = _layer(
    f"MultiMarginLoss(p=1, margin=1.0, weight=None, {_OLD})",
    lambda self, input, target: F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction),
    base=_WeightedLoss,
    setup=_check_p,
)
TripletMarginLoss = _layer(
    f"TripletMarginLoss(margin=1.0, p=2.0, eps=1e-6, swap=False, {_OLD})",
    lambda self, anchor, positive, negative: F.triplet_margin_loss(
        anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap, reduction=self.reduction
    ),
    base=_Loss,
    setup=_check_margin,
)
TripletMarginWithDistanceLoss = _layer(
    "TripletMarginWithDistanceLoss(*, distance_function=None, margin=1.0, swap=False, reduction='mean')",
    lambda self, anchor, positive, negative: F.triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap, reduction=self.reduction
    ),
    base=_Loss,
    setup=_set_distance,
)
CTCLoss = _layer(
    "CTCLoss(blank=0, reduction='mean', zero_infinity=False)",
    lambda self, log_probs, targets, input_lengths, target_lengths: F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
    ),
    base=_Loss,
)


class NLLLoss2d(NLLLoss):
    """Deprecated: NLLLoss."""

    def __init__(self, *args, **kwargs):
        warnings.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead.", FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class LinearCrossEntropyLoss(_WeightedLoss):
    """Cross entropy of a linear layer's output."""

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features,
        num_classes,
        *,
        out_features=(),
        bias=False,
        device=None,
        dtype=None,
        reduction="mean",
        weight=None,
        ignore_index=None,
        label_smoothing=0.0,
        options=None,
    ):
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input, target):
        shape, linear = (self.num_classes, *self.out_features), self.linear
        return F.linear_cross_entropy(
            input,
            linear.weight.reshape((*shape, linear.in_features)),
            target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self):
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
