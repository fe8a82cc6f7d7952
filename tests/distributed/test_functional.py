"""Functional collectives beside the real torch's."""


def test_functional_collectives(both):
    ours, theirs = both("functional_programs", ("functional",), 2)
    assert ours["functional"] == theirs["functional"]
