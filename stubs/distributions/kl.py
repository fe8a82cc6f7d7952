"""The Kullback-Leibler divergence, by pairs of distribution families."""

import math
import warnings

import torch
from torch.nn.functional import softplus

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, _half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["register_kl", "kl_divergence"]
_KL_REGISTRY, _KL_MEMOIZE = {}, {}
inf, xlogy, digamma, lgamma = torch.inf, torch.special.xlogy, torch.digamma, torch.lgamma


def register_kl(type_p, type_q):
    """Return a decorator that registers a function to compute KL(p || q) for these families."""
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        # any class is accepted: a family may have PyTorch's methods without being a subclass
        if not isinstance(cls, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {cls}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _dispatch_kl(type_p, type_q):
    """Return the most specific matching function; warn where p and q lead to different ones."""
    matches = [m for m in _KL_REGISTRY if issubclass(type_p, m[0]) and issubclass(type_q, m[1])]
    if not matches:
        return NotImplemented

    def distance(pair):
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    left, right = min(matches, key=distance), min(matches, key=lambda m: distance(m)[::-1])
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p, q):
    """Return KL(p || q) for each index of the batch."""
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch_kl(*key)
    if _KL_MEMOIZE[key] is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return _KL_MEMOIZE[key](p, q)


def _same_events(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed"
        )


def _square_sum(m):
    return m.pow(2).sum((-2, -1))


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli(p, q):
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = torch.where(p.probs == 0, 0, torch.where(q.probs == 0, inf, t1))
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return t1 + torch.where(p.probs == 1, 0, torch.where(q.probs == 1, inf, t2))


@register_kl(Binomial, Binomial)
def _kl_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, inf, kl)


@register_kl(Categorical, Categorical)
def _kl_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    return torch.where(p.probs == 0, 0, torch.where(q.probs == 0, inf, t)).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    t = (a - b) * (digamma(a) - digamma(a.sum(-1, True)))
    return lgamma(a.sum(-1)) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1) + t.sum(-1)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    params = [x.detach().requires_grad_() for x in p._natural_params]
    log_normalizer = p._log_normalizer(*params)
    gradients = torch.autograd.grad(log_normalizer.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - log_normalizer
    for x, y, g in zip(params, q._natural_params, gradients):
        result = result - _sum_rightmost((y - x) * g, len(q.event_shape))
    return result


@register_kl(Gumbel, Gumbel)
def _kl_gumbel(p, q):
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return (
        -ratio.log() - shift + ratio * euler_constant + torch.exp(shift + (1 + ratio).lgamma()) - (1 + euler_constant)
    )


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_mvn(p, q):
    _same_events(p, q)
    P, Q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = _square_sum(torch.linalg.solve_triangular(Q, P, upper=False))
    return _half_log_det(Q) - _half_log_det(P) + 0.5 * (trace + _batch_mahalanobis(Q, q.loc - p.loc) - p.event_shape[0])


def _kl_to_lowrank(p, q, p_log_det, roots):
    """Return KL from a normal with covariance sum(r r') over roots to a low-rank normal."""
    _same_events(p, q)
    w, d, tril = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril
    a = torch.linalg.solve_triangular(tril, w.mT / d.unsqueeze(-2), upper=False)
    trace = sum(_square_sum(r * d.rsqrt().unsqueeze(-1)) - _square_sum(a @ r) for r in roots)
    log_det, distance = (
        _batch_lowrank_logdet(w, d, tril) - p_log_det,
        _batch_lowrank_mahalanobis(w, d, q.loc - p.loc, tril),
    )
    return 0.5 * (log_det + trace + distance - p.event_shape[0])


def _lowrank(p):
    w, d = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    return _batch_lowrank_logdet(w, d, p._capacitance_tril), (w, torch.diag_embed(d.sqrt()))


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrank(p, q):
    return _kl_to_lowrank(p, q, *_lowrank(p))


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_mvn_lowrank(p, q):
    tril = p._unbroadcasted_scale_tril
    return _kl_to_lowrank(p, q, 2 * _half_log_det(tril), (tril,))


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrank_mvn(p, q):
    _same_events(p, q)
    Q, (log_det, roots) = q._unbroadcasted_scale_tril, _lowrank(p)
    trace = sum(_square_sum(torch.linalg.solve_triangular(Q, r, upper=False)) for r in roots)
    return 0.5 * (2 * _half_log_det(Q) - log_det + trace + _batch_mahalanobis(Q, q.loc - p.loc) - p.event_shape[0])


@register_kl(Normal, Normal)
def _kl_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torch.where(p.scale < q.scale, inf, result)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Beta, Normal)
def _kl_beta_normal(p, q):
    second = p.variance + p.mean.pow(2)
    return (
        -p.entropy()
        + 0.5 * (2 * math.pi * q.scale.pow(2)).log()
        + (0.5 * second - q.loc * p.mean + 0.5 * q.loc.pow(2)) / q.scale.pow(2)
    )


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    width, a, b = p.high - p.low, q.concentration1, q.concentration0
    t2 = (a - 1) * (xlogy(p.high, p.high) - xlogy(p.low, p.low) - width) / width
    t3 = (b - 1) * (xlogy(1 - p.high, 1 - p.high) - xlogy(1 - p.low, 1 - p.low) + width) / width
    return torch.where((p.high > 1) | (p.low < 0), inf, t3 + lgamma(a) + lgamma(b) - lgamma(a + b) - width.log() - t2)


