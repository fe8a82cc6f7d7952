"""Sharded training: beside one process with the whole batch, and beside the real torch's."""

import pytest


def test_sharded_parameters_train_as_whole_ones(both, close):
    ours, theirs = both("fsdp_programs", ("per_parameter",), 2)
    for rank in range(2):
        got, want = ours["per_parameter"][rank], theirs["per_parameter"][rank]
        assert {k: (got[k], v) for k, v in want.items() if not close(got[k], v)} == {}
        assert all(close(got[k], got["alone"]) for k in ("default", "resharded", "kept"))
        assert close(got["clipped"], got["alone clipped"]) and close(got["long"], got["steps"])


def test_flat_parameters_train_as_whole_ones(both, close):
    ours, theirs = both("fsdp_programs", ("flat",), 2)
    for rank in range(2):
        got, want = ours["flat"][rank], theirs["flat"][rank]
        # the real torch, on CPUs, gives zeros for the state of parameters whose pieces lie on other ranks
        want["optimizer", True], want["continued", True] = want["optimizer", False], True
        assert {k: (got[k], v) for k, v in want.items() if not close(got[k], v)} == {}
        assert all(
            close(got[k], got["alone"])
            for k in ("default", "SHARD_GRAD_OP", "NO_SHARD", "original", "custom", "by size")
        )
        assert close(got["clipped"], got["alone clipped"]) and close(got["long"], got["steps"])


def test_the_first_rank_s_parameters_for_all(ranks):
    assert ranks("fsdp_programs", ["first_ranks_parameters"], 2)["first_ranks_parameters"] == [(True, 3)] * 2


def test_whole_parameters_live_only_while_they_compute(ranks):
    assert ranks("fsdp_programs", ["freed"], 2)["freed"] == [[0] * 4] * 2


def test_checkpoints_around_and_within_units(both, close):
    ours, theirs = both("fsdp_programs", ("checkpointed",), 2)
    for rank in range(2):
        got, want = ours["checkpointed"][rank], theirs["checkpointed"][rank]
        assert {k: (got[k], v) for k, v in want.items() if not close(got[k], v)} == {}


@pytest.mark.nightly
@pytest.mark.slow
def test_replicas_of_shards_and_shards_of_shards(both, close):
    ours, theirs = both("fsdp_programs", ("replicated_and_sharded",), 4)
    for rank in range(4):
        got, want = ours["replicated_and_sharded"][rank], theirs["replicated_and_sharded"][rank]
        assert {k: (got[k], v) for k, v in want.items() if not close(got[k], v)} == {}
        assert close(got["hybrid"], got["alone"])


@pytest.mark.nightly
@pytest.mark.slow
def test_a_tiny_bert_trains_as_on_one_process(ranks):
    pytest.importorskip("transformers")
    for whole, sharded, flat in ranks("sharded_bert_programs", ["bert"], 2)["bert"]:
        assert len(whole) == 50 and whole[-1] < whole[0] / 2
        assert sharded == pytest.approx(whole, abs=1e-6) and flat == pytest.approx(whole, abs=1e-6)
