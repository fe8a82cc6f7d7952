"""The Gumbel distribution."""

import math

import torch

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, a limit distribution of maxima."""

    arg_constraints, support = {"loc": constraints.real, "scale": constraints.positive}, constraints.real
    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info = torch.finfo(self.loc.dtype)
        base = Uniform(
            torch.full_like(self.loc, info.tiny), torch.full_like(self.loc, 1 - info.eps), validate_args=validate_args
        )
        super().__init__(
            base,
            [
                ExpTransform().inv,
                AffineTransform(0, -torch.ones_like(self.scale)),
                ExpTransform().inv,
                AffineTransform(loc, -self.scale),
            ],
            validate_args=validate_args,
        )

    def _log_prob(self, value):
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
