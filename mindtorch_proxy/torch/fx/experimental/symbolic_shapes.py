"""Symbolic shapes: conditions on sizes that are SymPy expressions, and the environment that decides them."""

import math

import sympy

import torch
from torch.utils._sympy._strides import eval_is_non_overlapping_and_dense
from torch.utils._sympy.functions import FloorDiv as FloorDiv
from torch.utils._sympy.functions import Max as Max
from torch.utils._sympy.functions import Mod as Mod
from torch.utils._sympy.numbers import int_oo as int_oo
from torch.utils._sympy.symbol import symbol_is_type
from torch.utils._sympy.value_ranges import ValueRanges as ValueRanges
from torch.utils._sympy.value_ranges import bound_sympy as bound_sympy

from ._shape_env import UNBACKED
from ._shape_env import ConstraintViolationError as ConstraintViolationError
from ._shape_env import DimDynamic as DimDynamic
from ._shape_env import GuardOnDataDependentSymNode as GuardOnDataDependentSymNode
from ._shape_env import RelaxedUnspecConstraint as RelaxedUnspecConstraint
from ._shape_env import RuntimeAssert as RuntimeAssert
from ._shape_env import ShapeEnv as ShapeEnv
from ._shape_env import ShapeGuard as ShapeGuard
from ._shape_env import StatelessSymbolicContext as StatelessSymbolicContext
from ._shape_env import StrictMinMaxConstraint as StrictMinMaxConstraint
from .sym_node import SYMBOLIC
from .sym_node import guard_bool as guard_bool
from .sym_node import guard_float as guard_float
from .sym_node import guard_int as guard_int

eval_is_non_overlapping_and_dense.__module__ = __name__


def statically_known_true(x):
    """Whether a condition is true for all values of its symbols. Adds no guard."""
    return x.node.statically_known_true("", 0) if isinstance(x, torch.SymBool) else bool(x)


def statically_known_false(x):
    """Whether a condition is false for all values of its symbols. Adds no guard."""
    return x.node.shape_env.statically(x.node._expr) is False if isinstance(x, torch.SymBool) else not x


def guard_or_false(a):
    """Return the condition, decided with a guard; False where it depends on values of tensors."""
    return a.node.guard_or_false("", 0) if isinstance(a, torch.SymBool) else bool(a)


def guard_or_true(a):
    """Return the condition, decided with a guard; True where it depends on values of tensors."""
    return a.node.guard_or_true("", 0) if isinstance(a, torch.SymBool) else bool(a)


def guard_size_oblivious(expr):
    """Return the condition, where sizes that depend on values of tensors count as at least 2."""
    return expr.node.guard_size_oblivious("", 0) if isinstance(expr, torch.SymBool) else bool(expr)


def guard_scalar(a):
    """Return the plain number of a symbolic one, fixed by a guard."""
    return next((g(a) for c, g in _GUARDS if isinstance(a, c)), a)


_GUARDS = ((torch.SymInt, guard_int), (torch.SymFloat, guard_float), (torch.SymBool, guard_bool))


def expect_true(a, skip=0):
    """Assume that a condition holds; where that depends on values of tensors, the graph asserts it."""
    return a.node.expect_true("", 0) if isinstance(a, torch.SymBool) else bool(a)


def sym_and(x, *others):
    """Return the conjunction of conditions, which is not decided."""
    for other in others:
        x = x & other if isinstance(x, torch.SymBool) or isinstance(other, torch.SymBool) else x and other
    return x


def sym_or(x, *others):
    """Return the disjunction of conditions, which is not decided."""
    for other in others:
        x = x | other if isinstance(x, torch.SymBool) or isinstance(other, torch.SymBool) else x or other
    return x


