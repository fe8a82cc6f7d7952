"""Matrices: what is left of a decomposition when multiplication, triangular solves and eliminations by rows are given."""

from ..registry import decomposition, function


@decomposition("linalg.solve_triangular")
def solve_triangular(A, B, upper, left, unit):
    """From the right, through the transpose."""
    solve = function("linalg", "solve_triangular")
    return solve(A.mT, B.mT, upper=not upper, left=True, unitriangular=unit).mT.contiguous()
