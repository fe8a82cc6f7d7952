"""The gamma distribution."""

import torch

from . import constraints
from .exp_family import ExponentialFamily


class Gamma(ExponentialFamily):
    """The gamma distribution."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support, has_rsample, _mean_carrier_measure = constraints.nonnegative, True, 0
    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def __init__(self, concentration, rate, validate_args=None):
        self._setup(validate_args, concentration=concentration, rate=rate)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        value = torch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)  # outside of the autograd graph
        return value

    def log_prob(self, value):
        return super().log_prob(torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))

    def _log_prob(self, value):
        a, b = self.concentration, self.rate
        return torch.xlogy(a, b) + torch.xlogy(a - 1, value) - b * value - torch.lgamma(a)

    def _cdf(self, value):
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - torch.log(self.rate) + torch.lgamma(a) + (1 - a) * torch.digamma(a)

    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))

    def _log_normalizer(self, x, y):
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-y.reciprocal())
