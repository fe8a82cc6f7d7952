"""The relaxed Bernoulli distribution."""

import torch

from . import constraints
from .distribution import Distribution, _ProbsOrLogits
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs


class LogitRelaxedBernoulli(_ProbsOrLogits):
    """The distribution of the logit of a RelaxedBernoulli variable."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        name, value = self._set_param(probs, logits)
        self._setup(validate_args, **{name: value})

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=p.dtype, device=p.device))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def _log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class _Relaxed(TransformedDistribution):
    temperature = property(
        lambda self: self.base_dist.temperature, doc="How far samples are from zero and one: the lower the nearer."
    )
    logits = property(lambda self: self.base_dist.logits, doc="The log-odds.")
    probs = property(lambda self: self.base_dist.probs, doc="The probabilities of one.")


class RelaxedBernoulli(_Relaxed):
    """A continuous relaxation of Bernoulli; the lower the temperature, the nearer samples are to 0 or 1."""

    arg_constraints, support, has_rsample = LogitRelaxedBernoulli.arg_constraints, constraints.unit_interval, True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(
            LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args
        )
