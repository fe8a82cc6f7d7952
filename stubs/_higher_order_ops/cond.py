"""Branches as functions."""

__all__ = ["cond"]


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) or false_fn(*operands)."""
    if not isinstance(operands, (list, tuple)):
        raise RuntimeError(f"Expect operands to be a tuple of possibly nested dict/list/tuple, but got {operands}")
    return (true_fn if bool(pred) else false_fn)(*operands)
