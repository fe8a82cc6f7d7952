"""ShapeEnv: the symbols of a trace, what is known of them, and the guards under which the trace holds."""

import contextlib
import enum
import hashlib
import itertools
import sys
from dataclasses import dataclass, field

import sympy
from sympy.logic.boolalg import BooleanAtom

import torch
from torch._dynamo.source import ConstantSource as ConstantSource
from torch._dynamo.source import Source as Source
from torch.utils._sympy import functions as f
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.solve import try_solve
from torch.utils._sympy.symbol import SymT, make_symbol, symbol_is_type
from torch.utils._sympy.value_ranges import ValueRangeError, ValueRanges, bound_sympy

from .sym_node import SymNode

UNBACKED = (SymT.UNBACKED_INT, SymT.UNBACKED_FLOAT)


class GuardOnDataDependentSymNode(RuntimeError):
    """The error for a condition that depends on the values of tensors, which a graph cannot decide."""

    def __init__(self, cond, *args):
        super().__init__(*args)
        self.cond = cond


class ConstraintViolationError(RuntimeError):
    """The error for a size that was declared dynamic and that the program fixes or relates to others."""


class DimDynamic(enum.Enum):
    """How a size of an example becomes a symbol."""

    DYNAMIC = 0  # a symbol of its own
    DUCK = 1  # the symbol of other sizes of the same value
    STATIC = 2  # no symbol
    UNBACKED = 3  # a symbol without a hint
    INFER_STRIDE = 4
    OBLIVIOUS_SIZE = 5


@dataclass(frozen=True)
class StrictMinMaxConstraint:
    """A size that must remain dynamic over a whole range."""

    warn_only: bool
    vr: ValueRanges

    def render(self, source):
        """Return the constraint as text, for error messages."""
        return f"{self.vr.lower} <= {source.name} <= {self.vr.upper}"


@dataclass(frozen=True)
class RelaxedUnspecConstraint:
    """A size that must remain dynamic, over a range that the trace determines."""

    warn_only: bool

    def render(self, source):
        """Return the constraint as text, for error messages."""
        return f"RelaxedUnspecConstraint({source.name})"


@dataclass
class StatelessSymbolicContext:
    """How the sizes of one tensor become symbols."""

    dynamic_sizes: list
    dynamic_strides: list = None
    constraint_sizes: list = None
    constraint_strides: list = None
    specialize_on: list = None
    view_base_context: object = None

    def __post_init__(self):
        n = len(self.dynamic_sizes)
        self.constraint_sizes = self.constraint_sizes or [None] * n
        self.dynamic_strides = self.dynamic_strides or [DimDynamic.INFER_STRIDE] * n


@dataclass
class ShapeGuard:
    """A condition on symbols under which the trace holds."""

    expr: object
    sloc: object = None
    size_oblivious: bool = False


@dataclass
class RuntimeAssert:
    """A condition on values of tensors that the graph checks where it runs."""

    expr: object
    msg: str
    stack: object = field(default=None, repr=False)


def _unbacked(expr):
    return [s for s in expr.free_symbols if symbol_is_type(s, UNBACKED)]


def _negated(relation):
    return sympy.Not(relation)


