"""The Wishart distribution."""

import math
import warnings

import torch

from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _ByMatrix, _half_log_det
from .utils import lazy_property


class Wishart(_ByMatrix, ExponentialFamily):
    """The Wishart distribution, that of scatter matrices of normal vectors."""

    support, has_rsample, _mean_carrier_measure = constraints.positive_definite, True, 0
    arg_constraints = property(
        lambda self: {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }
    )

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        (matrix,) = given
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = torch.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape, p = torch.broadcast_shapes(matrix.shape[:-2], df.shape), matrix.shape[-1]
        self.df = df.expand(batch_shape)
        if (self.df <= p - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {p - 1}.")
        if (self.df < p).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        self._set_matrix(batch_shape, covariance_matrix, precision_matrix, scale_tril)
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor()

    @lazy_property
    def _dist_chi2(self):
        return Chi2(
            self.df.unsqueeze(-1) - torch.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        )

    def _df(self):
        return self.df.view(self._batch_shape + (1, 1))

    @property
    def mean(self):
        return self._df() * self.covariance_matrix

    @property
    def mode(self):
        factor = self._df() - self._event_shape[-1] - 1
        return torch.where(factor <= 0, torch.nan, factor) * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._df() * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape=torch.Size()):
        p = self._event_shape[-1]
        root = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = root.clamp(min=torch.finfo(root.dtype).eps).diag_embed()
        i, j = torch.tril_indices(p, p, offset=-1)
        noise[..., i, j] = torch.randn(
            torch.Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,), dtype=noise.dtype, device=noise.device
        )
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _of_batches(self, checked):
        return checked.amax([-(d + 1) for d in range(len(self._batch_shape))]) if self._batch_shape else checked

    def rsample(self, sample_shape=torch.Size(), max_try_correction=None):
        sample = self._bartlett_sampling(torch.Size(sample_shape))
        # PyTorch's first check is inverted: it takes the valid samples for singular, and draws them again
        again = self._of_batches(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                new = self._bartlett_sampling(again[again].shape)
                sample[again] = new
                again[again.clone()] = self._of_batches(~self.support.check(new))
                if not again.any():
                    break
        return sample

    def _log_prob(self, value):
        nu, p = self.df, self._event_shape[-1]
        inverse = torch.cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (
            -nu * (p * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
            - torch.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - inverse.diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        mvdigamma = torch.digamma((nu / 2).unsqueeze(-1) - torch.arange(p, dtype=nu.dtype, device=nu.device) / 2).sum(
            -1
        )
        return (
            (p + 1) * (p * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
            + torch.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * mvdigamma
            + nu * p / 2
        )

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        return (y + (p + 1) / 2) * (math.log(2) * p - torch.linalg.slogdet(-2 * x).logabsdet) + torch.mvlgamma(
            y + (p + 1) / 2, p=p
        )
