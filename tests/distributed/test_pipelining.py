"""Pipelines: orders, values and gradients of every schedule beside the real torch's."""

import pytest

FUNCTIONS = ("orders", "schedules", "variants", "several", "evaluated", "files", "chunks")


def differing(a, b, path=""):
    """Where results differ by more than rounding."""
    if isinstance(b, float) and isinstance(a, float):
        return [] if abs(a - b) <= 3e-6 + 1e-5 * abs(b) else [(path, a, b)]
    if isinstance(b, dict) and isinstance(a, dict) and a.keys() == b.keys():
        return [d for k in b for d in differing(a[k], b[k], f"{path}.{k}")]
    if isinstance(b, (list, tuple)) and type(a) is type(b) and len(a) == len(b):
        return [d for i, (x, y) in enumerate(zip(a, b, strict=True)) for d in differing(x, y, f"{path}.{i}")]
    return [] if type(a) is type(b) and a == b else [(path, a, b)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_pipelines_do_what_the_real_torch_s_do(both, function):
    ours, theirs = both("pipelining_programs", FUNCTIONS, 2)
    assert differing(ours[function], theirs[function])[:5] == []


@pytest.mark.slow
@pytest.mark.parametrize("function", ("orders", "schedules", "replicated"))
def test_pipelines_of_four_ranks(both, function):
    ours, theirs = both("pipelining_programs", ("orders", "schedules", "replicated"), 4)
    assert differing(ours[function], theirs[function])[:5] == []
