"""The Laplace distribution."""

import torch

from . import constraints
from .distribution import Distribution


class Laplace(Distribution):
    """The Laplace (two-sided exponential) distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support, has_rsample = constraints.real, True
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: 2**0.5 * self.scale)

    def __init__(self, loc, scale, validate_args=None):
        self._setup(validate_args, loc=loc, scale=scale)

    def rsample(self, sample_shape=torch.Size()):
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def _log_prob(self, value):
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def _cdf(self, value):
        x = value - self.loc
        return 0.5 - 0.5 * x.sign() * torch.expm1(-x.abs() / self.scale)

    def icdf(self, value):
        x = value - 0.5
        return self.loc - self.scale * x.sign() * torch.log1p(-2 * x.abs())

    def entropy(self):
        return 1 + torch.log(2 * self.scale)
