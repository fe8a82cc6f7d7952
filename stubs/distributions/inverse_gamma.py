"""The inverse gamma distribution."""

import torch

from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform


class InverseGamma(TransformedDistribution):
    """The distribution of the reciprocal of a gamma variable."""

    arg_constraints, support = (
        {"concentration": constraints.positive, "rate": constraints.positive},
        constraints.positive,
    )
    concentration = property(lambda self: self.base_dist.concentration, doc="The shape parameter, alpha.")
    rate = property(lambda self: self.base_dist.rate, doc="The rate of the gamma whose inverse it is, beta.")
    mean = property(lambda self: torch.where(self.concentration > 1, self.rate / (self.concentration - 1), torch.inf))
    mode = property(lambda self: self.rate / (self.concentration + 1))

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def variance(self):
        a = self.concentration
        return torch.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), torch.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
