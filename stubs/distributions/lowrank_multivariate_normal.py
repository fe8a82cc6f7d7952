"""The multivariate normal distribution with a low-rank covariance."""

import math

import torch

from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, _half_log_det
from .utils import _standard_normal, lazy_property


def _batch_capacitance_tril(W, D):
    eye = torch.eye(W.size(-1), dtype=W.dtype, device=W.device)
    return torch.linalg.cholesky(W.mT / D.unsqueeze(-2) @ W + eye)


def _batch_lowrank_logdet(W, D, capacitance_tril):
    return 2 * _half_log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W, D, x, capacitance_tril):
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, _batch_mv(W.mT / D.unsqueeze(-2), x))


class LowRankMultivariateNormal(Distribution):
    """A multivariate normal with covariance cov_factor cov_factor' + diag(cov_diag)."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support, has_rsample = constraints.real_vector, True
    mean = mode = property(lambda self: self.loc)

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            loc_, self.cov_factor, diag_ = torch.broadcast_tensors(
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            )
        except RuntimeError as e:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from e
        self.loc, self.cov_diag = loc_[..., 0], diag_[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def _wd(self):
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    @lazy_property
    def variance(self):
        w, d = self._wd()
        return (w.pow(2).sum(-1) + d).expand(self._batch_shape + self._event_shape)

    def _expanded(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape * 2)

    @lazy_property
    def scale_tril(self):
        w, root = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        w = w / root
        return self._expanded(
            root * torch.linalg.cholesky(w @ w.mT + torch.eye(w.size(-2), dtype=w.dtype, device=w.device))
        )

    @lazy_property
    def covariance_matrix(self):
        w, d = self._wd()
        return self._expanded(w @ w.mT + torch.diag_embed(d))

    @lazy_property
    def precision_matrix(self):
        w, d = self._wd()
        a = torch.linalg.solve_triangular(self._capacitance_tril, w.mT / d.unsqueeze(-2), upper=False)
        return self._expanded(torch.diag_embed(d.reciprocal()) - a.mT @ a)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        eps_w = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        eps_d = _standard_normal(shape, self.loc.dtype, self.loc.device)
        w, d = self._wd()
        return self.loc + _batch_mv(w, eps_w) + d.sqrt() * eps_d

    def _log_prob(self, value):
        m = _batch_lowrank_mahalanobis(*self._wd(), value - self.loc, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*self._wd(), self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + m)

    def entropy(self):
        log_det = _batch_lowrank_logdet(*self._wd(), self._capacitance_tril)
        return (0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)).expand(self._batch_shape)
