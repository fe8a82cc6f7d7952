"""The size of a ragged dimension, as a SymPy expression.

Source: ``torch/utils/_sympy/singleton_int.py`` of PyTorch 2.13.
"""

import sympy
from sympy.multipledispatch import dispatch

__all__ = ["SingletonInt"]


def _unsupported(self, other):
    raise NotImplementedError("NYI")


class SingletonInt(sympy.AtomicExpr):
    """A number that is only equal to itself and can be multiplied by an integer. It is at least 2."""

    _op_priority = 99999

    def __new__(cls, *args, coeff=None, **kwargs):
        return super().__new__(cls, *args, **kwargs)

    def __init__(self, val, *, coeff=1):
        self._val, self._coeff = val, coeff

    def _eval_Eq(self, other):
        return sympy.sympify(isinstance(other, SingletonInt) and (other._val, other._coeff) == (self._val, self._coeff))

    @property
    def free_symbols(self):
        return set()

    def __mul__(self, other):
        if isinstance(other, SingletonInt):
            raise ValueError("SingletonInt cannot be multiplied by another SingletonInt")
        return SingletonInt(self._val, coeff=self._coeff * other)

    __rmul__ = __mul__
    __add__ = __sub__ = __truediv__ = __floordiv__ = __mod__ = _unsupported


def _indeterminate():
    raise ValueError("Symbolic SingletonInt: Relation is indeterminate")


@dispatch(sympy.Integer, SingletonInt)
def _eval_is_ge(a, b):
    return sympy.false if a < 2 else _indeterminate()


@dispatch(SingletonInt, sympy.Integer)  # type: ignore[no-redef]
def _eval_is_ge(a, b):  # noqa: F811
    return sympy.true if b <= 2 else _indeterminate()


@dispatch(SingletonInt, SingletonInt)  # type: ignore[no-redef]
def _eval_is_ge(a, b):  # noqa: F811
    return sympy.sympify(a._coeff >= b._coeff) if a._val == b._val else _indeterminate()
