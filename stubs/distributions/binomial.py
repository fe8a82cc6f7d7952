"""The binomial distribution."""

import torch

from . import constraints
from .distribution import _WithCount


class Binomial(_WithCount):
    """The distribution of the number of successes in ``total_count`` trials."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    def sample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def _log_prob(self, value):
        n, x = self.total_count, self.logits
        positive_part = (x.clamp(min=0) + x - x.clamp(max=0)) / 2  # max(x, 0), with derivative 1/2 at 0
        normalizer = n * positive_part + n * torch.log1p(torch.exp(-x.abs())) - torch.lgamma(n + 1)
        return value * x - torch.lgamma(value + 1) - torch.lgamma(n - value + 1) - normalizer

    def _count(self, what):
        n = int(self.total_count.max())
        if not self.total_count.min() == n:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return n

    def entropy(self):
        self._count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        return self._enumerate(1 + self._count("enumerate_support"), self._param.dtype, expand)