class ShapeEnv:
    """Symbols with their ranges, hints and replacements, and the guards on them.

    Args:
        duck_shape: whether sizes of equal value share a symbol.
        specialize_zero_one: whether sizes 0 and 1 stay numbers.
        assume_static_by_default: whether sizes without a context stay numbers.
        prefer_deferred_runtime_asserts_over_guards: whether conditions that torch._check states become assertions of
            the graph instead of guards.
    """

    def __init__(
        self,
        *,
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=True,
        assume_static_by_default=False,
        specialize_zero_one=True,
        duck_shape=None,
        prefer_deferred_runtime_asserts_over_guards=False,
        tracked_fakes=None,
        **_,
    ):
        self.allow_scalar_outputs, self.allow_dynamic_output_shape_ops = (
            allow_scalar_outputs,
            allow_dynamic_output_shape_ops,
        )
        self.assume_static_by_default, self.specialize_zero_one = assume_static_by_default, specialize_zero_one
        self.duck_shape = True if duck_shape is None else duck_shape
        self.prefer_deferred_runtime_asserts_over_guards = prefer_deferred_runtime_asserts_over_guards
        self.guards, self.replacements, self.var_to_range, self.backed_var_to_val = [], {}, {}, {}
        self.var_to_sources, self.constraints, self.size_like = {}, {}, set()
        self.deferred_runtime_asserts, self.num_deferred_runtime_asserts = {}, 0
        self.pending_fresh_unbacked_symbols = []
        self.val_to_var, self.source_to_var = {}, {}
        self.layout = frozenset()
        self.framework = 0  # nesting depth of our own meta functions, in which unknown sizes count as at least 2
        self.frozen, self.on_assert = False, None
        self.computed = {}  # results of operations, by their operands
        self._decided, self._oblivious, self._replaced, self._facts = {}, {}, {}, set()
        self._order, self._ids, self._counts = (
            {},
            set(),
            {SymT.UNBACKED_INT: itertools.count(), SymT.UNBACKED_FLOAT: itertools.count()},
        )
        self._suppressed = 0

    var_to_val = property(lambda self: self.backed_var_to_val, doc="The hints of symbols.")

    # -------------------------------------------------------------------------------------------- symbols
    def _id_of(self, name):
        found = int(hashlib.sha256(name.encode()).hexdigest(), 16) % 100
        while found in self._ids:
            found += 1
        self._ids.add(found)
        return found

    def create_symbol(
        self,
        val,
        source,
        dynamic_dim=DimDynamic.DUCK,
        constraint_dim=None,
        positive=True,
        do_not_specialize_zero_one=False,
        symbolic_context=None,
    ):
        """Return the expression for a size of an example: a symbol, or a number where it stays static."""
        special = self.specialize_zero_one and not do_not_specialize_zero_one
        if dynamic_dim is DimDynamic.STATIC or special and val in (0, 1) and dynamic_dim is not DimDynamic.UNBACKED:
            if constraint_dim is not None:
                self.constraints.setdefault(sympy.Integer(val), []).append((source, constraint_dim))
            return sympy.Integer(val)
        if dynamic_dim is DimDynamic.UNBACKED:
            symbol = self.create_unbacked_symint(source).node._expr
            self.size_like.add(symbol)
            return symbol
        if dynamic_dim is DimDynamic.DUCK and self.duck_shape and val in self.val_to_var:
            symbol = self.val_to_var[val]
            self.var_to_sources[symbol].append(source)
            return symbol
        symbol = make_symbol(SymT.SIZE, self._id_of(source.name), positive=positive, integer=True)
        self._add(symbol, source, val)
        lowest = (2 if self.specialize_zero_one else 0) if positive else -int_oo
        if do_not_specialize_zero_one and positive:
            lowest = 0
        self.var_to_range[symbol] = ValueRanges(sympy.sympify(lowest), int_oo)
        if isinstance(constraint_dim, StrictMinMaxConstraint):
            self.var_to_range[symbol] &= constraint_dim.vr
        if constraint_dim is not None:
            self.constraints.setdefault(symbol, []).append((source, constraint_dim))
        if dynamic_dim is DimDynamic.DUCK:
            self.val_to_var.setdefault(val, symbol)
        return symbol

    def _add(self, symbol, source, val):
        self._order[symbol] = len(self._order)
        self.var_to_sources[symbol] = [source] if source is not None else []
        if val is not None:
            self.backed_var_to_val[symbol] = sympy.Integer(val)

    def create_symintnode(self, sym, *, hint=None, source=None):
        """Return the SymInt of an expression, or an int where it is a number."""
        return int(sym) if sym.is_Integer else torch.SymInt(SymNode(sym, self, int, hint))

    def create_symboolnode(self, sym):
        """Return the SymBool of a condition."""
        return torch.SymBool(SymNode(sym, self, bool))

    def create_unbacked_symint(self, source=None):
        """Return a new int that depends on values of tensors."""
        symbol = make_symbol(SymT.UNBACKED_INT, next(self._counts[SymT.UNBACKED_INT]), integer=True)
        self._add(symbol, source, None)
        self.var_to_range[symbol] = ValueRanges(-int_oo, int_oo)
        self.pending_fresh_unbacked_symbols.append(symbol)
        return torch.SymInt(SymNode(symbol, self, int))

    def create_unbacked_symfloat(self):
        """Return a new float that depends on values of tensors."""
        symbol = make_symbol(SymT.UNBACKED_FLOAT, next(self._counts[SymT.UNBACKED_FLOAT]))
        self._add(symbol, None, None)
        self.var_to_range[symbol] = ValueRanges(-sympy.oo, sympy.oo)
        self.pending_fresh_unbacked_symbols.append(symbol)
        return torch.SymFloat(SymNode(symbol, self, float))

    def create_unbacked_symbool(self):
        """Return a new condition that depends on values of tensors."""
        symbol = make_symbol(SymT.UNBACKED_INT, next(self._counts[SymT.UNBACKED_INT]), integer=True)
        self._add(symbol, None, None)
        self.var_to_range[symbol] = ValueRanges(0, 1)
        self.pending_fresh_unbacked_symbols.append(symbol)
        return torch.SymBool(SymNode(sympy.Eq(symbol, 1), self, bool))

    def create_symbolic_sizes_strides_storage_offset(self, ex, source, *, symbolic_context=None):
        """Return the sizes, strides and offset of an example tensor with symbols for its dynamic sizes."""
        if symbolic_context is None:
            kind = DimDynamic.STATIC if self.assume_static_by_default else DimDynamic.DUCK
            symbolic_context = StatelessSymbolicContext([kind] * ex.dim())
        given = getattr(symbolic_context, "given", {})
        sizes = [
            self.create_symintnode(
                given[i]
                if i in given
                else self.create_symbol(int(n), Source(f"{source.name}.size()[{i}]"), kind, constraint)
            )
            for i, (n, kind, constraint) in enumerate(
                zip(ex.shape, symbolic_context.dynamic_sizes, symbolic_context.constraint_sizes)
            )
        ]
        return tuple(sizes), _strides(ex.shape, ex.stride(), sizes), ex.storage_offset()

    def is_unbacked_symint(self, symbol):
        """Whether a symbol is an int that depends on values of tensors."""
        return symbol_is_type(symbol, SymT.UNBACKED_INT)

    @contextlib.contextmanager
    def ignore_fresh_unbacked_symbols(self):
        """Context manager in which new unbacked symbols need not be bound to results."""
        before = list(self.pending_fresh_unbacked_symbols)
        yield
        self.pending_fresh_unbacked_symbols = before

    # -------------------------------------------------------------------------------------------- what is known
    def replace(self, expr):
        """Return an expression with symbols replaced by what is known of them."""
        found = self._replaced.get(expr)
        if found is None:
            found = expr
            while self.replacements:
                new = found.xreplace({s: self.replacements[s] for s in found.free_symbols if s in self.replacements})
                if new == found:
                    break
                found = new
            self._replaced[expr] = found
        return found

    simplify = replace

    def bound_sympy(self, expr, size_oblivious=False):
        """Return the range of an expression."""
        ranges = {s: self.var_to_range[s] for s in expr.free_symbols if s in self.var_to_range}
        if size_oblivious:
            for s in ranges:
                if s in self.size_like or self.framework and symbol_is_type(s, SymT.UNBACKED_INT):
                    with contextlib.suppress(ValueRangeError):
                        ranges[s] = ranges[s] & ValueRanges(2, int_oo)
        return bound_sympy(expr, ranges)

    def statically(self, expr, size_oblivious=False):
        """Return what a condition is for all values of the symbols; None if that differs."""
        expr = self.replace(expr)
        if isinstance(expr, BooleanAtom):
            return bool(expr)
        if isinstance(expr, (sympy.And, sympy.Or)):
            known = [self.statically(part, size_oblivious) for part in expr.args]
            settled = isinstance(expr, sympy.Or)
            return settled if settled in known else None if None in known else not settled
        if isinstance(expr, sympy.Not):
            known = self.statically(expr.args[0], size_oblivious)
            return None if known is None else not known
        found = self.bound_sympy(expr, size_oblivious)
        if found.is_singleton():
            return bool(found.lower)
        if not isinstance(expr, sympy.Rel):
            return None
        if expr in self._facts:
            return True
        if _negated(expr) in self._facts:
            return False
        return self._by_difference(expr, size_oblivious)

    def _by_difference(self, expr, size_oblivious):
        """Decide a relation by the range of the difference of its sides, and by known inequalities."""
        difference = sympy.expand(expr.lhs - expr.rhs)
        r = self.bound_sympy(difference, size_oblivious)
        if r.lower < 0 < r.upper and len(difference.free_symbols) > 1:
            r = self.bound_sympy(sympy.factor(difference), size_oblivious)
        kind = type(expr)
        if kind in (sympy.Eq, sympy.Ne):
            differs = r.lower > 0 or r.upper < 0 or difference in self._facts or -difference in self._facts
            return (kind is sympy.Ne) if differs else None
        if kind in (sympy.Lt, sympy.Le):
            difference, r, kind = -difference, ValueRanges(-r.upper, -r.lower), _SWAPPED[kind]
        strict = kind is sympy.Gt
        if r.lower > 0 or not strict and r.lower >= 0:
            return True
        if r.upper < 0 or strict and r.upper <= 0:
            return False
        if difference in self._facts or not strict and difference + 1 in self._facts:
            return True
        return False if -difference in self._facts or strict and 1 - difference in self._facts else None

    def implied_by_ranges(self, expr):
        """Whether a condition holds for all values in the ranges of its symbols, whatever guards say."""
        found = self.bound_sympy(expr)
        return found.is_singleton() and bool(found.lower)

    def hint_of(self, expr, pytype=int):
        """Return the value of an expression with the example's sizes; None if it depends on values of tensors."""
        value = self.replace(expr).xreplace(self.backed_var_to_val)
        if value.free_symbols:
            return None
        if value in (int_oo, -int_oo):
            return None
        return pytype(value)

    def size_hint(self, expr, *, allow_none=False):
        """Return the value of a size with the example's sizes, or raise an error if it has none."""
        value = self.replace(expr).xreplace(self.backed_var_to_val)
        if not value.free_symbols:
            return value
        if allow_none:
            return None
        raise self._data_dependent(expr, "extract the size hint of")

    # -------------------------------------------------------------------------------------------- guards
    def evaluate_sym_node(self, sym_node, size_oblivious=False, fallback_value=None):
        """Decide a condition, or fix a number."""
        if sym_node.pytype is not bool:
            return self.specialized(sym_node._expr)
        return self.evaluate_expr(sym_node._expr, size_oblivious=size_oblivious, fallback_value=fallback_value)

    def evaluate_expr(self, expr, hint=None, fx_node=None, size_oblivious=False, fallback_value=None, **_):
        """Decide a condition. Where it does not hold for all values, the example decides and a guard is recorded.

        Raises GuardOnDataDependentSymNode where it depends on values of tensors, unless there is a fallback_value.
        """
        found = self._decided.get(expr)
        if found is not None:
            return found
        value = self.statically(expr)
        if value is None:
            value = self._undecided(expr, size_oblivious or self.framework > 0, fallback_value)
            if value.__class__ is _Assumed:
                return bool(value.value)
        self._decided[expr] = value
        return value

    def _undecided(self, expr, size_oblivious, fallback):
        expr = self.replace(expr)
        if self.framework and _only_layout(self.layout) and isinstance(expr, (sympy.Eq, sympy.Ne, sympy.Gt)):
            return _Assumed(not isinstance(expr, sympy.Eq))
        if _unbacked(expr):
            if fallback is not None:
                return _Assumed(fallback)
            if size_oblivious:
                value = self.statically(expr, size_oblivious=True)
                if value is None and self.framework and isinstance(expr, (sympy.Eq, sympy.Ne)):
                    self._assume_equal(expr)  # two sizes that have to agree
                    return _Assumed(isinstance(expr, sympy.Eq))
                if value is not None:
                    return _Assumed(value)
            raise self._data_dependent(expr)
        value = bool(self.size_hint(expr))
        self._record(expr if value else _negated(expr))
        return value

    def _assume_equal(self, expr):
        self.guard_or_defer_runtime_assert(sympy.Eq(expr.lhs, expr.rhs), "sizes have to agree")

    def _data_dependent(self, expr, what="guard on"):
        names = ", ".join(sorted(str(s) for s in _unbacked(expr) if s in self.size_like)) or "none"
        kind = "data-dependent expression"
        return GuardOnDataDependentSymNode(
            expr,
            f"Could not {what} {kind} {expr} (unhinted: {expr}).  (Size-like symbols: {names})\n\n"
            "consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and "
            "statically_known_true.",
        )

    def specialized(self, expr):
        """Return the value of a number, and record the guard that fixes it."""
        known = self.replace(expr)
        if known.is_number:
            return known
        if _unbacked(known):
            bounds = self.bound_sympy(known)
            if bounds.is_singleton():
                return bounds.lower
            raise self._data_dependent(expr, "extract specialized integer from")
        value = self.size_hint(known)
        self._record(sympy.Eq(known, value))
        return value

    def guard_or_defer_runtime_assert(self, orig_expr, msg="", fx_node=None):
        """Assume a condition: as a guard if it is one on sizes, else as an assertion of the graph."""
        known = self.statically(orig_expr)
        if known:
            return True
        expr = self.replace(orig_expr)
        unbacked = _unbacked(expr)
        if known is False and not unbacked:
            return False
        if not unbacked and not self.prefer_deferred_runtime_asserts_over_guards:
            return self.evaluate_expr(expr)
        if known is False:
            raise RuntimeError(f"Runtime assertion failed for expression {expr}")
        entry = RuntimeAssert(expr, msg)
        key = max(unbacked or expr.free_symbols, key=lambda s: self._order.get(s, 0))
        self.deferred_runtime_asserts.setdefault(key, []).append(entry)
        self.num_deferred_runtime_asserts += 1
        if self.on_assert is not None:
            self.on_assert(expr)
        self._learn(expr)
        return True

    def constrain_symbol_range(self, s, compiler_min, compiler_max):
        """Restrict the range of a symbol; None leaves a bound open."""
        compiler_min = -int_oo if compiler_min is None else compiler_min
        compiler_max = int_oo if compiler_max is None else compiler_max
        self._narrow(s, ValueRanges(compiler_min, compiler_max))

    def _record(self, expr):
        if self._suppressed:
            return
        self.guards.append(ShapeGuard(expr))
        self._learn(expr)

    def _learn(self, expr):
        """Note what follows from a condition that holds."""
        if isinstance(expr, sympy.And):
            for part in expr.args:
                self._learn(part)
            return
        self._facts.add(expr)
        if isinstance(expr, sympy.Eq):
            self._unify(expr)
        elif isinstance(expr, sympy.Rel):
            difference = sympy.expand(expr.lhs - expr.rhs)
            kind = type(expr)
            if kind in (sympy.Lt, sympy.Le):
                difference, kind = -difference, _SWAPPED[kind]
            if kind is not sympy.Ne:
                self._facts.add(difference if kind is sympy.Gt else difference + 1)  # these are above 0
            self._bound_by(expr)

    def _bound_by(self, expr):
        """Narrow the range of the symbols that an inequality bounds."""
        for s in expr.free_symbols:
            solved = try_solve(expr, s, floordiv_inequality=False)
            if solved is None:
                continue
            relation, bound = solved
            if symbol_is_type(s, SymT.UNBACKED_FLOAT) or bound.has(sympy.Pow):
                continue
            bounds, kind = self.bound_sympy(bound), type(relation)
            with contextlib.suppress(ValueRangeError):  # a contradiction is found where the symbol is used
                if kind in (sympy.Ge, sympy.Gt):
                    self._narrow(s, ValueRanges(_next_int(bounds.lower, kind is sympy.Gt), int_oo))
                elif kind in (sympy.Le, sympy.Lt):
                    self._narrow(s, ValueRanges(-int_oo, -_next_int(-bounds.upper, kind is sympy.Lt)))
                elif kind is sympy.Ne and bounds.is_singleton() and self.var_to_range[s].lower == bounds.lower:
                    self._narrow(s, ValueRanges(bounds.lower + 1, int_oo))

    def _narrow(self, s, r):
        new = self.var_to_range[s] & r
        if new != self.var_to_range[s]:
            self.var_to_range[s] = new
            if new.is_singleton() and new.is_int:
                self._replace_by(s, new.lower)

    def _unify(self, expr):
        """Replace a symbol by what it equals: an unbacked one first, then the youngest."""
        symbols = [s for s in expr.free_symbols if s in self._order]
        for s in sorted(symbols, key=lambda s: (not symbol_is_type(s, UNBACKED), -self._order[s])):
            solved = try_solve(expr, s)
            if solved is None or not isinstance(solved[0], sympy.Eq):
                continue
            value = solved[1]
            if not (value.is_integer or symbol_is_type(s, SymT.UNBACKED_FLOAT)) or not _whole(value):
                continue
            if not symbol_is_type(s, UNBACKED) and _unbacked(value):
                continue
            self._replace_by(s, value)
            return

    def _replace_by(self, s, value):
        if s in self.replacements or value.has(s):
            return
        old, inner = self.var_to_range[s], self.bound_sympy(value)
        for t in value.free_symbols:  # what bounds the replaced symbol bounds the others
            for relation in (sympy.Ge(value, old.lower), sympy.Le(value, old.upper)):
                if len(value.free_symbols) == 1 and isinstance(relation, sympy.Rel) and int_oo not in relation.args:
                    if -int_oo not in relation.args:
                        self._bound_by(relation)
            if s in self.size_like and value == t:
                self.size_like.add(t)
        if value.is_number:
            self.var_to_range[s] = ValueRanges(value, value)
        else:
            with contextlib.suppress(ValueRangeError):
                self.var_to_range[s] = old & inner
        self.replacements[s] = value
        self._replaced.clear()

    @contextlib.contextmanager
    def suppress_guards(self):
        """Context manager in which conditions are decided without guards."""
        self._suppressed += 1
        try:
            yield
        finally:
            self._suppressed -= 1

    @contextlib.contextmanager
    def in_framework(self, layout=frozenset()):
        """Context manager for meta functions: sizes that depend on values count as at least 2.

        layout: the code of functions of which only strides depend on decisions.
        """
        self.framework += 1
        self.layout = layout
        try:
            yield
        finally:
            self.framework -= 1

    def freeze(self):
        """Do nothing: guards after the trace are recorded as well."""

    freeze_runtime_asserts = freeze

    def get_nontrivial_guards(self):
        """Return the guards that do not hold for all values."""
        return [self.replace(g.expr) for g in self.guards if not isinstance(self.replace(g.expr), BooleanAtom)]

    def format_guards(self, verbose=False):
        """Return the guards as lines of text."""
        return "\n".join(f" - {g}" for g in self.get_nontrivial_guards())

    def bind_symbols(self, placeholders, args, *, _simplified=False):
        """Return {symbol: value} for arguments with the shapes of the placeholders."""
        found = {}

        def bind(size, value):
            if isinstance(size, torch.SymInt):
                expr = self.replace(size.node._expr)
                if expr.is_Symbol:
                    found[expr] = value

        for placeholder, arg in zip(placeholders, args):
            if isinstance(placeholder, torch.Tensor):
                for size, value in zip(placeholder.shape, arg.shape):
                    bind(size, value)
            else:
                bind(placeholder, arg)
        return found

    def evaluate_guards_for_args(self, placeholders, args, *, ignore_static=True):
        """Whether the guards hold for the shapes of other arguments."""
        values = {s: sympy.Integer(int(v)) for s, v in self.bind_symbols(placeholders, args).items()}
        for s, v in values.items():
            if v not in self.var_to_range[s]:
                return False
        sizes = [
            (size, value)
            for p, a in zip(placeholders, args)
            if isinstance(p, torch.Tensor)
            for size, value in zip(p.shape, a.shape)
        ]
        for size, value in sizes:
            if isinstance(size, torch.SymInt) and self.replace(size.node._expr).xreplace(values) != int(value):
                return False
        return all(bool(g.xreplace(values)) for g in self.get_nontrivial_guards())


