"""Walks a SymPy expression and calls a method of an analysis for each of its nodes.

Source: ``torch/utils/_sympy/interp.py`` of PyTorch 2.13.
"""

import functools

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import BooleanAtom

import torch

from . import functions

__all__ = ["sympy_interp"]
_METHODS = {
    "or_ and_ not_": (sympy.Or, sympy.And, sympy.Not),
    "eq ne lt gt le ge": (sympy.Eq, sympy.Ne, sympy.Lt, sympy.Gt, sympy.Le, sympy.Ge),
    "add mul abs log exp": (sympy.Add, sympy.Mul, sympy.Abs, sympy.log, sympy.exp),
    "cos sin tan sinh cosh tanh asin acos atan": (
        *(sympy.cos, sympy.sin, sympy.tan, sympy.sinh, sympy.cosh, sympy.tanh, sympy.asin, sympy.acos, sympy.atan),
    ),
    "minimum maximum": (sympy.Min, sympy.Max),
    "minimum  maximum": (functions.Min, functions.Max),
    "mod python_mod modular_indexing": (functions.Mod, functions.PythonMod, functions.ModularIndexing),
    "mod": (sympy.Mod,),
    "floordiv int_truediv truediv": (functions.FloorDiv, functions.IntTrueDiv, functions.FloatTrueDiv),
    "floordiv": (functions.CleanDiv,),
    "pow pow_by_natural": (functions.FloatPow, functions.PowByNatural),
    "pow_by_natural": (sympy.Pow,),  # SymPy writes x * x as a power
    "trunc where identity round_decimal": (
        functions.TruncToFloat,
        functions.Where,
        functions.Identity,
        functions.RoundDecimal,
    ),
    "expr_cond_pair piecewise": (ExprCondPair, sympy.Piecewise),
    "is_non_overlapping_and_dense_indicator": (functions.IsNonOverlappingAndDenseIndicator,),
}
_TO_INTEGERS = {
    sympy.floor: "floor_to_int",
    sympy.ceiling: "ceil_to_int",
    functions.FloorToInt: "floor_to_int",
    functions.CeilToInt: "ceil_to_int",
    functions.TruncToInt: "trunc_to_int",
    functions.RoundToInt: "round_to_int",
}
_OF_TWO = {
    "minimum",
    "maximum",
    "mul",
    "add",
    "and_",
    "or_",
}  # methods with two operands, for SymPy nodes with any number of them


@functools.cache
def handlers():
    """Return {class of a node: name of the method}."""
    return {cls: name for names, classes in _METHODS.items() for name, cls in zip(names.split(), classes)}


def _apply(analysis, expr, args, index_dtype):
    if isinstance(expr, sympy.Pow) and expr.args[1] == sympy.S.Half:
        return analysis.sqrt(args[0])
    if isinstance(expr, functions.ToFloat):
        return analysis.to_dtype(args[0], torch.float64)
    if expr.func in _TO_INTEGERS:
        return getattr(analysis, _TO_INTEGERS[expr.func])(*args, index_dtype)
    if expr.func is sympy.Add and expr.is_integer and hasattr(analysis, "sym_sum"):
        return analysis.sym_sum(args)
    name = getattr(expr.func, "_torch_handler_name", None) or handlers()[expr.func]
    method = getattr(analysis, name)
    return functools.reduce(method, args) if name in _OF_TWO else method(*args)


def sympy_interp(analysis, env, expr, *, index_dtype=torch.int64, missing_handler=None):
    """Evaluate an expression with the methods of `analysis`.

    Args:
        analysis: has a method for each kind of node, such as ``add(a, b)``, and ``constant(value, dtype)``.
        env: ``{symbol: value}``.
        expr: a SymPy expression or condition.
        index_dtype: the last argument of the methods that round a float to an integer.
        missing_handler: called with a symbol that is not in `env`; returns its value.

    Raises:
        KeyError: for a symbol that has no value, or a class of nodes that has no method.
    """
    for kind, dtype in ((BooleanAtom, torch.bool), (sympy.Integer, torch.int64), (sympy.Number, torch.double)):
        if isinstance(expr, kind):
            return analysis.constant(expr, dtype)
    if isinstance(expr, sympy.Symbol):
        if expr in env:
            return env[expr]
        if missing_handler is None:
            raise KeyError(expr)
        return missing_handler(expr)
    args = [
        sympy_interp(analysis, env, arg, index_dtype=index_dtype, missing_handler=missing_handler) for arg in expr.args
    ]
    return _apply(analysis, expr, args, index_dtype)
