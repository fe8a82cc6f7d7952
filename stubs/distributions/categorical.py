"""The categorical distribution."""

import torch

from . import constraints
from .distribution import Distribution, _ProbsOrLogits


class Categorical(_ProbsOrLogits):
    """A distribution over categories, which are the last dimension of ``probs`` or ``logits``."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support, _binary = True, False
    mode = property(lambda self: self.probs.argmax(dim=-1))
    mean = variance = property(lambda self: self.probs.new_full(self._extended_shape(), torch.nan))

    def __init__(self, probs=None, logits=None, validate_args=None):
        name, value = self._set_param(probs, logits)
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        value = value / value.sum(-1, keepdim=True) if logits is None else value - value.logsumexp(dim=-1, keepdim=True)
        self.__dict__[name] = value
        self._num_events = value.size(-1)
        Distribution.__init__(self, value.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    def sample(self, sample_shape=torch.Size()):
        sample_shape = torch.Size(sample_shape)
        samples = torch.multinomial(self.probs.reshape(-1, self._num_events), sample_shape.numel(), True).T
        return samples.reshape(self._extended_shape(sample_shape))

    def _log_prob(self, value):
        value, log_pmf = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        return -(self.logits.clamp(min=torch.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._enumerate(self._num_events, torch.long, expand)
