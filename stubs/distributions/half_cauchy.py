"""The half-Cauchy distribution."""

import torch

from .cauchy import Cauchy
from .half_normal import _Half


class HalfCauchy(_Half):
    """The distribution of the absolute value of a Cauchy variable centred at 0."""

    _base = Cauchy
    mean = property(lambda self: self.scale.new_full(self._extended_shape(), torch.inf))
    variance = property(lambda self: self.base_dist.variance)

    def log_prob(self, value):
        if self._validate_args:  # validation takes tensors only
            self._validate_sample(value)
        return super().log_prob(torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
