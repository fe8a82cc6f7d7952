"""SymPy expressions as text in files: written by srepr, and read without running the text as code."""

import ast
import operator

import sympy

from ..utils._sympy import functions as f
from ..utils._sympy.numbers import int_oo

_CLASSES = "Symbol Integer Rational Float Add Mul Pow And Or Not Eq Ne Lt Le Gt Ge".split()
_NAMED = {name: getattr(sympy, name) for name in _CLASSES}
_NAMED |= {
    "GreaterThan": sympy.Ge,
    "LessThan": sympy.Le,
    "StrictGreaterThan": sympy.Gt,
    "StrictLessThan": sympy.Lt,
    "Equality": sympy.Eq,
    "Unequality": sympy.Ne,
}
_NAMED |= {n: c for n, c in vars(f).items() if isinstance(c, type) and issubclass(c, sympy.Basic)}
_CONSTANTS = {"int_oo": int_oo, "oo": sympy.oo, "true": sympy.true, "false": sympy.false, "half": sympy.S.Half}
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: f.FloorDiv,
    ast.Mod: f.Mod,
    ast.Pow: operator.pow,
}


def written(expr):
    """Return an expression as text."""
    return sympy.printing.repr.srepr(expr)


def read(text, symbols=None):
    """Return the expression of a text; symbols: {name: symbol} for names alone. Raise ValueError for other code."""
    return _read(ast.parse(text.strip(), mode="eval").body, symbols or {})


def _read(node, symbols):
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if name in _NAMED:
            named = {k.arg: ast.literal_eval(k.value) for k in node.keywords}
            return _NAMED[name](*[_read(a, symbols) for a in node.args], **named)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
        return node.value if isinstance(node.value, str) else sympy.sympify(node.value)
    if isinstance(node, ast.Name):
        if node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        return symbols.get(node.id) or sympy.Symbol(node.id, integer=True)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_read(node.left, symbols), _read(node.right, symbols))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_read(node.operand, symbols)
    raise ValueError(f"{ast.unparse(node)!r} is no expression of sizes")
