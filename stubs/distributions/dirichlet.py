"""The Dirichlet distribution."""

import torch
from torch.nn.functional import one_hot

from . import constraints
from .exp_family import ExponentialFamily


def _Dirichlet_backward(x, concentration, grad_output):
    """Return the gradient with respect to the concentration for samples x."""
    total = concentration.sum(-1, True).expand_as(concentration)
    return torch._dirichlet_grad(x, concentration, total) * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(torch.autograd.Function):
    """Autograd function that draws samples, with the gradient with respect to the concentration."""

    @staticmethod
    def forward(ctx, concentration):
        x = torch._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    def backward(ctx, g):
        return _Dirichlet_backward(*ctx.saved_tensors, g)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution over the simplex."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support, has_rsample = constraints.simplex, True
    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mode(self):
        c = (self.concentration - 1).clamp(min=0)
        mode = c / c.sum(-1, True)
        corner = one_hot(mode.argmax(dim=-1), c.shape[-1]).to(mode)
        return torch.where((self.concentration < 1).all(-1, keepdim=True), corner, mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value):
        c = self.concentration
        return torch.xlogy(c - 1, value).sum(-1) + torch.lgamma(c.sum(-1)) - torch.lgamma(c).sum(-1)

    def entropy(self):
        c = self.concentration
        total = c.sum(-1)
        return (
            torch.lgamma(c).sum(-1)
            - torch.lgamma(total)
            - (c.size(-1) - total) * torch.digamma(total)
            - ((c - 1) * torch.digamma(c)).sum(-1)
        )

    _natural_params = property(lambda self: (self.concentration,))

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
