"""Replicas that train together, beside the real torch's."""

import math

import pytest

FUNCTIONS = (
    "variants",
    "no_sync",
    "unused",
    "sparse",
    "checkpoints",
    "hooks",
    "uneven",
    "zero",
    "averaging",
    "mistakes",
    "kept",
    "reducer",
)


# Gradients went through float16: each summand, below one in size, may round the other way at a tie, and a sum of
# opposite ones keeps that step.
COMPRESSED = ("FP16_COMPRESS", "wrapper", "built in")


def difference(ours, theirs, where=""):
    """Where two results differ, numbers by more than rounding; errors by type and first words."""
    if isinstance(theirs, dict):
        if ours.keys() != theirs.keys():
            return f"{where}: {list(ours)} {list(theirs)}"
        return next(filter(None, (difference(ours[k], theirs[k], f"{where} {k}") for k in theirs)), None)
    if isinstance(theirs, (list, tuple)):
        if type(ours) is not type(theirs) or len(ours) != len(theirs):
            return f"{where}: {ours} {theirs}"
        return next(
            filter(None, (difference(o, t, f"{where}[{i}]") for i, (o, t) in enumerate(zip(ours, theirs)))), None
        )
    if isinstance(theirs, float):
        relative, absolute = (2**-10, 2**-11) if any(name in where for name in COMPRESSED) else (2e-4, 2e-5)
        close = isinstance(ours, float) and math.isclose(ours, theirs, rel_tol=relative, abs_tol=absolute)
        return None if close else f"{where}: {ours} {theirs}"
    if isinstance(theirs, str) and "Error" in theirs.split(":")[0]:
        return None if isinstance(ours, str) and ours[:50] == theirs[:50] else f"{where}: {ours} {theirs}"
    return None if ours == theirs else f"{where}: {ours} {theirs}"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_replicas_train_as_the_real_torch_s(both, function):
    ours, theirs = both("training_programs", FUNCTIONS, 2)
    for rank in range(2):
        want = theirs[function][rank]
        assert not (isinstance(want, str) and "Traceback" in want), want
        assert difference(ours[function][rank], want, f"rank {rank}:") is None, (
            ours[function][rank] if isinstance(ours[function][rank], str) else ""
        )


def test_a_bucket_as_one_matrix(ranks):
    (losses, parameters), (_, others) = ranks("training_programs", ["batched_power"], 2)["batched_power"]
    assert parameters == others
    assert losses[-1] < 0.5 * losses[0]


def test_callbacks_may_wait_for_later_collectives(ranks):
    assert (
        ranks("training_programs", ["callbacks"], 2)["callbacks"] == [([6.0, 6.0], [13.0, 13.0], [4.0, 4.0, 2.0])] * 2
    )


def test_synchronized_norms_are_those_of_the_whole_batch(ranks):
    for found, (_, state) in (results := ranks("training_programs", ["synchronized_norms"], 2)["synchronized_norms"]):
        assert len(found) == 12
        for name, differences in found:
            assert name == "SyncBatchNorm" and max(differences) < 2e-6, found
        assert state == results[0][1][1]
