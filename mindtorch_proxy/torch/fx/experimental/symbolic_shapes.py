"""Symbolic shapes: sizes are always integers here, so every condition on sizes has a definite value."""

from torch.utils._sympy._strides import eval_is_non_overlapping_and_dense
from torch.utils._sympy.functions import FloorDiv as FloorDiv
from torch.utils._sympy.functions import Max as Max
from torch.utils._sympy.functions import Mod as Mod
from torch.utils._sympy.numbers import int_oo as int_oo
from torch.utils._sympy.value_ranges import ValueRanges as ValueRanges
from torch.utils._sympy.value_ranges import bound_sympy as bound_sympy

eval_is_non_overlapping_and_dense.__module__ = __name__


def statically_known_true(x):
    """Whether the condition is true."""
    return bool(x)


guard_or_false = guard_or_true = guard_size_oblivious = statically_known_true


def free_symbols(val):
    """Return the free symbols in sizes, of which there are none."""
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val):
    """Whether sizes contain free symbols, which is never the case."""
    return False


has_free_unbacked_symbols = has_free_symbols


def is_symbolic(val):
    """Whether a number is symbolic, which is never the case."""
    return False


class GuardOnDataDependentSymNode(RuntimeError):
    """An error of symbolic sizes; it is never raised, and exists for except clauses."""
