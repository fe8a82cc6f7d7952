"""Sizes here are always integers: nothing is symbolic, every question about sizes has its answer."""


def statically_known_true(x):
    """Whether the condition holds."""
    return bool(x)


guard_or_false = guard_or_true = guard_size_oblivious = statically_known_true


def free_symbols(val):
    """The symbols in sizes: none."""
    return set()


free_unbacked_symbols = free_symbols


def is_symbolic(val):
    return False


class GuardOnDataDependentSymNode(RuntimeError):
    """An error of symbolic sizes, for except clauses."""
