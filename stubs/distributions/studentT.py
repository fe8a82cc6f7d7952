"""Student's t distribution."""

import math

import torch

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal


class StudentT(Distribution):
    """Student's t distribution."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support, has_rsample, _nested = constraints.real, True, ("_chi2",)
    mean = property(lambda self: torch.where(self.df <= 1, torch.nan, self.loc))
    mode = property(lambda self: self.loc)

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self._setup(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    @property
    def variance(self):
        finite = torch.where(self.df > 2, self.scale.pow(2) * self.df / (self.df - 2), torch.inf)
        return torch.where(self.df <= 1, torch.nan, finite)

    def rsample(self, sample_shape=torch.Size()):
        x = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * (x * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def _log_prob(self, value):
        df, y = self.df, (value - self.loc) / self.scale
        z = (
            self.scale.log()
            + 0.5 * df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * df)
            - torch.lgamma(0.5 * (df + 1.0))
        )
        return -0.5 * (df + 1.0) * torch.log1p(y**2.0 / df) - z

    def entropy(self):
        half, half1 = 0.5 * self.df, 0.5 * (self.df + 1)
        lbeta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(half1)
        return self.scale.log() + half1 * (torch.digamma(half1) - torch.digamma(half)) + 0.5 * self.df.log() + lbeta
