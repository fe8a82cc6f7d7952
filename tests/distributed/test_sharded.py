"""Tensors in pieces of the older kind: specs, metadata, ShardedTensor as a container, beside the real torch's."""

import pytest

FUNCTIONS = ("specs", "tensors", "in_groups", "in_modules")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_pieces_are_those_of_the_real_torch(both, function):
    ours, theirs = both("sharded_programs", FUNCTIONS, 2)
    for rank in range(2):
        got, want = ours[function][rank], theirs[function][rank]
        assert not isinstance(want, str), want
        assert not isinstance(got, str), got
        for a, b in zip(got, want, strict=True):
            differing = (
                [(x, y) for x, y in zip(a, b, strict=True) if x != y] if isinstance(b, list) else [(a, b)] * (a != b)
            )
            assert differing == []
