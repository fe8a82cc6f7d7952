"""The negative binomial distribution."""

import torch
import torch.nn.functional as F

from . import constraints
from .distribution import _WithCount
from .gamma import Gamma


class NegativeBinomial(_WithCount):
    """The distribution of the number of successes before ``total_count`` failures."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    mean = property(lambda self: self.total_count * torch.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        super().__init__(total_count, probs, logits, validate_args)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            rate = Gamma(self.total_count, torch.exp(-self.logits), validate_args=False).sample(sample_shape)
            return torch.poisson(rate)

    def _log_prob(self, value):
        n = self.total_count
        normalizer = torch.lgamma(1.0 + value) + torch.lgamma(n) - torch.lgamma(n + value)
        return (n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)) - normalizer.masked_fill(
            n + value == 0, 0
        )
