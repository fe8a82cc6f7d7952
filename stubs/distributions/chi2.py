"""The chi-squared distribution."""

from . import constraints
from .gamma import Gamma


class Chi2(Gamma):
    """The chi-squared distribution, that of the sum of squares of ``df`` standard normal variables."""

    arg_constraints = {"df": constraints.positive}
    df = property(lambda self: self.concentration * 2, doc="The degrees of freedom.")

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new.concentration, new.rate = self.concentration.expand(batch_shape), self.rate.expand(batch_shape)
        return new
