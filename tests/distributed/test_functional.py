"""Functional collectives and the operators of process groups beside the real torch's."""


def test_functional_collectives(both):
    names = "functional", "derivatives", "lazy", "dispatched"
    ours, theirs = both("functional_programs", names, 2)
    for name in names:
        assert ours[name] == theirs[name], name
