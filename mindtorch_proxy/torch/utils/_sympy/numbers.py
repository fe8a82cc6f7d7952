"""Infinite integers. SymPy's own ``oo`` is not an integer, so it cannot be the bound of a size.

The order is ``-oo < -int_oo < every finite number < int_oo < oo``. Source: ``torch/utils/_sympy/numbers.py`` of PyTorch
2.13.
"""

import sympy
from sympy.core.decorators import _sympifyit
from sympy.core.expr import AtomicExpr, Expr
from sympy.core.numbers import Number
from sympy.core.parameters import global_parameters
from sympy.core.singleton import S, Singleton

__all__ = ["IntInfinity", "NegativeIntInfinity", "int_oo", "is_infinite"]


def _rank(x):
    """Return a number that orders the infinities: -2, -1, 1 and 2, and 0 for everything finite or unknown."""
    for infinity, rank in ((S.NegativeInfinity, -2), (S.NegativeIntInfinity, -1), (S.IntInfinity, 1), (S.Infinity, 2)):
        if x is infinity:
            return rank
    return 0


def is_infinite(expr) -> bool:
    """Whether an expression is one of the four infinities, ``oo``, ``-oo``, ``int_oo`` or ``-int_oo``."""
    return _rank(expr) != 0


def _with_numbers(rule):
    """Return an operator method that applies `rule` to numbers and builds an ordinary expression otherwise."""
    ordinary = getattr(Number, rule.__name__)

    def method(self, other):
        return rule(self, other) if isinstance(other, Number) and global_parameters.evaluate else ordinary(self, other)

    method.__name__ = rule.__name__
    return _sympifyit("other", NotImplemented)(method)


class _InfiniteInteger(Number):
    """The base class of both infinite integers."""

    # is_infinite is not set, because in SymPy "infinite" contradicts "integer"
    is_integer = True
    is_commutative = True
    is_number = True
    is_extended_real = True
    is_comparable = True
    is_prime = False
    _op_priority = 100.0  # these operators take precedence over those of ordinary numbers
    __slots__ = ()

    def __new__(cls):
        return AtomicExpr.__new__(cls)

    def _eval_subs(self, old, new):
        return new if self == old else None

    @_with_numbers
    def __add__(self, other):
        if other is S.NaN or other is -self:
            return S.NaN
        if other is S.Infinity or (self is S.IntInfinity and other is S.NegativeInfinity):
            return other
        return self

    __radd__ = __add__

    @_with_numbers
    def __sub__(self, other):
        if other is S.NaN or other is self:
            return S.NaN
        if other is S.NegativeInfinity:
            return S.Infinity
        return S.NegativeInfinity if self is S.IntInfinity and other is S.Infinity else self

    @_sympifyit("other", NotImplemented)
    def __rsub__(self, other):
        return (-self).__add__(other)

    @_with_numbers
    def __mul__(self, other):
        if other.is_zero or other is S.NaN:
            return S.NaN
        return self if other.is_extended_positive else -self

    __rmul__ = __mul__

    @_with_numbers
    def __truediv__(self, other):
        if is_infinite(other) or other is S.NaN:
            return S.NaN
        if self is S.IntInfinity:
            return S.Infinity if other.is_extended_nonnegative else S.NegativeInfinity
        return self if other.is_extended_nonnegative else S.Infinity

    @_sympifyit("other", NotImplemented)
    def __mod__(self, other):
        return S.NaN if isinstance(other, Expr) else NotImplemented

    __rmod__ = __mod__

    def __abs__(self):
        return S.IntInfinity

    def __hash__(self):
        return super().__hash__()

    def __eq__(self, other):
        return other is self

    def __ne__(self, other):
        return other is not self

    def __gt__(self, other):
        return sympy.sympify(_rank(self) > _rank(other))

    def __ge__(self, other):
        return sympy.sympify(_rank(self) >= _rank(other))

    def __lt__(self, other):
        return sympy.sympify(_rank(self) < _rank(other))

    def __le__(self, other):
        return sympy.sympify(_rank(self) <= _rank(other))

    def floor(self):
        return self

    def ceiling(self):
        return self


class IntInfinity(_InfiniteInteger, metaclass=Singleton):
    """The integer above all others, ``int_oo``. Its only instance is also ``sympy.S.IntInfinity``."""

    is_extended_positive = True
    __slots__ = ()

    def _sympystr(self, printer) -> str:
        return "int_oo"

    def __neg__(self):
        return S.NegativeIntInfinity

    def _as_mpf_val(self, prec):
        return S.Infinity._as_mpf_val(prec)

    def _eval_power(self, expt):
        if expt.is_extended_positive:
            return self
        if expt.is_extended_negative:
            return S.Zero
        if expt is S.NaN or expt is S.ComplexInfinity:
            return S.NaN
        if expt.is_extended_real is False and expt.is_number:
            real = sympy.re(expt)
            if real.is_positive:
                return S.ComplexInfinity
            return S.Zero if real.is_negative else S.NaN if real.is_zero else self ** expt.evalf()
        return None


class NegativeIntInfinity(_InfiniteInteger, metaclass=Singleton):
    """The integer below all others, ``-int_oo``. Its only instance is also ``sympy.S.NegativeIntInfinity``."""

    is_extended_negative = True
    __slots__ = ()

    def _sympystr(self, printer) -> str:
        return "-int_oo"

    def __neg__(self):
        return S.IntInfinity

    def _as_mpf_val(self, prec):
        return S.NegativeInfinity._as_mpf_val(prec)

    def as_powers_dict(self):
        return {S.NegativeOne: 1, S.IntInfinity: 1}

    def _eval_power(self, expt):
        if not expt.is_number:
            return None
        if is_infinite(expt) or expt is S.NaN:
            return S.NaN
        if isinstance(expt, sympy.Integer) and expt.is_extended_positive:
            return self if expt.is_odd else S.IntInfinity
        size, sign = S.IntInfinity**expt, S.NegativeOne**expt
        if size == 0 and sign.is_finite:
            return size
        if size is S.ComplexInfinity and sign.is_finite and not sign.is_zero:
            return size
        return sign * size


int_oo = S.IntInfinity
