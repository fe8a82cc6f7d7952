"""The geometric distribution."""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .distribution import _ProbsOrLogits
from .utils import broadcast_all


class Geometric(_ProbsOrLogits):
    """The distribution of the number of failures before the first success."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def __init__(self, probs=None, logits=None, validate_args=None):
        name, value = self._set_param(probs, logits)
        self._setup(validate_args, **{name: value})
        if self._validate_args and probs is not None and not torch._is_all_true(self.probs > 0):
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid "
                f"values:\n{self.probs.detach()[~(self.probs > 0)]}"
            )

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def _log_prob(self, value):
        value, probs = broadcast_all(value, self.probs)
        return value * (-probs.masked_fill((probs == 1) & (value == 0), 0)).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