class _Assumed:
    """A decision that holds only where it was asked for, not later."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def _only_layout(layout):
    """Whether the code that asks for a decision is a function of which only strides depend on it."""
    frame = sys._getframe(5)  # behind evaluate_expr, guard_bool and __bool__
    return frame.f_code in layout or frame.f_code.co_name == "<listcomp>" and frame.f_back.f_code in layout


_SWAPPED = {sympy.Lt: sympy.Gt, sympy.Le: sympy.Ge}


def _next_int(bound, strict):
    """Return the least int that is at least `bound`, or above it."""
    if bound in (int_oo, -int_oo):
        return bound
    if bound in (sympy.oo, -sympy.oo):
        return int_oo if bound == sympy.oo else -int_oo
    return sympy.floor(bound) + 1 if strict else sympy.ceiling(bound)


def _whole(expr):
    """Whether an expression has no fractions."""
    return not any(isinstance(a, sympy.Rational) and not a.is_Integer for a in sympy.preorder_traversal(expr))


def _strides(shape, strides, sizes):
    """Return the strides of an example with symbolic sizes: each the product of a stride and a size, if it is one."""
    found = [None] * len(strides)
    order = sorted(range(len(strides)), key=lambda i: (int(strides[i]), -i))
    known = {1: 1}
    for i in order:
        stride, n = int(strides[i]), int(shape[i])
        found[i] = known.get(stride, stride)
        known.setdefault(stride * n, found[i] * sizes[i])
    return tuple(found)
