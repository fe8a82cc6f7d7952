"""The multivariate normal distribution."""

import math

import torch

from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property


def _batch_mv(bmat, bvec):
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL, bx):
    """Return x' (L L')^-1 x for batches of x and L that broadcast."""
    return torch.linalg.solve_triangular(bL, bx.unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)


def _half_log_det(tril):
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _precision_to_scale_tril(P):
    flipped = torch.linalg.cholesky(torch.flip(P, (-2, -1)))
    eye = torch.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return torch.linalg.solve_triangular(torch.flip(flipped, (-2, -1)).mT, eye, upper=False)


class _ByMatrix(Distribution):
    """A distribution given by one of three matrices; the Cholesky factor of the covariance is kept unexpanded."""

    def _set_matrix(self, batch_shape, covariance_matrix, precision_matrix, scale_tril):
        for name, matrix in (
            ("scale_tril", scale_tril),
            ("covariance_matrix", covariance_matrix),
            ("precision_matrix", precision_matrix),
        ):
            if matrix is not None:
                self.__dict__[name] = matrix.expand(batch_shape + (-1, -1))
                self._given = name, matrix

    def _factor(self):
        name, matrix = self.__dict__.pop("_given")
        if name == "scale_tril":
            return matrix
        return torch.linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)

    def _expanded(self, matrix):
        n = self._event_shape[-1]
        return matrix.expand(self._batch_shape + (n, n))

    @lazy_property
    def scale_tril(self):
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        return self._expanded(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        return self._expanded(torch.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(_ByMatrix):
    """A multivariate normal given by the covariance, its inverse or its Cholesky factor."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support, has_rsample = constraints.real_vector, True
    mean = mode = property(lambda self: self.loc)

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = {k: v for k, v in given.items() if v is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} {'matrix ' * (name == 'scale_tril')}must be at least two-dimensional, "
                "with optional leading batch dimensions"
            )
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self._set_matrix(batch_shape, covariance_matrix, precision_matrix, scale_tril)
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor()

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=torch.Size()):
        eps = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def _log_prob(self, value):
        m = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + m) - _half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self):
        h = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + _half_log_det(self._unbroadcasted_scale_tril)
        return h.expand(self._batch_shape)
