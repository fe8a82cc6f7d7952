"""The half-normal distribution."""

import math

import torch

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class _Half(TransformedDistribution):
    """The distribution of the absolute value of a variable centred at 0."""

    arg_constraints, support = {"scale": constraints.positive}, constraints.nonnegative
    scale = property(lambda self: self.base_dist.scale, doc="The half-width at half-maximum of the whole Cauchy.")
    mode = property(lambda self: torch.zeros_like(self.scale))

    def __init__(self, scale, validate_args=None):
        super().__init__(self._base(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def _log_prob(self, value):
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The distribution of the absolute value of a normal variable centred at 0."""

    _base = Normal
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))
