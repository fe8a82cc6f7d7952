"""The relaxed one-hot categorical distribution."""

import torch

from . import constraints
from .one_hot_categorical import _OfCategorical
from .relaxed_bernoulli import _Relaxed
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs


class ExpRelaxedCategorical(_OfCategorical):
    """The distribution of the logarithm of a RelaxedOneHotCategorical variable."""

    support, has_rsample = constraints.real_vector, True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._set_categorical(probs, logits, validate_args)

    def rsample(self, sample_shape=torch.Size()):
        u = clamp_probs(
            torch.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype, device=self.logits.device)
        )
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def _log_prob(self, value):
        k, (logits, value) = self._categorical._num_events, broadcast_all(self.logits, value)
        log_scale = torch.full_like(self.temperature, float(k)).lgamma() - self.temperature.log().mul(-(k - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(_Relaxed):
    """A continuous relaxation of OneHotCategorical."""

    arg_constraints, support, has_rsample = ExpRelaxedCategorical.arg_constraints, constraints.simplex, True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(
            ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args),
            ExpTransform(),
            validate_args=validate_args,
        )
