"""Collectives as functions, and their gradients, beside the real torch's."""

import pytest

FUNCTIONS = ("functions", "gradients")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_collectives_as_functions(both, close, function):
    ours, theirs = both("function_programs", FUNCTIONS, 2)
    for rank in range(2):
        got, want = ours[function][rank], theirs[function][rank]
        assert {k: (got[k], v) for k, v in want.items() if not close(got[k], v)} == {}
