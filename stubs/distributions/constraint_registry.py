"""The registry of transforms from the real numbers to the region of a constraint."""

from numbers import Number

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Factories of transforms by type of constraint."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Register the factory for a constraint or its class; without a factory this is a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        cls = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(cls, type) or not issubclass(cls, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[cls] = factory
        return factory

    def __call__(self, constraint):
        if type(constraint) not in self._registry:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return self._registry[type(constraint)](constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _exp_then_affine(bound, scale):
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(bound, scale)])


def _to_interval(c):
    low, high = c.lower_bound, c.upper_bound
    if isinstance(low, Number) and isinstance(high, Number) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


for _to in (biject_to, transform_to):
    _to.register(constraints.real, lambda c: transforms.identity_transform)
    _to.register(
        constraints.independent,
        lambda c, _to=_to: transforms.IndependentTransform(_to(c.base_constraint), c.reinterpreted_batch_ndims),
    )
    _to.register(
        constraints.cat, lambda c, _to=_to: transforms.CatTransform([_to(p) for p in c.cseq], c.dim, c.lengths)
    )
    _to.register(constraints.stack, lambda c, _to=_to: transforms.StackTransform([_to(p) for p in c.cseq], c.dim))
    for _c in (constraints.greater_than, constraints.greater_than_eq):
        _to.register(_c, lambda c: _exp_then_affine(c.lower_bound, 1))
    _to.register(constraints.less_than, lambda c: _exp_then_affine(c.upper_bound, -1))
    for _c in (constraints.interval, constraints.half_open_interval):
        _to.register(_c, _to_interval)
    _to.register(constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _c in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_c, lambda c: transforms.PositiveDefiniteTransform())
