"""The nodes of symbolic numbers: SymPy expressions over the symbols of a ShapeEnv."""

import functools
import math
import operator

import sympy

import torch
from torch.utils._sympy import functions as f
from torch.utils._sympy.reference import ReferenceAnalysis

__all__ = ["SymNode", "guard_bool", "guard_float", "guard_int", "method_to_operator", "to_node"]
SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_CLASSES = {int: torch.SymInt, float: torch.SymFloat, bool: torch.SymBool}
_BEYOND = 1 << 62
_RELATIONS = {"eq": sympy.Eq, "ne": sympy.Ne, "lt": sympy.Lt, "le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge}


def method_to_operator(method):
    """Return the function of the operator module for a name such as ``add``."""
    return getattr(operator, {"and": "and_", "or": "or_"}.get(method, method))


class SymNode:
    """A SymPy expression of one of Python's types, in a shape environment.

    Args:
        expr: the expression, as it was computed; the property of that name replaces symbols by what is known of them.
        shape_env: the ShapeEnv of its symbols.
        pytype: int, float or bool.
        hint: the value with the example's sizes; computed from the symbols' values where it is None.
        how: (function, operands): the operation that gave it, by which a graph computes it.
    """

    __slots__ = ("_expr", "shape_env", "pytype", "_hint", "how", "constant", "fx_node")

    def __init__(self, expr, shape_env, pytype, hint=None, constant=None, fx_node=None, how=None):
        self._expr, self.shape_env, self.pytype, self._hint, self.how = expr, shape_env, pytype, hint, how
        self.constant, self.fx_node = constant, fx_node

    expr = property(lambda self: self.shape_env.replace(self._expr), doc="The expression, simplified.")

    @property
    def hint(self):
        """The value with the example's sizes; None if it depends on values of tensors."""
        if self._hint is None:
            self._hint = self.shape_env.hint_of(self._expr, self.pytype)
        return self._hint

    def has_hint(self):
        return self.hint is not None

    def require_hint(self, fallback=None):
        """Return the hint; `fallback`, or an error, where there is none."""
        if self.hint is not None:
            return self.hint
        if fallback is not None:
            return fallback
        return self.shape_env.size_hint(self.expr)

    def maybe_as_int(self):
        """Return the value of a constant expression, else None."""
        return int(self.expr) if self.expr.is_number and self.pytype is int else None

    def maybe_as_float(self):
        return float(self.expr) if self.expr.is_number and self.pytype is float else None

    def maybe_as_bool(self):
        return bool(self.expr) if self.expr in (sympy.true, sympy.false) else None

    def is_int(self):
        return self.pytype is int

    def is_float(self):
        return self.pytype is float

    def is_bool(self):
        return self.pytype is bool

    def is_symbolic(self):
        return True

    def is_nested_int(self):
        return False

    def is_constant(self):
        return False

    def nested_int(self):
        return None

    def hash_of(self, number):
        """Raise the TypeError of a symbolic number, which may equal others only under a guard."""
        kind = "SymBool" if self.pytype is bool else "non-nested SymInt" if self.pytype is int else "SymFloat"
        raise TypeError(f"unhashable type: {kind}")

    def __str__(self):
        return str(self.expr)

    __repr__ = str = __str__

    # -------------------------------------------------------------------------------------------- arithmetic
    def binary(self, name, a, b):
        """Return a number for an operation of two numbers, one of them symbolic."""
        kinds, exprs = zip(*map(_typed, (a, b)))
        key = name, *exprs, *kinds
        found = self.shape_env.computed.get(key)
        if found is None:
            found = self.shape_env.computed[key] = _computed(name, kinds, exprs)
        return self._made(*found, (method_to_operator(name), (a, b)))

    def comparison(self, name, a, b):
        """Return a condition for a comparison of two numbers."""
        beyond = b if isinstance(b, int) else a if isinstance(a, int) else 0
        if not -_BEYOND < beyond < _BEYOND:  # symbolic ints have 64 bits
            return name == "ne" or name != "eq" and ((name in ("lt", "le")) == ((beyond > 0) == (beyond is b)))
        kinds, exprs = zip(*map(_typed, (a, b)))
        key = name, *exprs, *kinds
        found = self.shape_env.computed.get(key)
        if found is None:
            exprs = [_as_int(e) if k is bool else e for k, e in zip(kinds, exprs)]
            found = self.shape_env.computed[key] = bool, _RELATIONS[name](*exprs)
        return self._made(*found, (method_to_operator(name), (a, b)))

    def unary(self, name, a):
        """Return a number for an operation of one number."""
        kind, expr = _unary(name, self.pytype, self._expr)
        return self._made(kind, expr, (_FUNCTIONS.get(name) or getattr(operator, name, None), (a,)))

    def rounded(self, a, ndigits):
        """Return round(a, ndigits)."""
        if self.pytype is int:
            return a
        kind, expr = (
            (int, f.RoundToInt(self._expr)) if ndigits is None else (float, f.RoundDecimal(self._expr, ndigits))
        )
        return self._made(kind, expr, (round, (a,) if ndigits is None else (a, ndigits)))

    def _made(self, kind, expr, how):
        if expr is sympy.true or expr is sympy.false:
            return bool(expr)
        if expr.is_Number:
            return kind(expr)
        return _CLASSES[kind](SymNode(expr, self.shape_env, kind, how=how))

    def extreme(self, name, a, b):
        """Return the larger (name max) or smaller of two numbers: by a guard if both have hints, else an expression."""
        least = a <= b
        if least.__class__ is not bool:
            known = least.node.shape_env.statically(least.node._expr)
            if known is None and not least.node.has_hint():
                return extreme(name, a, b)
        return a if bool(least) == (name == "min") else b

    # -------------------------------------------------------------------------------------------- guards
    def guard_int(self, file, line):
        """Return the value of an int, and let a guard fix it."""
        return int(self.shape_env.specialized(self._expr))

    def guard_float(self, file, line):
        """Return the value of a float, and let a guard fix it."""
        return float(self.shape_env.specialized(self._expr))

    def guard_bool(self, file, line):
        """Decide a condition, and let a guard fix it."""
        return self.shape_env.evaluate_expr(self._expr)

    def expect_true(self, file, line):
        """Assume that a condition holds; where that depends on values, the graph asserts it."""
        return self.shape_env.guard_or_defer_runtime_assert(self._expr, f"{file}:{line}")

    def guard_or_false(self, file, line):
        return self.shape_env.evaluate_expr(self._expr, fallback_value=False)

    def guard_or_true(self, file, line):
        return self.shape_env.evaluate_expr(self._expr, fallback_value=True)

    def guard_size_oblivious(self, file, line):
        return self.shape_env.evaluate_expr(self._expr, size_oblivious=True)

    def statically_known_true(self, file, line):
        return self.shape_env.statically(self._expr) is True


def _typed(v):
    """Return (type, expression) of a number."""
    if v.__class__ in SYMBOLIC:
        return v.node.pytype, v.node._expr
    if isinstance(v, bool):
        return bool, sympy.true if v else sympy.false
    if isinstance(v, int) or hasattr(v, "__index__"):
        return int, sympy.Integer(int(v))
    v = float(v)
    return float, sympy.oo if v == math.inf else -sympy.oo if v == -math.inf else sympy.Float(v)


def _as_int(e):
    return (
        f.Where(e, sympy.S.One, sympy.S.Zero)
        if not isinstance(e, sympy.logic.boolalg.BooleanAtom)
        else (sympy.S.One if e is sympy.true else sympy.S.Zero)
    )


def _computed(name, kinds, exprs):
    if name in _LOGICAL and kinds == (bool, bool):
        return bool, _LOGICAL[name](*exprs)
    exprs = [_as_int(e) if k is bool else e for k, e in zip(kinds, exprs)]
    if float in kinds:
        a, b = (e if k is float else f.ToFloat(e) for k, e in zip(kinds, exprs))
        return float, _OF_FLOATS[name](a, b)
    a, b = exprs
    if name == "truediv":
        return float, f.IntTrueDiv(a, b)
    if name == "pow":
        if b.is_nonnegative:
            return int, f.PowByNatural(a, b)
        return float, f.FloatPow(f.ToFloat(a), f.ToFloat(b))
    return int, _OF_INTS[name](a, b)


def _mod(a, b):
    return (f.Mod if a.is_nonnegative and b.is_positive else f.PythonMod)(a, b)


_LOGICAL = {"and": sympy.And, "or": sympy.Or, "xor": sympy.Xor}
_OF_INTS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": f.FloorDiv,
    "mod": _mod,
    "lshift": f.LShift,
    "rshift": f.RShift,
    "and": f.BitwiseFn_bitwise_and,
    "or": f.BitwiseFn_bitwise_or,
    "xor": f.BitwiseFn_bitwise_xor,
    "max": f.Max,
    "min": f.Min,
}
_OF_FLOATS = {
    "add": ReferenceAnalysis.add,
    "sub": ReferenceAnalysis.sub,
    "mul": ReferenceAnalysis.mul,
    "truediv": f.FloatTrueDiv,
    "floordiv": lambda a, b: f.ToFloat(f.FloorToInt(f.FloatTrueDiv(a, b))),
    "mod": lambda a, b: a - b * f.ToFloat(f.FloorToInt(f.FloatTrueDiv(a, b))),
    "pow": f.FloatPow,
    "max": f.Max,
    "min": f.Min,
}
_FUNCTIONS = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sym_float": torch.sym_float,
    "sym_int": torch.sym_int,
    "sym_not": torch.sym_not,
    "is_integer": lambda a: a.is_integer(),
}
_ROUNDED = {"floor": f.FloorToInt, "ceil": f.CeilToInt, "trunc": f.TruncToInt}


