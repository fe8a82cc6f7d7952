"""The Cauchy distribution."""

import math

import torch

from . import constraints
from .distribution import Distribution


class Cauchy(Distribution):
    """The Cauchy distribution, that of the ratio of two normal variables; it has no mean."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support, has_rsample = constraints.real, True
    mean = property(lambda self: self.loc.new_full(self._extended_shape(), torch.nan))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self.loc.new_full(self._extended_shape(), torch.inf))

    def __init__(self, loc, scale, validate_args=None):
        self._setup(validate_args, loc=loc, scale=scale)

    def rsample(self, sample_shape=torch.Size()):
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def _log_prob(self, value):
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def _cdf(self, value):
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