def sym_eq(x, y):
    """Return the condition that two numbers, or all elements of two sequences, are equal."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and sym_and(True, *map(sym_eq, x, y))
    return x == y


def _exprs(val):
    if isinstance(val, SYMBOLIC):
        if val.node.is_symbolic() if hasattr(val.node, "is_symbolic") else False:
            yield val.node.expr
    elif isinstance(val, sympy.Basic):
        yield val
    elif isinstance(val, torch.Tensor):
        yield from _exprs((*val.shape, *val.stride(), val.storage_offset()))
    elif isinstance(val, (tuple, list)):
        for v in val:
            yield from _exprs(v)
    elif isinstance(val, dict):
        yield from _exprs(list(val.values()))


def free_symbols(val):
    """Return the symbols in numbers, expressions, and the sizes of tensors."""
    return {s: None for e in _exprs(val) for s in sorted(e.free_symbols, key=str)}.keys() | set()


def free_unbacked_symbols(x):
    """Return the symbols that depend on values of tensors."""
    return {s for s in free_symbols(x) if symbol_is_type(s, UNBACKED)}


def has_free_symbols(val):
    """Whether numbers, expressions or sizes of tensors contain symbols."""
    return any(e.free_symbols for e in _exprs(val))


def has_free_unbacked_symbols(x):
    """Whether numbers, expressions or sizes of tensors contain symbols that depend on values of tensors."""
    return bool(free_unbacked_symbols(x))


def is_symbolic(val):
    """Whether a number is symbolic."""
    return isinstance(val, SYMBOLIC) and val.node.is_symbolic()


def is_nested_int(s):
    """Whether a number is the size of a jagged dimension."""
    return isinstance(s, torch.SymInt) and s.node.is_nested_int()


def is_concrete_int(a):
    """Whether an int is a number, or an expression with one value."""
    return isinstance(a, int) or isinstance(a, torch.SymInt) and a.node.expr.is_Integer


is_concrete_float = is_concrete_bool = is_concrete_int


def has_static_value(a):
    """Whether a number has only one possible value."""
    return not isinstance(a, SYMBOLIC) or a.node.shape_env.bound_sympy(a.node.expr).is_singleton()


def has_guarding_hint(a):
    """Whether a number has a value for the example's sizes."""
    return not isinstance(a, SYMBOLIC) or a.node.has_hint()


def hint_int(a, fallback=None):
    """Return the value of an int with the example's sizes."""
    return a.node.require_hint(fallback) if isinstance(a, torch.SymInt) else a


size_hint = optimization_hint = hint_int


def guarding_hint_or_throw(a):
    """Return the value of a number with the example's sizes, or raise an error if it has none."""
    return a.node.require_hint() if isinstance(a, SYMBOLIC) else a


def has_symbolic_sizes_strides(elem):
    """Whether a tensor has symbolic sizes or strides."""
    return any(isinstance(s, torch.SymInt) for s in (*elem.shape, *elem.stride(), elem.storage_offset()))


def constrain_range(a, *, min, max=None):
    """Restrict the range of a number. Raises ValueError if min is above max."""
    low, high = -int_oo if min is None else min, int_oo if max is None else max
    if high < low:
        raise ValueError(
            "Maximum value to constrain_as_size can't be less than the specified min value, "
            f"received min={min} and max={max}"
        )
    if isinstance(a, int):
        if not low <= a <= high:
            raise ValueError(f"Invalid value {a} for range [{min}:{max}]")
        return
    a.node.shape_env.constrain_symbol_range(a.node.expr, low, high)


def _constrain_range_for_size(a, min=None, max=None):
    low = 0 if min is None else min
    if max is not None and max < low:
        raise AssertionError(
            f"Maximum value to constrain_as_size can't be less than the specified min value, "
            f"received min={min} and max={max}"
        )
    if isinstance(a, torch.SymInt):
        constrain_range(a, min=low, max=max)
        a.node.shape_env.size_like.add(a.node.expr)


def _advise_is_size(a):
    if isinstance(a, torch.SymInt) and a.node.expr.is_Symbol and symbol_is_type(a.node.expr, UNBACKED):
        _constrain_range_for_size(a)


def canonicalize_bool_expr(expr):
    """Return a relation with its terms on the right side of < or <=."""
    return expr.canonical if isinstance(expr, sympy.Rel) else expr


def is_symbol_binding_fx_node(node):
    """Return the symbol that a node of a graph introduces, or None."""
    val = node.meta.get("val")
    if isinstance(val, torch.SymInt) and val.node.expr.is_Symbol:
        if node.op == "placeholder" or symbol_is_type(val.node.expr, UNBACKED):
            return val.node.expr
    return None


def find_symbol_binding_fx_nodes(graph):
    """Return {symbol: the first node of a graph that introduces it}."""
    found = {}
    for node in graph.nodes:
        symbol = is_symbol_binding_fx_node(node)
        if symbol is not None:
            found.setdefault(symbol, node)
    return found


def fx_placeholder_vals(gm):
    """Return the values that the placeholders of a traced module stand for."""
    return [n.meta["val"] for n in gm.graph.nodes if n.op == "placeholder"]


def fx_placeholder_targets(gm):
    """Return the names of a module's placeholders."""
    return [n.target for n in gm.graph.nodes if n.op == "placeholder"]


def eval_guards(gm, *args, ignore_static=True):
    """Whether the guards of a traced module hold for other arguments."""
    return gm.shape_env.evaluate_guards_for_args(fx_placeholder_vals(gm), args, ignore_static=ignore_static)


def bind_symbols(gm, *args):
    """Return {symbol: value} of a traced module for other arguments."""
    return gm.shape_env.bind_symbols(fx_placeholder_vals(gm), args)


def sym_prod(args):
    """Return the product of numbers."""
    return math.prod(args)
