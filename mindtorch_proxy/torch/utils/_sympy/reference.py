"""Analyses that evaluate a SymPy expression: with SymPy (`ReferenceAnalysis`) or Python (`PythonReferenceAnalysis`).

Source: ``torch/utils/_sympy/reference.py`` of PyTorch 2.13.
"""

import functools
import math
import operator

import sympy

import torch

from . import functions as f
from .functions import _keep_float

__all__ = ["PythonReferenceAnalysis", "ReferenceAnalysis"]


def _to_float(convert):
    def to_dtype(x, dtype):
        if dtype == torch.float64:
            return convert(x)
        raise NotImplementedError(f"to_dtype {dtype} NYI")

    return staticmethod(to_dtype)


def _ignoring_dtype(round_):
    return staticmethod(lambda x, dtype: round_(x))


def _refused(name):
    def method(*args):
        raise AssertionError(f"{name} is not valid shape sympy expr")

    return staticmethod(method)


class ReferenceAnalysis:
    """Evaluates nodes with the functions of `torch.utils._sympy.functions`; operands are SymPy expressions."""

    constant = staticmethod(lambda c, dtype: sympy.sympify(c))
    to_dtype = _to_float(f.ToFloat)
    or_, and_ = staticmethod(operator.or_), staticmethod(operator.and_)
    lt, gt, le, ge = map(staticmethod, (operator.lt, operator.gt, operator.le, operator.ge))
    add, mul, sub = (staticmethod(_keep_float(o)) for o in (operator.add, operator.mul, operator.sub))
    abs, neg = staticmethod(operator.abs), staticmethod(operator.neg)
    truediv, int_truediv, floordiv = map(staticmethod, (f.FloatTrueDiv, f.IntTrueDiv, f.FloorDiv))
    mod, pow_by_natural, pow = staticmethod(f.Mod), staticmethod(f.PowByNatural), staticmethod(_keep_float(f.FloatPow))
    minimum, maximum = staticmethod(f.Min), staticmethod(f.Max)
    exp, log = staticmethod(f.OpaqueUnaryFn_exp), staticmethod(f.OpaqueUnaryFn_log)
    log2, sqrt = staticmethod(f.OpaqueUnaryFn_log2), staticmethod(f.OpaqueUnaryFn_sqrt)
    floor, ceil = staticmethod(_keep_float(sympy.floor)), staticmethod(_keep_float(sympy.ceiling))
    floor_to_int, ceil_to_int = _ignoring_dtype(sympy.floor), _ignoring_dtype(sympy.ceiling)
    trunc_to_int, round_to_int = _ignoring_dtype(f.TruncToInt), _ignoring_dtype(f.RoundToInt)
    round_decimal = staticmethod(f.RoundDecimal)
    bitwise_and, bitwise_or = staticmethod(f.BitwiseFn_bitwise_and), staticmethod(f.BitwiseFn_bitwise_or)
    bitwise_xor = staticmethod(f.BitwiseFn_bitwise_xor)
    reciprocal = staticmethod(lambda x: f.FloatTrueDiv(1.0, x))
    square = staticmethod(lambda x: f.PowByNatural(x, 2))

    @staticmethod
    def eq(a, b):
        return sympy.Eq(a, b) if isinstance(a, sympy.Expr) or isinstance(b, sympy.Expr) else a == b

    @classmethod
    def ne(cls, a, b):
        return cls.not_(cls.eq(a, b))

    @staticmethod
    def not_(a):
        if isinstance(a, bool):
            raise AssertionError("not_ needs sympy expr")
        return ~a

    @classmethod
    def sym_sum(cls, args):
        return sympy.Add(*args)

    @staticmethod
    def truncdiv(a, b):
        raise NotImplementedError("truncdiv: a quotient of integers rounded towards zero")


class PythonReferenceAnalysis(ReferenceAnalysis):
    """Evaluates nodes with Python's operators; operands are numbers, or symbolic sizes recorded by a graph."""

    to_dtype = _to_float(lambda x: torch.sym_float(x))
    not_ = staticmethod(lambda a: torch.sym_not(a))
    sqrt, log2 = staticmethod(lambda x: torch._sym_sqrt(x)), staticmethod(lambda x: torch._sym_log2(x))
    minimum, maximum = staticmethod(lambda a, b: torch.sym_min(a, b)), staticmethod(lambda a, b: torch.sym_max(a, b))
    exp, log = _refused("exp"), _refused("log")
    truediv = truncdiv = staticmethod(operator.truediv)
    floordiv, mod, python_mod = staticmethod(operator.floordiv), staticmethod(operator.mod), staticmethod(operator.mod)
    pow = pow_by_natural = staticmethod(operator.pow)
    floor, ceil = staticmethod(lambda x: float(math.floor(x))), staticmethod(lambda x: float(math.ceil(x)))
    floor_to_int, ceil_to_int, round_to_int = map(_ignoring_dtype, (math.floor, math.ceil, round))
    round_decimal = staticmethod(lambda a, b: round(a, ndigits=b))
    bitwise_and, bitwise_or, bitwise_xor = map(staticmethod, (operator.and_, operator.or_, operator.xor))
    expr_cond_pair = staticmethod(lambda expr, cond: (expr, cond))

    @staticmethod
    def constant(c, dtype):
        for known, convert in ((torch.int64, int), (torch.double, float), (torch.bool, bool)):
            if dtype is known:
                return convert(c)
        raise AssertionError(f"unrecognized dtype {dtype}")

    @classmethod
    def sym_sum(cls, args):
        return functools.reduce(cls.add, args) if args else 0

    @staticmethod
    def piecewise(*pairs):
        """Return the value of the first pair whose condition holds, or of the last pair."""
        values = [value for value, _ in pairs]
        return functools.reduce(
            lambda otherwise, pair: torch.sym_ite(pair[1], pair[0], otherwise), pairs[-2::-1], values[-1]
        )
