"""The Weibull distribution."""

import torch

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant


class Weibull(TransformedDistribution):
    """The Weibull distribution, that of the time to a failure whose rate is a power of time."""

    arg_constraints, support = (
        {"scale": constraints.positive, "concentration": constraints.positive},
        constraints.positive,
    )
    concentration_reciprocal = property(lambda self: self.concentration.reciprocal(), doc="One over the concentration.")
    mode = property(
        lambda self: self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal
    )

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(
            Exponential(torch.ones_like(self.scale), validate_args=validate_args),
            [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)],
            validate_args=validate_args,
        )

    def _log_moment(self, n):
        return torch.lgamma(1 + n * self.concentration_reciprocal)

    @property
    def mean(self):
        return self.scale * torch.exp(self._log_moment(1))

    @property
    def variance(self):
        return self.scale.pow(2) * (torch.exp(self._log_moment(2)) - torch.exp(2 * self._log_moment(1)))

    def entropy(self):
        r = self.concentration_reciprocal
        return euler_constant * (1 - r) + torch.log(self.scale * r) + 1
