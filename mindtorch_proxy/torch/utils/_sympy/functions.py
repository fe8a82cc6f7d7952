"""SymPy functions over sizes with Python's arithmetic: floor division, remainders, rounding, and operations on floats.

SymPy's own functions are about real numbers. These fold constants and apply simplifications that hold for integers.
Source: ``torch/utils/_sympy/functions.py`` of PyTorch 2.13.
"""

import functools
import math
import operator
import sys

import sympy
from sympy import S
from sympy.core.function import Application
from sympy.core.logic import _torf, fuzzy_and, fuzzy_or
from sympy.core.numbers import equal_valued
from sympy.core.operations import LatticeOp, ShortCircuit
from sympy.core.sorting import ordered
from sympy.printing.precedence import PRECEDENCE

from ._strides import eval_is_non_overlapping_and_dense
from .numbers import int_oo, is_infinite

__all__ = [
    "CeilDiv",
    "CeilToInt",
    "CleanDiv",
    "FloatPow",
    "FloatTrueDiv",
    "FloorDiv",
    "FloorToInt",
    "Identity",
    "IntTrueDiv",
    "IsNonOverlappingAndDenseIndicator",
    "LShift",
    "Mod",
    "ModularIndexing",
    "PowByNatural",
    "PythonMod",
    "RShift",
    "RoundDecimal",
    "RoundToInt",
    "ToFloat",
    "TruncToFloat",
    "TruncToInt",
    "Where",
]
_TIGHT = PRECEDENCE["Atom"] - 0.5
_WIDE = 20  # sums with more terms take too long in SymPy's polynomial gcd


def _keep_float(f):
    """Return a function like `f` whose result is a float if any argument is.

    SymPy turns expressions such as ``0 * 1.5`` into integers.
    """

    @functools.wraps(f)
    def keeping(*args):
        result = f(*args)
        if (
            isinstance(result, sympy.Number)
            and any(isinstance(a, sympy.Float) for a in args)
            and not isinstance(result, sympy.Float)
        ):
            result = sympy.Float(float(result))
        return result

    return keeping


def fuzzy_eq(x, y):
    """Whether two truth values are equal; None if either is unknown."""
    return None if x is None or y is None else x == y


def _integer_content(expr):
    """Return the greatest integer that divides all coefficients of a sum, as they are written."""
    terms = [
        [abs(int(a)) for a in sympy.Mul.make_args(term) if isinstance(a, (int, sympy.Integer))]
        for term in sympy.Add.make_args(expr)
    ]
    return functools.reduce(math.gcd, map(math.prod, terms))


def simple_floordiv_gcd(p, q):
    """Return a common divisor of two expressions.

    It is the common integer factor, times the factors of `q` that all terms of `p` contain.
    """
    common = math.gcd(_integer_content(p), _integer_content(q))
    p, q = p / common, q / common
    terms = [sympy.Mul.make_args(term) for term in sympy.Add.make_args(p)]
    for factor in sympy.Mul.make_args(q):
        if all(factor in term for term in terms):
            common = common * factor
    return common


def safe_gcd(a, b):
    """Return SymPy's gcd, or `simple_floordiv_gcd` if an operand is a sum of many terms."""
    wide = any(isinstance(x, sympy.Add) and len(x.args) > _WIDE for x in (a, b))
    return simple_floordiv_gcd(a, b) if wide else sympy.gcd(a, b)


def _is_whole(quotient):
    """Whether a quotient is an integer. SymPy before 1.15 wrongly says so for some products that contain a fraction."""
    return bool(quotient.is_integer) and not (
        isinstance(quotient, sympy.Mul) and any(r.q != 1 for r in quotient.atoms(sympy.Rational))
    )


def _divide_numbers(base, divisor):
    quotient = float(base) / float(divisor)
    if math.isnan(quotient):
        return S.NaN
    return sympy.Integer(math.floor(quotient)) if math.isfinite(quotient) else int_oo if quotient > 0 else -int_oo


