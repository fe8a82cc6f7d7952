"""The logistic-normal distribution."""

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """The distribution of a normal vector mapped to the simplex."""

    arg_constraints, support = {"loc": constraints.real, "scale": constraints.positive}, constraints.simplex
    loc = property(lambda self: self.base_dist.base_dist.loc, doc="The mean of the normal distribution below.")
    scale = property(
        lambda self: self.base_dist.base_dist.scale, doc="The standard deviation of the normal distribution below."
    )

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(
            base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args=validate_args
        )
