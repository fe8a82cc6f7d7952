"""The Bernoulli distribution."""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .distribution import _ProbsOrLogits
from .exp_family import ExponentialFamily
from .utils import broadcast_all


class Bernoulli(_ProbsOrLogits, ExponentialFamily):
    """A distribution over 0 and 1."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support, has_enumerate_support, _mean_carrier_measure = constraints.boolean, True, 0
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def __init__(self, probs=None, logits=None, validate_args=None):
        name, value = self._set_param(probs, logits)
        self._setup(validate_args, **{name: value})

    @property
    def mode(self):
        return torch.where(self.probs == 0.5, torch.nan, (self.probs >= 0.5).to(self.probs))

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._enumerate(2, self._param.dtype, expand)

    _natural_params = property(lambda self: (torch.logit(self.probs),))

    def _log_normalizer(self, x):
        return torch.log1p(torch.exp(x))
