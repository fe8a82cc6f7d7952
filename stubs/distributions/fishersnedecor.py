"""The Fisher-Snedecor distribution."""

import torch

from . import constraints
from .distribution import Distribution
from .gamma import Gamma


class FisherSnedecor(Distribution):
    """The distribution of the ratio of two chi-squared variables, each divided by its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support, has_rsample, _nested = constraints.positive, True, ("_gamma1", "_gamma2")

    def __init__(self, df1, df2, validate_args=None):
        self._setup(validate_args, df1=df1, df2=df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)

    @property
    def mean(self):
        return torch.where(self.df2 <= 2, torch.nan, self.df2 / (self.df2 - 2))

    @property
    def mode(self):
        return torch.where(self.df1 <= 2, torch.nan, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2))

    @property
    def variance(self):
        a, b = self.df1, self.df2
        return torch.where(b <= 4, torch.nan, 2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4)))

    def rsample(self, sample_shape=torch.Size()):
        x1, x2 = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = torch.finfo(x2.dtype).tiny
        return (x1 / x2.clamp(min=tiny)).clamp(min=tiny)

    def _log_prob(self, value):
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        t1 = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return t1 + (a * ratio.log() + (a - 1) * value.log()) - (a + b) * torch.log1p(ratio * value)
