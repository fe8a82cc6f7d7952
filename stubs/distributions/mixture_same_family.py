"""Mixtures of distributions of one family."""

import torch

from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch dimension of ``component_distribution``."""

    arg_constraints, _nested = {}, ("_mixture_distribution", "_component_distribution")
    mixture_distribution = property(
        lambda self: self._mixture_distribution, doc="The Categorical that chooses the component."
    )
    component_distribution = property(
        lambda self: self._component_distribution, doc="The components, batched in the last dimension."
    )

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(a != 1 and b != 1 and a != b for a, b in zip(reversed(mixed), reversed(batch))):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                f"`component_distribution.batch_shape`({batch})"
            )
        self._num_component, found = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if self._num_component != found:
            raise ValueError(
                f"`mixture_distribution component` ({self._num_component}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({found})"
            )
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def _nested_shape(self, name, batch_shape):
        return batch_shape if name == "_mixture_distribution" else batch_shape + (self._num_component,)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def log_prob(self, x):
        """Return the logarithm of the density or mass at ``x``."""
        return super().log_prob(x)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        missing = len(self.batch_shape) - len(self._mixture_distribution.batch_shape)
        return x.reshape(x.shape[:-1] + (1,) * missing + x.shape[-1:] + (1,) * self._event_ndims)

    def _average(self, values):
        return (self._pad_mixture_dimensions(self._mixture_distribution.probs) * values).sum(-1 - self._event_ndims)

    @property
    def mean(self):
        return self._average(self._component_distribution.mean)

    @property
    def variance(self):
        between = self._average((self._component_distribution.mean - self._pad(self.mean)).pow(2))
        return self._average(self._component_distribution.variance) + between

    def cdf(self, x):
        return (self._component_distribution.cdf(self._pad(x)) * self._mixture_distribution.probs).sum(-1)

    def _log_prob(self, x):
        log_mix = torch.log_softmax(self._mixture_distribution.logits, dim=-1)
        return torch.logsumexp(self._component_distribution.log_prob(self._pad(x)) + log_mix, dim=-1)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            sample_shape = torch.Size(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            which = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            which = which.reshape(which.shape + (1,) * (self._event_ndims + 1))
            which = which.repeat((1,) * len(which.shape[: dim + 1]) + tuple(self.event_shape))
            return values.gather(dim, which).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
