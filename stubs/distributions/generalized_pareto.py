"""The generalized Pareto distribution."""

import torch

from . import constraints
from .distribution import Distribution


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution, that of exceedances over a threshold."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    mode = property(lambda self: self.loc)

    def __init__(self, loc, scale, concentration, validate_args=None):
        self._setup(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(
            self.loc, torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, torch.inf)
        )

    def _split(self):
        """Return where the concentration is zero, and the concentration with ones at these places."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape=torch.Size()):
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def _log_prob(self, value):
        zero, c = self._split()
        z = (value - self.loc) / self.scale
        y = 1 / c + 1 + torch.zeros_like(z)
        return -self.scale.log() - torch.where(zero, z, torch.where(y == 0, y, y * torch.log1p(c * z)))

    def log_survival_function(self, value):
        """Return the log-probability of a sample greater than ``value``."""
        if self._validate_args:
            self._validate_sample(value)
        zero, c = self._split()
        z = (value - self.loc) / self.scale
        return torch.where(zero, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value):
        """Return the logarithm of ``cdf(value)``."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def _cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        zero, c = self._split()
        logu = torch.log1p(-value)
        return torch.where(zero, self.loc - self.scale * logu, self.loc + self.scale / c * torch.expm1(-c * logu))

    @property
    def mean(self):
        c = self.concentration
        return torch.where(c < 1, self.loc + self.scale / (1 - torch.where(c < 1, c, 0.5)), torch.nan)

    @property
    def variance(self):
        c = self.concentration
        safe = torch.where(c < 0.5, c, 0.25)
        return torch.where(c < 0.5, self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe)), torch.nan)

    def entropy(self):
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)
