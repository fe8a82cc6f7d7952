"""The multinomial distribution."""

import torch

from . import constraints
from .binomial import Binomial
from .one_hot_categorical import _OfCategorical
from .utils import broadcast_all


class Multinomial(_OfCategorical):
    """The distribution of how often each category occurs in ``total_count`` draws."""

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._set_categorical(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape=torch.Size()):
        sample_shape = torch.Size(sample_shape)
        samples = self._categorical.sample(torch.Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = samples.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, samples, torch.ones_like(samples)).type_as(self.probs)

    def entropy(self):
        n = torch.tensor(self.total_count)
        binomial = Binomial(self.total_count, probs=self.probs)
        support = binomial.enumerate_support(expand=False)[1:]
        term = (binomial.log_prob(support).exp() * torch.lgamma(support + 1)).sum([0, -1])
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + term

    def _log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -torch.inf), 0)
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)
