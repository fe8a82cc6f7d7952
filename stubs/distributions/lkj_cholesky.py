"""The LKJ distribution of Cholesky factors."""

import math

import torch

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all


class LKJCholesky(Distribution):
    """The distribution of Cholesky factors of random correlation matrices.

    Samples are drawn by the onion method of Lewandowski, Kurowicka and Joe.
    """

    arg_constraints, support, _nested = {"concentration": constraints.positive}, constraints.corr_cholesky, ("_beta",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim, (self.concentration,) = dim, broadcast_all(concentration)
        offset = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = torch.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def _nested_shape(self, name, batch_shape):
        return batch_shape + (self.dim,)

    def sample(self, sample_shape=torch.Size()):
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        u = torch.randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
        u = u / u.norm(dim=-1, keepdim=True)
        u[..., 0, :] = 0
        w = torch.sqrt(y) * u
        return w + torch.diag_embed((1 - (w**2).sum(-1)).clamp(min=torch.finfo(w.dtype).tiny).sqrt())

    def _log_prob(self, value):
        d, c = self.dim, self.concentration
        order = 2 * (c - 1).unsqueeze(-1) + d - torch.arange(2, d + 1, device=c.device)
        unnormalized = (order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        alpha = c + 0.5 * (d - 1)
        return unnormalized - (
            0.5 * (d - 1) * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, d - 1) - torch.lgamma(alpha) * (d - 1)
        )
