"""Ranges of values: the bounds of an expression over sizes, given the bounds of its symbols.

Source: ``torch/utils/_sympy/value_ranges.py`` of PyTorch 2.13.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
from typing import Any, Generic, TypeVar

import sympy
from sympy.logic.boolalg import Boolean, BooleanAtom

import torch

from . import functions as f
from .functions import _keep_float, safe_pow
from .interp import sympy_interp
from .numbers import IntInfinity, NegativeIntInfinity, int_oo, is_infinite

__all__ = ["ValueRanges", "bound_sympy"]
_T = TypeVar("_T", sympy.Expr, Boolean)
_INTEGERS = (sympy.Integer, IntInfinity, NegativeIntInfinity)


class ValueRangeError(RuntimeError):
    """The error for a range whose lower bound is above its upper bound."""


def simple_sympify(e):
    """Convert a number or bool of Python or SymPy to SymPy.

    Raises AssertionError for anything with a symbol, and for NaN.
    """
    if isinstance(e, bool):
        return sympy.true if e else sympy.false
    if isinstance(e, int):
        return sympy.Integer(e)
    if isinstance(e, float):
        return (sympy.oo if e > 0 else -sympy.oo) if math.isinf(e) else sympy.Float(e)
    if isinstance(e, BooleanAtom):
        return e
    if not isinstance(e, sympy.Expr):
        raise AssertionError(f"not simple sympy type {type(e)}: {e}")
    if not getattr(e, "is_number", False):
        raise AssertionError(e)
    if e == sympy.nan:
        raise AssertionError("sympy expression is NaN")
    return e


def sympy_generic_le(lower, upper):
    """Return ``lower <= upper`` for two numbers, or for two bools, where false is less than true."""
    if isinstance(lower, sympy.Expr):
        if not isinstance(upper, sympy.Expr):
            raise AssertionError("upper must be a sympy.Expr when lower is a sympy.Expr")
        return upper >= lower
    if isinstance(lower, Boolean) and isinstance(upper, Boolean):
        return not (lower and not upper)
    raise AssertionError((lower, upper))


def vr_is_bool(vr) -> bool:
    """Whether a range contains bools."""
    return vr.is_bool


def vr_is_expr(vr) -> bool:
    """Whether a range contains numbers."""
    return not vr.is_bool


@dataclasses.dataclass(frozen=True)
class ValueRanges(Generic[_T]):
    """All values from `lower` to `upper`, both included: integers, floats or bools.

    The bounds have no symbols. Raises ValueRangeError if `lower` is above `upper`.
    """

    lower: Any
    upper: Any
    is_bool: bool
    is_int: bool
    is_float: bool

    def __init__(self, lower, upper):
        lower, upper = simple_sympify(lower), simple_sympify(upper)
        try:
            ordered = sympy_generic_le(lower, upper)
        except TypeError as error:
            raise TypeError(f"Could not compare {lower} <= {upper}") from error
        if not ordered:
            raise ValueRangeError(f"Invalid ranges [{lower}:{upper}]")
        # if one bound is an integer, an infinite other bound becomes an infinite integer
        if isinstance(lower, sympy.Integer) and upper == sympy.oo:
            upper = int_oo
        if isinstance(upper, sympy.Integer) and lower == -sympy.oo:
            lower = -int_oo
        is_bool = isinstance(lower, Boolean)
        is_int = not is_bool and isinstance(lower, _INTEGERS) and isinstance(upper, _INTEGERS)
        for name, value in {
            "lower": lower,
            "upper": upper,
            "is_bool": is_bool,
            "is_int": is_int,
            "is_float": not is_bool and not is_int,
        }.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {self.upper}]"

    def boolify(self):
        """Return the range as one of bools; the unknown range becomes both. AssertionError for other numbers."""
        if self.is_bool:
            return self
        if self == ValueRanges.unknown():
            return ValueRanges.unknown_bool()
        raise AssertionError(f"not bool like {self}")

    def __contains__(self, x) -> bool:
        return ValueRanges.wrap(x).issubset(self)

    def issubset(self, other):
        """Whether all values of this range are in `other`."""
        if other is ValueRanges.unknown_int():
            return True
        return sympy_generic_le(other.lower, self.lower) and sympy_generic_le(self.upper, other.upper)

    def tighten(self, other):
        """Return the intersection of both ranges, ``self & other``."""
        return self & other

    def _require_kind_of(self, other):
        for kind in ("is_bool", "is_int", "is_float"):
            if getattr(self, kind) != getattr(other, kind):
                raise AssertionError((self, other))

    def __and__(self, other):
        unknown = (ValueRanges.unknown(), ValueRanges.unknown_int())
        if other in unknown:
            return self
        if self in unknown:
            return other
        self._require_kind_of(other)
        largest, smallest = (sympy.Or, sympy.And) if self.is_bool else (sympy.Max, sympy.Min)
        return ValueRanges(largest(self.lower, other.lower), smallest(self.upper, other.upper))

    def __or__(self, other):
        if ValueRanges.unknown() in (self, other):
            return ValueRanges.unknown()
        self._require_kind_of(other)
        largest, smallest = (sympy.Or, sympy.And) if self.is_bool else (sympy.Max, sympy.Min)
        return ValueRanges(smallest(self.lower, other.lower), largest(self.upper, other.upper))

    def is_singleton(self) -> bool:
        """Whether the range has a single value."""
        return self.lower == self.upper

    @staticmethod
    @functools.cache
    def unknown():
        """Return the range of all floats, ``-oo`` to ``oo``."""
        return ValueRanges(-sympy.oo, sympy.oo)

    @staticmethod
    @functools.cache
    def unknown_int():
        """Return the range of all integers, ``-int_oo`` to ``int_oo``."""
        return ValueRanges(-int_oo, int_oo)

    @staticmethod
    @functools.cache
    def unknown_bool():
        """Return the range of false and true."""
        return ValueRanges(sympy.false, sympy.true)

    @staticmethod
    def wrap(arg):
        """Return a range unchanged, a number as the range with that value, and NaN as the unknown range."""
        if isinstance(arg, ValueRanges):
            return arg
        return ValueRanges.unknown() if isinstance(arg, float) and math.isnan(arg) else ValueRanges(arg, arg)

    @staticmethod
    def increasing_map(x, fn):
        """Return the range of `fn`, which is nondecreasing."""
        x = ValueRanges.wrap(x)
        return ValueRanges(fn(x.lower), fn(x.upper))

    @staticmethod
    def decreasing_map(x, fn):
        """Return the range of `fn`, which is nonincreasing."""
        x = ValueRanges.wrap(x)
        return ValueRanges(fn(x.upper), fn(x.lower))

    @staticmethod
    def monotone_map(x, fn):
        """Return the range of `fn`, which is monotone."""
        x = ValueRanges.wrap(x)
        ends = fn(x.lower), fn(x.upper)
        return ValueRanges(min(ends), max(ends))

    @staticmethod
    def convex_min_zero_map(x, fn):
        """Return the range of `fn`, which is convex with its minimum 0 at 0."""
        x = ValueRanges.wrap(x)
        if 0 not in x:
            return ValueRanges.monotone_map(x, fn)
        upper = simple_sympify(max(fn(x.lower), fn(x.upper)))
        return ValueRanges(0.0 if isinstance(upper, sympy.Float) or upper == sympy.oo else 0, upper)

    @staticmethod
    def coordinatewise_increasing_map(x, y, fn):
        """Return the range of `fn`, which is nondecreasing in both arguments."""
        x, y = ValueRanges.wrap(x), ValueRanges.wrap(y)
        return ValueRanges(fn(x.lower, y.lower), fn(x.upper, y.upper))

    @classmethod
    def coordinatewise_monotone_map(cls, x, y, fn):
        """Return the range of `fn`, which is monotone in each of its two arguments."""
        corners = _corners(cls.wrap(x), cls.wrap(y), fn)
        return ValueRanges(min(corners), max(corners))


def _corners(x, y, fn):
    return [fn(a, b) for a, b in itertools.product((x.lower, x.upper), (y.lower, y.upper))]


def _pairs(method):
    """Return a static method that converts its two arguments, ranges or numbers, to ranges."""
    return staticmethod(lambda a, b: method(ValueRanges.wrap(a), ValueRanges.wrap(b)))


def _constant_of(value, dtype):
    is_python = isinstance(value, (int, float, bool))
    if not is_python and not isinstance(value, (BooleanAtom, sympy.Number)):
        raise AssertionError(f"not a supported constant type: {type(value)}")
    if not isinstance(value, BooleanAtom) and math.isnan(value):
        unknown = "unknown_bool" if dtype == torch.bool else "unknown" if dtype.is_floating_point else "unknown_int"
        return getattr(ValueRanges, unknown)()
    if is_python:
        return ValueRanges.wrap((bool if dtype == torch.bool else float if dtype.is_floating_point else int)(value))
    if dtype == torch.bool:
        fits, what = isinstance(value, BooleanAtom), "BooleanAtom for bool"
    elif dtype.is_floating_point:
        fits, what = not value.is_finite or value.is_real, "float-like sympy value for float"
    else:
        fits, what = getattr(value, "is_integer", False), "integer sympy value for int"
    if not fits:
        raise AssertionError(f"expected {what} dtype")
    return ValueRanges.wrap(value)


def _as_bits(r):
    """Convert a range of bools to one of 0 and 1."""
    if not r.is_bool:
        return r
    return ValueRanges.wrap(int(bool(r.lower))) if r.is_singleton() else ValueRanges(0, 1)


def _known_if(holds, fails):
    return ValueRanges.wrap(True) if holds else ValueRanges.wrap(False) if fails else ValueRanges.unknown_bool()


def _same_kind(a, b):
    if a.is_bool != b.is_bool:
        raise AssertionError("operands must both be boolean ValueRanges or both non-boolean")
    return a.is_bool


def _reaches(r, infinity):
    return infinity in r or -infinity in r


def _next_power(x):
    """Return the smallest power of two above an integer; keep the infinite integer."""
    return int_oo if is_infinite(x) else 1 << int(x).bit_length()


class SymPyValueRangeAnalysis:
    """Computes the range of each kind of node from the ranges of its operands; `bound_sympy` uses it."""

    @staticmethod
    def constant(value, dtype):
        if isinstance(value, ValueRanges):
            if not value.is_singleton():
                raise AssertionError("ValueRanges must be a singleton for constant()")
            value = value.lower
        return _constant_of(value, dtype)

    @staticmethod
    def to_dtype(a, dtype, src_dtype=None):
        if dtype == torch.float64:
            return ValueRanges.increasing_map(a, f.ToFloat)
        if dtype == torch.bool:
            return ValueRanges.unknown_bool()
        return ValueRanges.unknown() if dtype.is_floating_point else ValueRanges.unknown_int()

    # bools
    not_ = staticmethod(lambda a: ValueRanges.decreasing_map(ValueRanges.wrap(a).boolify(), sympy.Not))
    or_ = staticmethod(lambda a, b: ValueRanges.coordinatewise_increasing_map(a, b, sympy.Or))
    and_ = staticmethod(lambda a, b: ValueRanges.coordinatewise_increasing_map(a, b, sympy.And))

    @_pairs
    def eq(a, b):
        same = a.is_singleton() and b.is_singleton() and a.lower == b.lower
        return _known_if(same, not same and (a.lower > b.upper or b.lower > a.upper))

    @_pairs
    def lt(a, b):
        if _same_kind(a, b):
            analysis = SymPyValueRangeAnalysis
            return analysis.and_(analysis.not_(a), b)
        return _known_if(a.upper < b.lower, a.lower >= b.upper)

    @classmethod
    def ne(cls, a, b):
        return cls.not_(cls.eq(a, b))

    @classmethod
    def gt(cls, a, b):
        return cls.lt(b, a)

    @classmethod
    def le(cls, a, b):
        return cls.not_(cls.lt(b, a))

    @classmethod
    def ge(cls, a, b):
        return cls.not_(cls.lt(a, b))

    @staticmethod
    def where(a, b, c):
        b, c = ValueRanges.wrap(b), ValueRanges.wrap(c)
        a.boolify()
        if b.is_bool != c.is_bool and ValueRanges.unknown() not in (b, c):
            raise AssertionError("where() requires b and c to have the same boolean-ness or allow unknown()")
        smallest, largest = (sympy.And, sympy.Or) if b.is_bool else (sympy.Min, sympy.Max)
        return ValueRanges(smallest(b.lower, c.lower), largest(b.upper, c.upper))

    @staticmethod
    def expr_cond_pair(a, b):
        return a, b.boolify()

    @staticmethod
    def piecewise(*ranges):
        possible = [value for value, condition in ranges if sympy.true in condition]
        return functools.reduce(operator.or_, possible) if possible else None

    # bits
    @_pairs
    def bitwise_and(a, b):
        if a.is_bool and b.is_bool:
            return SymPyValueRangeAnalysis.and_(a, b)
        a, b = _as_bits(a), _as_bits(b)
        lower = min(a.lower, b.lower)  # negative numbers share leading ones, and all bits behind these can become 0
        lower = 0 if lower >= 0 or is_infinite(lower) else -_next_power(-lower - 1)
        return ValueRanges(lower, max(a.upper, b.upper))

    @_pairs
    def bitwise_or(a, b):
        if a.is_bool and b.is_bool:
            return SymPyValueRangeAnalysis.or_(a, b)
        a, b = _as_bits(a), _as_bits(b)
        upper = max(a.upper, b.upper)  # at most all bits of the larger one are set
        if upper < 0:
            upper = -1
        elif upper > 0 and not is_infinite(upper):
            upper = _next_power(upper) - 1
        return ValueRanges(min(a.lower, b.lower), upper)

    @_pairs
    def bitwise_xor(a, b):
        if a.is_bool and b.is_bool:
            found = {bool(x) for x in _corners(a, b, sympy.Xor)}
            return ValueRanges(min(found), max(found))
        a, b = _as_bits(a), _as_bits(b)
        if (
            a.is_singleton()
            and b.is_singleton()
            and isinstance(a.lower, sympy.Integer)
            and isinstance(b.lower, sympy.Integer)
        ):
            return ValueRanges.wrap(int(a.lower) ^ int(b.lower))
        return ValueRanges.unknown_int()

    # arithmetic
    identity = staticmethod(ValueRanges.wrap)
    abs = staticmethod(lambda x: ValueRanges.convex_min_zero_map(x, abs))
    add = staticmethod(lambda a, b: ValueRanges.coordinatewise_increasing_map(a, b, _keep_float(operator.add)))
    minimum = staticmethod(lambda a, b: ValueRanges.coordinatewise_increasing_map(a, b, sympy.Min))
    maximum = staticmethod(lambda a, b: ValueRanges.coordinatewise_increasing_map(a, b, sympy.Max))
    min_or_max = staticmethod(lambda a, b, fn: ValueRanges.coordinatewise_increasing_map(a, b, fn))

    @_pairs
    def mul(a, b):
        if _same_kind(a, b):
            return SymPyValueRangeAnalysis.and_(a, b)
        product = _keep_float(lambda x, y: x if x.is_zero else y if y.is_zero else x * y)  # 0 times infinity is 0 here
        return ValueRanges.coordinatewise_monotone_map(a, b, product)

    @_pairs
    def int_truediv(a, b):
        if 0 in b or (_reaches(a, int_oo) and _reaches(b, int_oo)):
            return ValueRanges.unknown()
        return ValueRanges.coordinatewise_monotone_map(a, b, _keep_float(f.IntTrueDiv))

    @_pairs
    def truediv(a, b):
        if 0 in b or (_reaches(a, sympy.oo) and _reaches(b, sympy.oo)):
            return ValueRanges.unknown()
        return ValueRanges.coordinatewise_monotone_map(a, b, _keep_float(f.FloatTrueDiv))

    @_pairs
    def floordiv(a, b):
        if 0 in b:
            if (b.lower >= 0 and a.lower >= 0) or (b.upper <= 0 and a.upper <= 0):
                return ValueRanges(0, int_oo)
            if (b.upper <= 0 and a.lower >= 0) or (b.lower >= 0 and a.upper <= 0):
                return ValueRanges(-int_oo, 0)
            return ValueRanges.unknown_int()

        def divide(x, y):
            quotient = f.FloorDiv(x, y)
            return sympy.sign(x) * sympy.sign(y) * int_oo if quotient is sympy.nan else quotient

        return ValueRanges.coordinatewise_monotone_map(a, b, divide)

    @_pairs
    def mod(x, y):
        """Return the range of C's remainder, which has the sign of `x`."""
        if 0 in y:
            return ValueRanges.unknown_int()
        if not y.is_singleton():
            bound = max(abs(y.lower), abs(y.upper)) - 1
            return ValueRanges(-bound, bound)
        period = abs(y.lower)
        if not _reaches(x, int_oo) and _truncated(x.lower, period) == _truncated(x.upper, period):
            return ValueRanges.increasing_map(x, lambda u: u - period * _truncated(u, period))
        if x.upper < 0:
            return ValueRanges(1 - period, 0)
        if x.lower > 0:
            return ValueRanges(0, period - 1)
        return ValueRanges(max(1 - period, x.lower), min(period - 1, x.upper))

    @_pairs
    def python_mod(x, y):
        """Return the range of Python's remainder, which has the sign of `y`."""
        if x.lower >= 0 and y.lower >= 0:
            return SymPyValueRangeAnalysis.mod(x, y)
        return ValueRanges(min(y.lower + 1, 0), max(y.upper - 1, 0))

    @classmethod
    def modular_indexing(cls, a, b, c):
        return cls.mod(cls.floordiv(a, b), c)

    @staticmethod
    def is_non_overlapping_and_dense_indicator(*args):
        return ValueRanges.unknown_int()

    @_pairs
    def pow_by_natural(a, b):
        if a.is_singleton() and b.is_singleton():
            return ValueRanges.wrap(safe_pow(a.lower, b.lower))
        if a.lower >= 1:
            return ValueRanges.coordinatewise_increasing_map(a, b & ValueRanges(0, int_oo), f.PowByNatural)
        if b.is_singleton():
            power = lambda x: safe_pow(x, b.lower)
            return ValueRanges.increasing_map(a, power) if b.lower % 2 else ValueRanges.convex_min_zero_map(a, power)
        bound = safe_pow(max(a.upper, -a.lower), b.upper)
        return ValueRanges(-bound, bound)

    pow = staticmethod(lambda a, b: ValueRanges.unknown())

    @staticmethod
    def reciprocal(x):
        x = ValueRanges.wrap(x)
        return ValueRanges.unknown() if 0 in x else ValueRanges.decreasing_map(x, lambda y: f.FloatTrueDiv(1.0, y))

    # rounding
    floor = staticmethod(lambda x: ValueRanges.increasing_map(x, _keep_float(sympy.floor)))
    ceil = staticmethod(lambda x: ValueRanges.increasing_map(x, _keep_float(sympy.ceiling)))
    trunc = staticmethod(lambda x: ValueRanges.increasing_map(x, f.TruncToFloat))
    floor_to_int = staticmethod(lambda x, dtype: ValueRanges.increasing_map(x, sympy.floor))
    ceil_to_int = staticmethod(lambda x, dtype: ValueRanges.increasing_map(x, sympy.ceiling))
    trunc_to_int = staticmethod(lambda x, dtype: ValueRanges.increasing_map(x, f.TruncToInt))
    round_to_int = staticmethod(lambda x, dtype: ValueRanges.increasing_map(x, f.RoundToInt))

    @staticmethod
    def round_decimal(number, ndigits):
        if not ndigits.is_singleton():
            return ValueRanges.unknown()
        return ValueRanges.increasing_map(number, lambda x: f.RoundDecimal(x, ndigits.lower))

    # functions of reals
    exp = staticmethod(lambda x: ValueRanges.increasing_map(x, f.OpaqueUnaryFn_exp))
    cos = sin = staticmethod(lambda x: ValueRanges(-1.0, 1.0))
    cosh = staticmethod(lambda x: ValueRanges(0.0, sympy.oo))
    sinh = tan = tanh = asin = acos = atan = staticmethod(lambda x: ValueRanges.unknown())

    @staticmethod
    def log(x):
        return _above_zero(x, f.OpaqueUnaryFn_log)

    @staticmethod
    def log2(x):
        return _above_zero(x, f.OpaqueUnaryFn_log2)

    @staticmethod
    def sqrt(x):
        x = ValueRanges.wrap(x)
        return ValueRanges.unknown() if x.lower < 0 else ValueRanges.increasing_map(x, f.OpaqueUnaryFn_sqrt)


def _truncated(a, b):
    """Return the quotient of two integers rounded toward zero."""
    return sympy.sign(a) * (abs(a) // b)


def _above_zero(x, fn):
    x = ValueRanges.wrap(x)
    return ValueRanges.unknown() if x.lower <= 0 else ValueRanges.increasing_map(x, fn)


def _range_of_symbol(symbol):
    """Return the range that follows from the assumptions of a symbol."""
    if not symbol.is_integer:
        return ValueRanges.unknown()
    return ValueRanges(1 if symbol.is_positive else 0, int_oo) if symbol.is_nonnegative else ValueRanges.unknown_int()


def bound_sympy(expr, ranges=None):
    """Return the range of an expression.

    Args:
        expr: a SymPy expression or condition.
        ranges: ``{symbol: ValueRanges}``; the range of other symbols follows from their assumptions.
    """
    if isinstance(expr, sympy.Number):
        return ValueRanges.wrap(expr)
    return sympy_interp(SymPyValueRangeAnalysis, ranges or {}, expr, missing_handler=_range_of_symbol)
