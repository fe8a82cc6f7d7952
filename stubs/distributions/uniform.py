"""The uniform distribution."""

import torch

from . import constraints
from .distribution import Distribution


class Uniform(Distribution):
    """The uniform distribution on [low, high)."""

    has_rsample = True
    arg_constraints = property(
        lambda self: {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}
    )
    support = constraints.dependent_property(
        lambda self: constraints.interval(self.low, self.high), is_discrete=False, event_dim=0
    )
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: torch.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def __init__(self, low, high, validate_args=None):
        self._setup(validate_args, low=low, high=high)

    def rsample(self, sample_shape=torch.Size()):
        u = torch.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def _log_prob(self, value):
        inside = self.low.le(value) & self.high.gt(value)
        return torch.log(inside.type_as(self.low)) - torch.log(self.high - self.low)

    def _cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return torch.log(self.high - self.low)
