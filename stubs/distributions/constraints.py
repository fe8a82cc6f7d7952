"""Constraints: the regions that parameters and samples lie in."""

import torch

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "independent",
    "integer_interval",
    "interval",
    "half_open_interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "MixtureSameFamilyConstraint",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_semidefinite",
    "positive_definite",
    "positive_integer",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A region of values; ``check`` tests for each event whether it lies in the region."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """Return a bool tensor of where values satisfy the constraint, without the event dimensions."""
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__[1:] + "()"


class _Dependent(Constraint):
    """A constraint that depends on other parameters."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint):
    """Whether a constraint depends on other parameters of its distribution."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that returns a constraint; accessed on the class it is a dependent constraint."""

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self.__doc__ = self.__doc__ if fn is not None and fn.__doc__ else "A constraint that depends on the parameters."
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def _check_constraint(c):
    if not isinstance(c, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(c).__name__}")
    return c


class _IndependentConstraint(Constraint):
    """A constraint that treats the last batch dimensions as part of the event."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = (
            _check_constraint(base_constraint),
            reinterpreted_batch_ndims,
        )

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value):
        result, n = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if result.dim() < n:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape(result.shape[: result.dim() - n] + (-1,)).all(-1)

    def __repr__(self):
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The constraint of the components, applied to values of the mixture."""

    def __init__(self, base_constraint):
        self.base_constraint = _check_constraint(base_constraint)

    is_discrete = property(lambda self: self.base_constraint.is_discrete, doc="That of the components.")
    event_dim = property(lambda self: self.base_constraint.event_dim, doc="That of the components.")

    def check(self, value):
        """Return where all components allow the value."""
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return result.reshape(result.shape[: value.dim() - self.event_dim] + (-1,)).all(-1)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_constraint!r})"


def _is_integer(v):
    return v % 1 == 0


def _constraint(name, check, *bounds, is_discrete=False, event_dim=0, base=Constraint, shown=True):
    """Make a class of constraints from its check function; ``bounds`` are the names of its parameters."""

    def lower(self, lower_bound):
        self.lower_bound = lower_bound

    def upper(self, upper_bound):
        self.upper_bound = upper_bound

    def both(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def none(self):
        pass

    init = {(): none, ("lower_bound",): lower, ("upper_bound",): upper}.get(bounds, both)
    init.__name__, init.__qualname__ = "__init__", f"_{name}.__init__"

    def __repr__(self):
        return f"{name}(" + ", ".join(f"{b}={getattr(self, b)}" for b in bounds) + ")"

    cls = type(
        "_" + name,
        (base,),
        {
            "__module__": __name__,
            "__init__": init,
            "check": check,
            "is_discrete": is_discrete,
            "event_dim": event_dim,
            **({"__repr__": __repr__} if bounds and shown else {}),
        },
    )
    globals()["_" + name] = cls
    return cls


def _lower_triangular(self, value):
    return (value.tril() == value).flatten(-2).all(-1)


def _lower_cholesky(self, value):
    return _lower_triangular(self, value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _corr_cholesky(self, value):
    off = (torch.linalg.norm(value.detach(), dim=-1) - 1).abs()
    return _lower_cholesky(self, value) & off.le(torch.finfo(value.dtype).eps * value.size(-1) * 10).all(-1)


def _square(self, value):
    return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=torch.bool, device=value.device)


def _symmetric(self, value):
    ok = _square(self, value)
    return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if ok.all() else ok


def _positive_semidefinite(self, value):
    ok = _symmetric(self, value)
    return torch.linalg.eigvalsh(value).ge(0).all(-1) if ok.all() else ok


def _positive_definite(self, value):
    ok = _symmetric(self, value)
    return torch.linalg.cholesky_ex(value).info.eq(0) if ok.all() else ok


class _Cat(Constraint):
    """Constraints on consecutive parts of one dimension."""

    def __init__(self, cseq, dim=0, lengths=None):
        self.cseq, self.dim = [_check_constraint(c) for c in cseq], dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def check(self, value):
        return torch.cat([c.check(v) for c, v in zip(self.cseq, value.split(self.lengths, self.dim))], self.dim)


class _Stack(Constraint):
    """Constraints on the slices of one dimension."""

    def __init__(self, cseq, dim=0):
        self.cseq, self.dim = [_check_constraint(c) for c in cseq], dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))

    @property
    def event_dim(self):
        dim = max(c.event_dim for c in self.cseq)
        return dim + (self.dim + dim < 0)

    def check(self, value):
        return torch.stack([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


dependent, dependent_property, independent, cat, stack = (
    _Dependent(),
    _DependentProperty,
    _IndependentConstraint,
    _Cat,
    _Stack,
)
boolean = _constraint("Boolean", lambda self, value: (value == 0) | (value == 1), is_discrete=True)()
one_hot = _constraint(
    "OneHot",
    lambda self, value: ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1),
    is_discrete=True,
    event_dim=1,
)()
_constraint(
    "IntegerGreaterThan",
    lambda self, value: _is_integer(value) & (value >= self.lower_bound),
    "lower_bound",
    is_discrete=True,
)
_constraint(
    "IntegerLessThan",
    lambda self, value: _is_integer(value) & (value <= self.upper_bound),
    "upper_bound",
    is_discrete=True,
)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)  # noqa: F821  (made by _constraint)
integer_interval = _constraint(
    "IntegerInterval",
    lambda self, value: _is_integer(value) & (self.lower_bound <= value) & (value <= self.upper_bound),
    "lower_bound",
    "upper_bound",
    is_discrete=True,
)
real = _constraint("Real", lambda self, value: value == value)()
real_vector = independent(real, 1)
greater_than = _constraint("GreaterThan", lambda self, value: self.lower_bound < value, "lower_bound")
greater_than_eq = _constraint("GreaterThanEq", lambda self, value: self.lower_bound <= value, "lower_bound")
less_than = _constraint("LessThan", lambda self, value: value < self.upper_bound, "upper_bound")
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
interval = _constraint(
    "Interval",
    lambda self, value: (self.lower_bound <= value) & (value <= self.upper_bound),
    "lower_bound",
    "upper_bound",
)
half_open_interval = _constraint(
    "HalfOpenInterval",
    lambda self, value: (self.lower_bound <= value) & (value < self.upper_bound),
    "lower_bound",
    "upper_bound",
)
unit_interval = interval(0.0, 1.0)
multinomial = _constraint(
    "Multinomial",
    lambda self, value: (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound),
    "upper_bound",
    is_discrete=True,
    event_dim=1,
    shown=False,
)
simplex = _constraint(
    "Simplex", lambda self, value: (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6), event_dim=1
)()
lower_triangular = _constraint("LowerTriangular", _lower_triangular, event_dim=2)()
lower_cholesky = _constraint("LowerCholesky", _lower_cholesky, event_dim=2)()
corr_cholesky = _constraint("CorrCholesky", _corr_cholesky, event_dim=2)()
square = _constraint("Square", _square, event_dim=2)()
symmetric = _constraint("Symmetric", _symmetric, event_dim=2, base=type(square))()
positive_semidefinite = _constraint("PositiveSemidefinite", _positive_semidefinite, event_dim=2, base=type(symmetric))()
positive_definite = _constraint("PositiveDefinite", _positive_definite, event_dim=2, base=type(symmetric))()