@register_kl(Laplace, Laplace)
def _kl_laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    diff, x = p.loc - q.loc, (p.loc - q.loc) / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * x.pow(2)) + diff * torch.erf(math.sqrt(0.5) * x)
    return mean_distance / q.scale - torch.log(p.scale / q.scale) - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    common = p.scale.log() + p.alpha.reciprocal()
    result = (
        p.alpha.log()
        - common
        + lgamma(q.concentration)
        - q.concentration * q.rate.log()
        + (1 - q.concentration) * common
        + q.rate * p.alpha * p.scale / (p.alpha - 1)
        - 1
    )
    return torch.where(p.alpha <= 1, inf, result)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    common = p.scale / (p.alpha - 1)
    t1 = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
    t2 = p.alpha * common.pow(2) / (p.alpha - 2) + (p.alpha * common - q.loc).pow(2)
    return torch.where(p.alpha <= 2, inf, t1 + t2 / (2 * q.scale.pow(2)) - 1)


def _mean_log(p):
    """Return the mean of log x under a uniform distribution."""
    return (xlogy(p.high, p.high) - xlogy(p.low, p.low)) / (p.high - p.low) - 1


def _normal_cross(q, mean, second):
    """Return -E log q for a normal q, from the mean and the second moment."""
    return (
        0.5 * math.log(2 * math.pi) + q.scale.log() + (second - 2 * q.loc * mean + q.loc.pow(2)) / (2 * q.scale.pow(2))
    )


def _gamma_cross(q, mean, mean_log):
    """Return -E log q for a gamma distribution q."""
    return lgamma(q.concentration) - q.concentration * q.rate.log() - (q.concentration - 1) * mean_log + q.rate * mean


def _gumbel_cross(q, mean, mean_exp):
    """Return -E log q for a Gumbel distribution q; mean_exp is E exp(-x / scale)."""
    return q.scale.log() + (mean - q.loc) / q.scale + torch.exp(q.loc / q.scale) * mean_exp


def _second(p):
    return p.variance + p.mean.pow(2)


