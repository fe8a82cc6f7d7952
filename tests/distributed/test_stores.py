"""Key-value stores, beside the real torch's."""

import pytest

ALONE = "stores", "between_threads", "servers", "barriers", "reductions"


@pytest.mark.parametrize("function", ALONE)
def test_a_process_of_its_own(both, function):
    ours, theirs = both("store_programs", ALONE, 1)
    if isinstance(ours[function][0], dict):
        for name, wanted in theirs[function][0].items():
            assert ours[function][0][name] == wanted, name
    assert ours[function] == theirs[function] and not isinstance(ours[function][0], str)


def test_two_processes_over_tcp(both):
    ours, theirs = both("store_programs", ("over_tcp",), 2)
    assert ours == theirs and ours["over_tcp"][0][0] == [b"0", b"1"]
