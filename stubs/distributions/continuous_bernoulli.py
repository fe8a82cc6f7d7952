"""The continuous Bernoulli distribution."""

import math

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .distribution import _ProbsOrLogits
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs


class ContinuousBernoulli(_ProbsOrLogits, ExponentialFamily):
    """The exponential family on [0, 1] with the likelihood of Bernoulli.

    Near probs = 1/2 Taylor series are used.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support, has_rsample, _mean_carrier_measure = constraints.unit_interval, True, 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        name, value = self._set_param(probs, logits)
        (value,) = broadcast_all(value)
        if probs is not None:
            if validate_args is not None and not torch._is_all_true(constraints.unit_interval.check(value)):
                raise ValueError("The parameter probs has invalid values")
            value = clamp_probs(value)
        self._lims = lims
        self._setup(validate_args, **{name: value})

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        return torch.where(self._stable(), self.probs, self._lims[0])

    def _cont_bern_log_norm(self):
        p = self._cut_probs()
        low, high = torch.where(p <= 0.5, p, 0.0), torch.where(p >= 0.5, p, 1.0)
        exact = ((-p).log1p() - p.log()).abs().log() - torch.where(p <= 0.5, (-2 * low).log1p(), (2 * high - 1).log())
        x = (self.probs - 0.5) ** 2
        return torch.where(self._stable(), exact, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self):
        p, x = self._cut_probs(), self.probs - 0.5
        exact = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        return torch.where(self._stable(), exact, 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    @property
    def variance(self):
        p, x = self._cut_probs(), (self.probs - 0.5) ** 2
        exact = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2
        return torch.where(self._stable(), exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape=torch.Size()):
        return self.icdf(
            torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        )

    def _log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def _cdf(self, value):
        p = self._cut_probs()
        exact = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        inside = torch.where(self._stable(), exact, value)
        return torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, inside))

    def icdf(self, value):
        p = self._cut_probs()
        exact = ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return torch.where(self._stable(), exact, value)

    def entropy(self):
        log0, log1 = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log0 - log1) - self._cont_bern_log_norm() - log0

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x):
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = torch.where(stable, x, self._lims[0] - 0.5)
        return torch.where(stable, cut.expm1().abs().log() - cut.abs().log(), 0.5 * x + x**2 / 24 - x**4 / 2880)
