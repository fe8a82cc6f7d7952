"""Solves an equation or inequality for one of its parts with simple steps.

Source: ``torch/utils/_sympy/solve.py`` of PyTorch 2.13.
"""

import sympy

from .functions import FloorDiv

__all__ = ["mirror_rel_op", "try_solve"]
_MIRRORED = {
    sympy.Eq: sympy.Eq,
    sympy.Ne: sympy.Ne,
    sympy.Ge: sympy.Le,
    sympy.Gt: sympy.Lt,
    sympy.Le: sympy.Ge,
    sympy.Lt: sympy.Gt,
}
INEQUALITY_TYPES = (sympy.Gt, sympy.Ge, sympy.Lt, sympy.Le)


def mirror_rel_op(type):
    """Return the relation class for swapped sides, such as ``Lt`` for ``Gt``; None if the type is not a relation."""
    return _MIRRORED.get(type)


def try_solve(expr, thing, trials=5, floordiv_inequality=True):
    """Return ``(relation, right side)`` with `thing` alone on the left.

    Return None if `thing` is on both sides or none, or cannot be isolated.

    Args:
        expr: a SymPy equation or inequality.
        thing: the part to solve for.
        trials: the maximum number of steps.
        floordiv_inequality: whether a floor division may become an inequality.
    """
    if type(expr) not in _MIRRORED:
        return None
    left, right = expr.lhs.has(thing), expr.rhs.has(thing)
    if left == right:
        return None
    relation = expr if left else _MIRRORED[type(expr)](expr.rhs, expr.lhs)
    for _ in range(trials):
        moved = _step(relation, thing, floordiv_inequality)
        if moved == relation:
            break
        relation = moved
        if not isinstance(relation, sympy.Rel):
            return None
    return (relation, relation.rhs) if isinstance(relation, sympy.Rel) and relation.lhs == thing else None


def _step(relation, thing, floordiv_inequality):
    """Move terms and factors without `thing` to the right side, and resolve a floor division on the left side."""
    if isinstance(relation.lhs, sympy.Add):
        constant = sum(term for term in relation.lhs.args if not term.has(thing))
        relation = type(relation)(relation.lhs - constant, relation.rhs - constant)
    if isinstance(relation, sympy.Rel) and isinstance(relation.lhs, sympy.Mul):
        relation = _without_factor(relation, sympy.Mul(*(a for a in relation.lhs.args if not a.has(thing))))
    divides = isinstance(relation, sympy.Rel) and isinstance(relation.lhs, FloorDiv)
    if floordiv_inequality and divides and relation.lhs.divisor.is_positive and relation.rhs.is_integer:
        return _without_floor(relation)
    return relation


def _without_factor(relation, factor):
    if isinstance(relation, INEQUALITY_TYPES):
        if factor.is_negative is None:  # the direction of the new inequality is unknown
            return relation
        kind = _MIRRORED[type(relation)] if factor.is_negative else type(relation)
    elif relation.rhs.is_zero:
        return relation
    else:
        kind = type(relation)
    return kind(relation.lhs / factor, relation.rhs / factor)


def _without_floor(relation):
    """Rewrite ``a // b`` compared with an integer c, for positive b, to compare a with ``b * c`` or ``b * (c + 1)``."""
    (a, b), c = relation.lhs.args, relation.rhs
    here, next_ = c * b, (c + 1) * b
    if isinstance(relation, sympy.Eq):
        return sympy.And(sympy.Ge(a, here), sympy.Lt(a, next_))
    if isinstance(relation, sympy.Ne):
        return sympy.Or(sympy.Lt(a, here), sympy.Ge(a, next_))
    if isinstance(relation, (sympy.Ge, sympy.Gt)):
        return sympy.Ge(a, here if isinstance(relation, sympy.Ge) else next_)
    return sympy.Lt(a, here if isinstance(relation, sympy.Lt) else next_)
