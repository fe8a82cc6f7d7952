"""Distributions of transformed samples."""

import torch

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of a base distribution's samples after transforms."""

    arg_constraints, _nested = {}, ("base_dist",)
    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def __init__(self, base_distribution, transforms, validate_args=None):
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        if not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms, chain = transforms, ComposeTransform(transforms)
        base_shape, base_dim = (
            base_distribution.batch_shape + base_distribution.event_shape,
            len(base_distribution.event_shape),
        )
        domain_dim, codomain_dim = chain.domain.event_dim, chain.codomain.event_dim
        if len(base_shape) < domain_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {domain_dim}, but got {base_shape}."
            )
        shape = chain.forward_shape(base_shape)
        expanded = chain.inverse_shape(shape)
        if expanded != base_shape:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_dim])
        if domain_dim > base_dim:
            base_distribution = Independent(base_distribution, domain_dim - base_dim)
        self.base_dist = base_distribution
        cut = len(shape) - max(codomain_dim, base_dim + codomain_dim - domain_dim)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def _nested_shape(self, name, batch_shape):
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self.event_shape)
        return shape[: len(shape) - len(self.base_dist.event_shape)]

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self.event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return ComposeTransform(self.transforms)(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=torch.Size()):
        return ComposeTransform(self.transforms)(self.base_dist.rsample(sample_shape))

    def _log_prob(self, value):
        event_dim, total, y = len(self.event_shape), 0.0, value
        for t in reversed(self.transforms):
            x = t.inv(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            total = total - _sum_rightmost(t.log_abs_det_jacobian(x, y), event_dim - t.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        sign = ComposeTransform(self.transforms).sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for t in reversed(self.transforms):
            value = t.inv(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return ComposeTransform(self.transforms)(self.base_dist.icdf(self._monotonize_cdf(value)))