def _unary(name, kind, e):
    if name in _ROUNDED:
        return int, e if kind is int else _ROUNDED[name](e)
    if name == "sym_float":
        return float, f.ToFloat(e)
    if name == "sym_int":
        return int, _as_int(e) if kind is bool else e
    if name == "sym_not" or name == "invert" and kind is bool:
        return bool, sympy.Not(e)
    if name == "is_integer":
        return bool, sympy.Eq(f.ToFloat(f.TruncToInt(e)), e)
    if name.startswith("sym_"):  # sqrt, cos, ...
        return float, getattr(f, "OpaqueUnaryFn_" + name[4:])(e if kind is float else f.ToFloat(e))
    return kind, {"neg": operator.neg, "pos": lambda x: x, "abs": abs, "invert": lambda x: -x - 1}[name](e)


def extreme(name, a, b):
    """Return sym_max or sym_min of two numbers, of which one is symbolic."""
    node = (a if a.__class__ in SYMBOLIC else b).node
    kinds, exprs = zip(*map(_typed, (a, b)))
    kind, expr = _computed(name, kinds, exprs)
    return node._made(kind, expr, (getattr(torch, "sym_" + name), (a, b)))


def choice(condition, a, b):
    """Return sym_ite of a symbolic condition."""
    kinds, exprs = zip(*map(_typed, (a, b)))
    kind = next(k for k in (float, int, bool) if k in kinds)
    return condition.node._made(kind, f.Where(condition.node._expr, *exprs), (torch.sym_ite, (condition, a, b)))


@functools.cache
def function(name):
    """Return f(a) for a function of math on a symbolic number, such as sqrt."""

    def apply(a):
        kind, expr = _unary("sym_" + name, a.node.pytype, a.node._expr)
        return a.node._made(kind, expr, (getattr(torch, "_sym_" + name), (a,)))

    return apply


def to_node(self, num):
    """Return the node of a symbolic number, or a node of a plain one in the same environment."""
    if isinstance(num, SYMBOLIC):
        return num.node
    kind, expr = _typed(num)
    return SymNode(expr, self.shape_env, kind, hint=num)


def guard_int(a):
    """Return an int, of a symbolic one its value under a guard."""
    return a.node.guard_int("", 0) if isinstance(a, torch.SymInt) else a


def guard_float(a):
    """Return a float, of a symbolic one its value under a guard."""
    return a.node.guard_float("", 0) if isinstance(a, torch.SymFloat) else a


def guard_bool(a):
    """Return a bool, of a symbolic one its value under a guard."""
    return a.node.guard_bool("", 0) if isinstance(a, torch.SymBool) else a