_FORMULAS = {
    (Beta, Beta): lambda p, q: _kl_dirichlet(p._dirichlet, q._dirichlet),
    (ContinuousBernoulli, ContinuousBernoulli): lambda p, q: (
        p.mean * (p.logits - q.logits)
        + p._cont_bern_log_norm()
        + (-p.probs).log1p()
        - q._cont_bern_log_norm()
        - (-q.probs).log1p()
    ),
    (Exponential, Exponential): lambda p, q: q.rate / p.rate - (q.rate / p.rate).log() - 1,
    (Gamma, Gamma): lambda p, q: (
        q.concentration * (p.rate / q.rate).log()
        + lgamma(q.concentration)
        - lgamma(p.concentration)
        + (p.concentration - q.concentration) * digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    ),
    (Geometric, Geometric): lambda p, q: -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits,
    (HalfNormal, HalfNormal): lambda p, q: _kl_normal(p.base_dist, q.base_dist),
    (OneHotCategorical, OneHotCategorical): lambda p, q: _kl_categorical(p._categorical, q._categorical),
    (Poisson, Poisson): lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
    (Uniform, Uniform): lambda p, q: torch.where(
        (q.low > p.low) | (q.high < p.high), inf, ((q.high - q.low) / (p.high - p.low)).log()
    ),
    (Cauchy, Cauchy): lambda p, q: (
        ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()
    ),
    (Bernoulli, Poisson): lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate),
    (Beta, ContinuousBernoulli): lambda p, q: (
        -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()
    ),
    (Beta, Exponential): lambda p, q: -p.entropy() - q.rate.log() + q.rate * p.mean,
    (Beta, Gamma): lambda p, q: (
        -p.entropy() + _gamma_cross(q, p.mean, digamma(p.concentration1) - digamma(p.concentration1 + p.concentration0))
    ),
    (Beta, Uniform): lambda p, q: torch.where((q.low > 0) | (q.high < 1), inf, -p.entropy() + (q.high - q.low).log()),
    (ContinuousBernoulli, Exponential): lambda p, q: -p.entropy() - q.rate.log() + q.rate * p.mean,
    (ContinuousBernoulli, Normal): lambda p, q: -p.entropy() + _normal_cross(q, p.mean, _second(p)),
    (ContinuousBernoulli, Uniform): lambda p, q: torch.where(
        (q.low >= 0) | (q.high <= 1), inf, -p.entropy() + (q.high - q.low).log()
    ),
    (Exponential, Gamma): lambda p, q: -p.entropy() + _gamma_cross(q, p.mean, -euler_constant - p.rate.log()),
    (Exponential, Gumbel): lambda p, q: (
        -p.entropy() + _gumbel_cross(q, p.mean, p.rate * q.scale / (p.rate * q.scale + 1))
    ),
    (Exponential, Normal): lambda p, q: -p.entropy() + _normal_cross(q, p.mean, _second(p)),
    (Gamma, Exponential): lambda p, q: -p.entropy() - q.rate.log() + q.rate * p.mean,
    (Gamma, Gumbel): lambda p, q: (
        -p.entropy() + _gumbel_cross(q, p.mean, (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration))
    ),
    (Gamma, Normal): lambda p, q: -p.entropy() + _normal_cross(q, p.mean, _second(p)),
    (Gumbel, Normal): lambda p, q: -p.entropy() + _normal_cross(q, p.mean, _second(p)),
    (Laplace, Normal): lambda p, q: -p.entropy() + _normal_cross(q, p.mean, _second(p)),
    (Normal, Gumbel): lambda p, q: (
        -p.entropy() + _gumbel_cross(q, p.mean, torch.exp(-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)))
    ),
    (Pareto, Exponential): lambda p, q: torch.where(
        p.alpha <= 1,
        inf,
        (p.alpha / (p.scale * q.rate)).log() - p.alpha.reciprocal() + p.alpha * p.scale * q.rate / (p.alpha - 1) - 1,
    ),
    (Uniform, ContinuousBernoulli): lambda p, q: torch.where(
        (p.high >= 1) | (p.low <= 0),
        inf,
        -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm(),
    ),
    (Uniform, Exponential): lambda p, q: torch.where(p.low < 0, inf, -p.entropy() - q.rate.log() + q.rate * p.mean),
    (Uniform, Gamma): lambda p, q: torch.where(p.low < 0, inf, -p.entropy() + _gamma_cross(q, p.mean, _mean_log(p))),
    (Uniform, Gumbel): lambda p, q: (
        -p.entropy()
        + _gumbel_cross(
            q, p.mean, q.scale / (p.high - p.low) * (torch.exp(-p.low / q.scale) - torch.exp(-p.high / q.scale))
        )
    ),
    (Uniform, Normal): lambda p, q: -p.entropy() + _normal_cross(q, p.mean, _second(p)),
    (Uniform, Pareto): lambda p, q: torch.where(
        p.low < q.scale, inf, -p.entropy() - (q.alpha * q.scale.pow(q.alpha)).log() + (q.alpha + 1) * _mean_log(p)
    ),
}
_KL_REGISTRY.update(_FORMULAS)
# pairs for which p has mass where q has none, so that the divergence is infinite
_INFINITE = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
for _p, _qs in _INFINITE.items():
    for _q in _qs:
        _KL_REGISTRY[_p, _q] = lambda p, q: torch.full_like(getattr(p, next(iter(p.arg_constraints))), inf)