class FloorDiv(sympy.Function):
    """``base // divisor``, rounded towards minus infinity as in Python. Raises ZeroDivisionError."""

    nargs = (2,)
    precedence = 35
    is_integer = True

    base = property(lambda self: self.args[0])
    divisor = property(lambda self: self.args[1])

    def _sympystr(self, printer):
        return f"({printer.parenthesize(self.base, _TIGHT)}//{printer.parenthesize(self.divisor, _TIGHT)})"

    @classmethod
    def eval(cls, base, divisor):
        if divisor.is_zero:
            raise ZeroDivisionError("division by zero")
        if base is S.NaN or divisor is S.NaN or (is_infinite(base) and is_infinite(divisor)):
            return S.NaN
        if base.is_zero:
            return S.Zero
        if base.is_integer and equal_valued(divisor, 1):
            return base
        if base.is_integer and equal_valued(divisor, -1):
            return -base
        if base == divisor:
            return S.One
        if isinstance(base, sympy.Number) and isinstance(divisor, sympy.Number):
            if is_infinite(base) or is_infinite(divisor):
                return _divide_numbers(base, divisor)
            if isinstance(base, sympy.Integer) and isinstance(divisor, sympy.Integer):
                return sympy.Integer(int(base) // int(divisor))
        if isinstance(base, FloorDiv):
            return FloorDiv(base.args[0], base.args[1] * divisor)
        return cls._simplified(base, divisor)

    @staticmethod
    def _simplified(base, divisor):
        if isinstance(divisor, sympy.Integer):  # move the terms that divide evenly out of the division
            whole = [term for term in sympy.Add.make_args(base) if _is_whole(term / divisor)]
            if whole:
                return FloorDiv(base - sympy.Add(*whole, evaluate=False), divisor) + sum(
                    term / divisor for term in whole
                )
        try:
            common = simple_floordiv_gcd(base, divisor)
            if equal_valued(common, 1) and isinstance(divisor, sympy.Add):
                common = safe_gcd(base, divisor)
            if not equal_valued(common, 1):
                return FloorDiv(sympy.simplify(base / common), sympy.simplify(divisor / common))
        except sympy.PolynomialError:
            pass  # SymPy has no gcd of these expressions, so the division is kept
        return None

    def _eval_is_nonnegative(self):
        return True if all(a.is_integer and a.is_nonnegative for a in self.args) else None


class CleanDiv(FloorDiv):
    """A division that is known to leave no remainder."""


class CeilDiv(sympy.Function):
    """``base / divisor`` rounded up: a `CleanDiv`, or a `FloorDiv` of ``base + divisor - 1``."""

    is_integer = True

    def __new__(cls, base, divisor):
        base, divisor = sympy.sympify(base), sympy.sympify(divisor)
        return (
            CleanDiv(base, divisor) if sympy.gcd(base, divisor) == divisor else FloorDiv(base + (divisor - 1), divisor)
        )


class ModularIndexing(sympy.Function):
    """``(base // divisor) % modulus`` with the remainder of C, for indices into a tensor's memory."""

    nargs = (3,)
    precedence = 35
    is_integer = True

    @classmethod
    def eval(cls, base, divisor, modulus):
        if base == 0 or modulus == 1:
            return S.Zero
        if all(isinstance(a, sympy.Integer) for a in (base, divisor, modulus)):
            return (base // divisor) % modulus
        try:
            common = safe_gcd(base, divisor) if divisor != 1 else 1
            if common != 1:
                return ModularIndexing(sympy.simplify(base / common), sympy.simplify(divisor / common), modulus)
        except sympy.PolynomialError:
            pass  # SymPy has no gcd of these expressions
        if isinstance(base, sympy.Add) and len(base.args) <= _WIDE:
            period = modulus * divisor
            kept = [term for term in base.args if safe_gcd(term, period) != period]
            if len(kept) < len(base.args) and not any(term.could_extract_minus_sign() for term in kept):
                return ModularIndexing(sum(kept), divisor, modulus)
        if isinstance(base, FloorDiv):
            return ModularIndexing(base.args[0], base.args[1] * divisor, modulus)
        return None

    def _eval_is_nonnegative(self):
        return fuzzy_eq(self.args[0].is_nonnegative, self.args[1].is_nonnegative)


class Where(sympy.Function):
    """The second argument if the first is true, else the third."""

    nargs = (3,)
    precedence = 35

    @classmethod
    def eval(cls, c, p, q):
        return p if c == sympy.true else q if c == sympy.false else None

    def _of_both(fact):
        return lambda self: True if getattr(self.args[1], fact) and getattr(self.args[2], fact) else None

    _eval_is_integer, _eval_is_nonnegative, _eval_is_positive = map(
        _of_both, ("is_integer", "is_nonnegative", "is_positive")
    )
    del _of_both


def _remainder(p, q):
    """Return the remainder of two expressions if it is the same for all values of the symbols, else None."""
    if q.is_zero:
        raise ZeroDivisionError("Modulo by zero")
    if p is S.Zero or p in (q, -q) or q == 1:
        return S.Zero
    if p.is_Number and q.is_Number:
        return p % q
    if q == 2 and (p.is_even or p.is_odd):
        return S.Zero if p.is_even else S.One
    quotient = p / q
    if quotient.is_integer:
        return S.Zero
    less = p < q
    return p if less.is_Boolean and bool(less) and quotient.is_positive else None


class PythonMod(sympy.Function):
    """``p % q`` with the sign of `q`, as in Python. Raises ZeroDivisionError."""

    nargs = (2,)
    precedence = 35
    is_integer = True

    @classmethod
    def eval(cls, p, q):
        known = _remainder(p, q)
        return S.Zero if known is None and sympy.Mod(p, q) == 0 else known

    def _eval_is_nonnegative(self):
        return True if self.args[1].is_positive else None

    def _eval_is_nonpositive(self):
        return True if self.args[1].is_negative else None


class Mod(sympy.Function):
    """``p % q`` for a nonnegative `p` and a positive `q`. Raises ZeroDivisionError."""

    nargs = (2,)
    precedence = 35
    is_integer = True
    is_nonnegative = True

    @classmethod
    def eval(cls, p, q):
        if p.is_Number and q.is_Number and not q.is_zero and p is not S.Zero and p not in (q, -q) and q != 1:
            if p < 0:
                raise AssertionError(p)
            if q < 1:
                raise AssertionError(q)
        return _remainder(p, q)


def _to_int(name, convert):
    """Create a function class from floats to integers: folds numbers with `convert`, and infinities become `int_oo`."""

    def evaluate(cls, number):
        if number in (S.Infinity, int_oo):
            return int_oo
        if number in (S.NegativeInfinity, -int_oo):
            return -int_oo
        if isinstance(number, sympy.Integer):
            return number
        return sympy.Integer(convert(float(number))) if isinstance(number, sympy.Number) else None

    members = {"is_integer": True, "eval": classmethod(evaluate), "__module__": __name__}
    made = type(sympy.Function)(name, (sympy.Function,), members)
    made.__doc__ = f"A float rounded to an integer, by ``{convert.__name__}``."
    return made


CeilToInt = _to_int("CeilToInt", math.ceil)
FloorToInt = _to_int("FloorToInt", math.floor)
TruncToInt = _to_int("TruncToInt", math.trunc)
RoundToInt = _to_int("RoundToInt", round)


class TruncToFloat(sympy.Function):
    """A float rounded toward zero, as a float; ``math.trunc`` returns an integer instead."""

    is_real = True

    @classmethod
    def eval(cls, number):
        if number in (S.Infinity, S.NegativeInfinity):
            return number
        return sympy.Float(math.trunc(float(number))) if isinstance(number, sympy.Number) else None


class RoundDecimal(sympy.Function):
    """A float rounded to a number of digits, as a float."""

    is_real = True

    @classmethod
    def eval(cls, number, ndigits):
        folds = isinstance(number, sympy.Number) and isinstance(ndigits, sympy.Integer)
        return sympy.Float(round(float(number), int(ndigits))) if folds else None


class ToFloat(sympy.Function):
    """An integer as a float."""

    is_real = True

    @classmethod
    def eval(cls, number):
        if number in (S.Infinity, S.NegativeInfinity):
            return number
        if is_infinite(number):
            return S.Infinity if number is int_oo else S.NegativeInfinity
        return sympy.Float(int(number)) if isinstance(number, sympy.Integer) else None


class LShift(sympy.Function):
    """``base << shift``, as a product. Raises ValueError for a negative shift."""

    is_integer = True

    @classmethod
    def eval(cls, base, shift):
        if shift.is_negative:
            raise ValueError("negative shift count")
        return base * PowByNatural(sympy.Integer(2), shift)


class RShift(sympy.Function):
    """``base >> shift``, as a floor division. Raises ValueError for a negative shift."""

    is_integer = True

    @classmethod
    def eval(cls, base, shift):
        if shift.is_negative:
            raise ValueError("negative shift count")
        return FloorDiv(base, PowByNatural(sympy.Integer(2), shift))


def safe_pow(base, exp):
    """Return ``base ** exp`` for integers, or an infinite integer if the result needs more than 64 bits.

    Raises ValueError for a negative `exp`.
    """
    if exp < 0:
        raise ValueError("Exponent must be non-negative.")
    sign = -1 if base < 0 and exp % 2 else 1
    base, result = abs(base), 1
    if exp == 0 or base == 1 or base == 0:
        return sign * (1 if exp == 0 else base)
    if base is int_oo or exp is int_oo or exp > 64:  # 2 ** 64 is already too large
        return sign * int_oo
    for _ in range(int(exp)):
        result = result * base
        if result > sys.maxsize:
            return sign * int_oo
    return sign * result


class PowByNatural(sympy.Function):
    """An integer to the power of a nonnegative integer."""

    is_integer = True
    precedence = 50

    @classmethod
    def eval(cls, base, exp):
        if isinstance(exp, sympy.Integer):
            if not isinstance(base, sympy.Integer):
                return sympy.Pow(base, exp)
            return sympy.sympify(safe_pow(base, exp))
        if exp in (int_oo, S.Infinity):
            return int_oo if base.is_nonnegative else S.ComplexInfinity if base.is_negative else None
        return None


def _fold_floats(compute, divides=False):
    def evaluate(cls, a, b):
        if divides and b.is_zero:
            raise ZeroDivisionError("division by zero")
        return (
            sympy.Float(compute(float(a), float(b)))
            if isinstance(a, sympy.Number) and isinstance(b, sympy.Number)
            else None
        )

    return classmethod(evaluate)


class FloatPow(sympy.Function):
    """The power of two floats."""

    is_real = True
    precedence = 60
    eval = _fold_floats(operator.pow)


class FloatTrueDiv(sympy.Function):
    """The quotient of two floats. Raises ZeroDivisionError."""

    is_real = True
    precedence = 35
    eval = _fold_floats(operator.truediv, divides=True)


class IntTrueDiv(sympy.Function):
    """The quotient of two integers as a float, rounded once as Python does. Raises ZeroDivisionError."""

    is_real = True
    precedence = 35

    @classmethod
    def eval(cls, base, divisor):
        if divisor.is_zero:
            raise ZeroDivisionError("division by zero")
        if not (isinstance(base, sympy.Number) and isinstance(divisor, sympy.Number)):
            return None
        if is_infinite(base) or is_infinite(divisor):
            return sympy.Float(float(base) / float(divisor))
        both = isinstance(base, sympy.Integer) and isinstance(divisor, sympy.Integer)
        return sympy.Float(int(base) / int(divisor)) if both else None


class IsNonOverlappingAndDenseIndicator(sympy.Function):
    """1 if elements with the given sizes, then strides, fill their memory without gap or overlap, else 0."""

    is_integer = True

    @classmethod
    def eval(cls, *args):
        if len(args) % 2:
            raise AssertionError(f"expected an even number of arguments, got {len(args)}")
        dim = len(args) // 2
        sizes, strides = args[:dim], args[dim:]
        if dim == 1 and (strides[0] == 1 or (sizes[0].is_Number and sizes[0] < 2)):
            return S.One
        if not all(isinstance(stride, sympy.Integer) for stride in strides):
            return None
        pairs = sorted(zip(sizes, strides), key=lambda pair: int(pair[1]))
        if not all(isinstance(size, sympy.Integer) for size, _ in pairs[:-1]):
            return None
        # the result does not depend on the size with the largest stride, so any number can replace it
        known = [int(size) if isinstance(size, sympy.Integer) else 42 for size, _ in pairs]
        return sympy.Integer(eval_is_non_overlapping_and_dense(known, [int(stride) for _, stride in pairs]))


class Identity(sympy.Function):
    """Wraps an expression so that SymPy neither expands it nor combines it with others.

    ``expand(identity=True)`` removes the wrapper.
    """

    precedence = 10

    def __repr__(self):
        return f"Identity({self.args[0]})"

    def _sympystr(self, printer):
        return f"({printer.doprint(self.args[0])})"

    def _eval_is_real(self):
        return self.args[0].is_real

    def _eval_is_integer(self):
        return self.args[0].is_integer

    is_number = property(lambda self: bool(self.args[0].is_number and self.args[0].is_comparable))
    is_comparable = property(lambda self: bool(self.args[0].is_comparable))

    def _eval_expand_identity(self, **hints):
        return self.args[0]

    def __int__(self):
        return int(self.args[0])

    def __float__(self):
        return float(self.args[0])

    def _compared(self, other, compare, otherwise):
        """Compare two plain numbers directly; leave everything else to SymPy."""
        other = sympy.Integer(other) if isinstance(other, int) else other
        plain = all(
            isinstance(x, sympy.Expr) and x.is_Atom and x.is_number and x.is_comparable for x in (self.args[0], other)
        )
        return sympy.sympify(bool(compare(self.args[0], other))) if plain else otherwise(other)

    def __ge__(self, other):
        return self._compared(other, operator.ge, super().__ge__)

    def __gt__(self, other):
        return self._compared(other, operator.gt, super().__gt__)

    def __le__(self, other):
        return self._compared(other, operator.le, super().__le__)

    def __lt__(self, other):
        return self._compared(other, operator.lt, super().__lt__)


class MinMaxBase(sympy.Expr, LatticeOp):
    """The base class of `Max` and `Min`.

    They fold numbers but skip the deeper search of SymPy's own classes, which is slow.
    """

    def __new__(cls, *args, evaluate=True, **assumptions):
        args = [sympy.sympify(arg) for arg in args]
        if evaluate:
            try:
                args = cls._folded(set(cls._new_args_filter(args)))
            except ShortCircuit:
                return cls.zero
        args = frozenset(args)
        if len(args) < 2:
            return next(iter(args), cls.identity)
        made = sympy.Expr.__new__(cls, *ordered(args), **assumptions)
        made._argset = args
        return made

    @classmethod
    def _new_args_filter(cls, args, call_cls=None):
        for arg in args:
            if (
                not isinstance(arg, sympy.Expr)
                or arg.is_extended_real is False
                or (arg.is_number and not arg.is_comparable)
            ):
                raise ValueError(f"The argument '{arg}' is not comparable.")
            if arg == cls.zero:
                raise ShortCircuit(arg)
            if arg.func == cls:
                yield from arg.args
            elif arg != cls.identity:
                yield arg

    @classmethod
    def _folded(cls, args):
        """Fold the numbers among the arguments into one, and drop arguments that cannot be the result."""
        numbers = [arg for arg in args if arg.is_Number]
        others = {arg for arg in args if not arg.is_Number}
        if not numbers:
            return cls._of_two(*others) if len(others) == 2 else others
        number = functools.reduce(cls._choose, numbers)
        if len(others) == 1:
            (other,) = others
            if (number == 0 and other.is_nonnegative) or (number == 1 and other.is_integer and other.is_positive):
                return others if cls is Max else {number}
        return {*others, number}

    @classmethod
    def _of_two(cls, a, b):
        """Simplify two multiples of the same x whose sign is known: ``Max(2 * x, 3 * x)`` is ``3 * x`` for x >= 0."""
        (left, x), (right, y) = a.as_coeff_Mul(), b.as_coeff_Mul()
        if x != y or not (x.is_nonnegative or x.is_nonpositive):
            return {a, b}
        larger = a if (left > right) == bool(x.is_nonnegative) else b
        return {larger if cls is Max else a if larger is b else b}

    for _fact in (
        "algebraic antihermitian commutative complex composite even finite hermitian imaginary infinite integer "
        "irrational noninteger nonpositive nonzero odd polar prime rational real extended_real transcendental zero"
    ).split():
        locals()[f"_eval_is_{_fact}"] = lambda self, fact=f"is_{_fact}": _torf(getattr(a, fact) for a in self.args)
    del _fact


class Max(MinMaxBase, Application):
    """The largest of the arguments."""

    zero, identity = S.Infinity, S.NegativeInfinity
    _choose = max

    def _eval_is_positive(self):
        return fuzzy_or(a.is_positive for a in self.args)

    def _eval_is_nonnegative(self):
        return fuzzy_or(a.is_nonnegative for a in self.args)

    def _eval_is_negative(self):
        return fuzzy_and(a.is_negative for a in self.args)


class Min(MinMaxBase, Application):
    """The smallest of the arguments."""

    zero, identity = S.NegativeInfinity, S.Infinity
    _choose = min

    def _eval_is_positive(self):
        return fuzzy_and(a.is_positive for a in self.args)

    def _eval_is_nonnegative(self):
        return fuzzy_and(a.is_nonnegative for a in self.args)

    def _eval_is_negative(self):
        return fuzzy_or(a.is_negative for a in self.args)


def make_opaque_unary_fn(name):
    """Create a function class for a function of `math`: folds constants in double precision and keeps anything else."""

    def evaluate(cls, a):
        if isinstance(a, (sympy.Integer, sympy.Float)):
            try:
                return sympy.Float(getattr(math, name)(float(a)))
            except OverflowError:
                return getattr(sympy, name)(a)
        if a is S.ComplexInfinity or is_infinite(a):
            a = S.Infinity if a is int_oo else S.NegativeInfinity if a is -int_oo else a
            return sympy.log(a, 2) if name == "log2" else getattr(sympy, name)(a)
        return None

    members = {
        "eval": classmethod(evaluate),
        "_torch_handler_name": name,
        "_torch_unpickler": make_opaque_unary_fn,
        "__module__": __name__,
    }
    return type(sympy.Function)(f"OpaqueUnaryFn_{name}", (sympy.Function,), members)


for _name in "sqrt cos cosh sin sinh tan tanh asin acos atan exp log asinh log2".split():
    globals()[f"OpaqueUnaryFn_{_name}"] = make_opaque_unary_fn(_name)


def make_opaque_bitwise_fn(name, real_op_name):
    """Create a function class for a bitwise operator: folds numbers; a bool beside a number counts as 0 or 1."""
    compute = getattr(operator, real_op_name)

    def evaluate(cls, a, b):
        if a.is_Boolean and b.is_Boolean:
            return compute(a, b)
        a, b = (sympy.Integer(1 if x else 0) if x.is_Boolean else x for x in (a, b))
        folds = isinstance(a, sympy.Integer) and isinstance(b, sympy.Integer)
        return sympy.Integer(compute(int(a), int(b))) if folds else None

    members = {
        "eval": classmethod(evaluate),
        "precedence": PRECEDENCE["Bitwise" + name.removeprefix("bitwise_").capitalize()],
        "_torch_handler_name": name,
        "_torch_unpickler": functools.partial(make_opaque_bitwise_fn, real_op_name=real_op_name),
        "__module__": __name__,
    }
    return type(sympy.Function)(f"BitwiseFn_{name}", (sympy.Function,), members)


BitwiseFn_bitwise_and = make_opaque_bitwise_fn("bitwise_and", "and_")
BitwiseFn_bitwise_or = make_opaque_bitwise_fn("bitwise_or", "or_")
BitwiseFn_bitwise_xor = make_opaque_bitwise_fn("bitwise_xor", "xor")
