"""torch.distributed.rpc, beside the real torch's."""

import pytest


@pytest.mark.parametrize(
    "function", ["calls", "errors", "references", "before_and_after", "outstanding", "together", "remote_modules"]
)
def test_three_workers(both, function):
    ours, theirs = both(
        "rpc_programs", (function,), 3
    )  # one at a time: the real torch hangs in a second job after references have ended
    assert not isinstance(theirs[function][0], str), theirs[function][0]
    if isinstance(ours[function][0], list):
        for mine, wanted in zip(ours[function][0], theirs[function][0], strict=True):
            assert mine == wanted
    assert ours[function] == theirs[function]


def test_a_worker_that_ends(both):
    ours, theirs = both("rpc_programs", ("lost",), 1)
    assert ours == theirs and ours["lost"] == [("RuntimeError", "RuntimeError", True)]


def test_strangers_are_sent_away(ranks):
    assert ranks("rpc_programs", ("strangers",), 1)["strangers"] == [(True, "w0", [None, None])]
