"""The categorical distribution with one-hot samples."""

import torch
from torch.nn.functional import one_hot

from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class _OfCategorical(Distribution):
    """A distribution whose event is a vector with one entry for each category."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _nested = ("_categorical",)
    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs, doc="The probabilities.")
    logits = property(lambda self: self._categorical.logits, doc="The logarithms of the probabilities.")
    param_shape = property(
        lambda self: self._categorical.param_shape, doc="The shape of the parameter, which ends in the categories."
    )

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    def _set_categorical(self, probs, logits, validate_args):
        self._categorical = Categorical(probs, logits)
        Distribution.__init__(self, self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)


class OneHotCategorical(_OfCategorical):
    """A distribution over categories, represented by one-hot vectors."""

    support, has_enumerate_support = constraints.one_hot, True
    mean = property(lambda self: self.probs)
    mode = property(lambda self: one_hot(self.probs.argmax(dim=-1), self.event_shape[0]).to(self.probs))
    variance = property(lambda self: self.probs * (1 - self.probs))

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set_categorical(probs, logits, validate_args)

    def sample(self, sample_shape=torch.Size()):
        return one_hot(self._categorical.sample(sample_shape), self.event_shape[0]).to(self.probs)

    def _log_prob(self, value):
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device).view(
            (n,) + (1,) * len(self.batch_shape) + (n,)
        )
        return values.expand((n,) + self.batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose samples pass gradients to the probabilities unchanged."""

    has_rsample = True

    def rsample(self, sample_shape=torch.Size()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
