"""Prints SymPy expressions as Python source. There is no printer for C++, since nothing generates C++ here.

Source: ``torch/utils/_sympy/printers.py`` of PyTorch 2.13.
"""

import sympy
from sympy.printing.precedence import PRECEDENCE, precedence
from sympy.printing.str import StrPrinter

__all__ = ["ExprPrinter", "PythonPrinter"]
_TIGHT = PRECEDENCE["Atom"] - 0.5


def _joined(operator, level=None):
    """Return a method that prints a node as its operands joined by an operator.

    Operands with a lower precedence than `level` (default: that of the node) are in parentheses.
    """
    return lambda self, expr, order=None: self.stringify(
        expr.args, operator, precedence(expr) if level is None else level
    )


def _called(function):
    """Return a method that prints a node as a call of a function."""
    return lambda self, expr: f"{function}({', '.join(map(self._print, expr.args))})"


def _refused(name):
    def method(self, expr):
        raise NotImplementedError(f"_print_{name} not implemented for {type(self)}")

    return method


class ExprPrinter(StrPrinter):
    """The base class of printers: prints nodes that most languages write alike; others raise NotImplementedError."""

    printmethod = "_torch_sympystr"

    _print_Mul = _joined("*")
    _print_Add = _joined(" + ")
    _print_Mod = _joined(" % ", _TIGHT)
    _print_BitwiseFn_bitwise_and = _joined(" & ", PRECEDENCE["BitwiseAnd"])
    _print_BitwiseFn_bitwise_or = _joined(" | ", PRECEDENCE["BitwiseOr"])
    _print_BitwiseFn_bitwise_xor = _joined(" ^ ", PRECEDENCE["BitwiseXor"])

    def _print_Not(self, expr):
        return f"not ({self._print(expr.args[0])})"

    def _print_Relational(self, expr):
        return self.stringify(expr.args, f" {expr.rel_op} ", precedence(expr))

    def _print_FloatTrueDiv(self, expr):
        return f"({self.stringify(expr.args, ' / ', _TIGHT)})"

    def _print_CleanDiv(self, expr):
        return self._print_FloorDiv(expr)

    def _print_Identity(self, expr):
        return self._print(expr.args[0])

    def _print_Float(self, expr):
        # 17 digits are enough to restore a double exactly
        return str(sympy.Float(expr, dps=17)) if expr._prec == 53 else str(expr)

    def _print_Pow(self, expr):
        """Print a power with a constant exponent as a product."""
        base, exp = expr.args
        if exp != int(exp):
            raise AssertionError(exp)
        if exp < 0:
            raise AssertionError(f"exponent must be non-negative, got {exp}")
        return self.stringify([base] * int(exp), "*", PRECEDENCE["Mul"]) if exp else "1"

    for _name in (
        "ToFloat Infinity NegativeInfinity NaN FloorDiv PythonMod IntTrueDiv PowByNatural FloatPow TruncToInt "
        "RoundToInt RoundDecimal TruncToFloat"
    ).split():
        locals()[f"_print_{_name}"] = _refused(_name)
    del _name


class PythonPrinter(ExprPrinter):
    """Prints Python source. Square roots and floats use functions of torch, which also accept symbolic sizes."""

    _print_And = _joined(" and ")
    _print_Or = _joined(" or ")
    _print_PythonMod = _joined(" % ", _TIGHT)
    _print_FloorDiv = _joined(" // ", _TIGHT)
    _print_IntTrueDiv = _joined(" / ", _TIGHT)
    _print_FloatPow = _print_PowByNatural = _joined(" ** ", PRECEDENCE["Pow"])
    _print_ToFloat = _called("torch.sym_float")
    _print_OpaqueUnaryFn_sqrt = _called("torch._sym_sqrt")
    _print_floor = _print_FloorToInt = _called("math.floor")
    _print_ceiling = _print_CeilToInt = _called("math.ceil")
    _print_TruncToInt = _called("math.trunc")
    _print_Abs, _print_Max, _print_Min = _called("abs"), _called("max"), _called("min")
    _print_RoundToInt = _called("round")
    for _name in "cos cosh acos sin sinh asin tan tanh atan log2".split():
        locals()[f"_print_OpaqueUnaryFn_{_name}"] = _called(f"math.{_name}")
    del _name

    def _print_Infinity(self, expr):
        return "math.inf"

    def _print_NegativeInfinity(self, expr):
        return "-math.inf"

    def _print_NaN(self, expr):
        return "math.nan"

    def _print_ModularIndexing(self, expr):
        base, divisor, modulus = (self.parenthesize(arg, _TIGHT) for arg in expr.args)
        return f"({base if divisor == '1' else f'({base} // {divisor})'} % {modulus})"

    def _print_RoundDecimal(self, expr):
        number, ndigits = expr.args
        if not isinstance(ndigits, sympy.Integer):
            raise TypeError("ndigits must be an instance of sympy.Integer")
        return f"round({self._print(number)}, {ndigits})"

    def _print_Piecewise(self, expr):
        result = None
        for value, condition in reversed(expr.args):
            written = self._print(value)
            if condition != True and result is not None:  # noqa: E712, a condition of SymPy's
                written = f"({written} if {self._print(condition)} else {result})"
            result = written
        return result or "0"
