"""Checkpoints: the real torch's files both ways, other placements and numbers of ranks, state dicts of sharded
models.
"""

import pytest

WHOLE = [float(i) for i in range(70)]


def complete(found, folders):
    assert len(found) == 3 * folders + 1
    for key, state in found.items():
        if key != "missing":
            assert (
                state["rows"] == state["columns"] == state["replicated"] == state["pieces"] == WHOLE
                and state["plain"] == WHOLE[:20]
                and state["scalar"] == [3.0]
            )
            assert state["nested"] == {"list": [[1.0, 1.0], {"a": 1}], "text": "abc", "number": 5}
    assert found["missing"] == ["RuntimeError: Missing key in checkpoint state_dict: not there."] * len(
        found["missing"]
    )


def test_checkpoints_are_the_real_torch_s(ranks, oracle_python, tmp_path, monkeypatch):
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    ranks("checkpoint_programs", ["saved"], 2)
    for found in ranks("checkpoint_programs", ["loaded"], 2, oracle_python)["loaded"]:
        complete(found, 2)
    ranks("checkpoint_programs", ["saved"], 2, oracle_python)
    for found in ranks("checkpoint_programs", ["loaded"], 2)["loaded"]:
        complete(found, 2)


@pytest.mark.nightly
def test_other_numbers_of_ranks_load_them(ranks, tmp_path, monkeypatch):
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    ranks("checkpoint_programs", ["saved"], 3)
    for size in (1, 2, 4):
        for found in ranks("checkpoint_programs", ["loaded"], size)["loaded"]:
            complete(found, 2)


def test_states_of_sharded_models(ranks, theirs, close, tmp_path, monkeypatch):
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path / "theirs"))
    expected = theirs("checkpoint_programs", ("states",), 2)["states"]
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path / "ours"))
    ours = ranks("checkpoint_programs", ["states", "states_of_flat_parameters"], 2)
    for rank in range(2):
        got, flat = ours["states"][rank], ours["states_of_flat_parameters"][rank]
        assert {k: (got[k], v) for k, v in expected[rank].items() if not close(got[k], v)} == {}
        for (kind, *key), value in flat.items():
            assert close(value, got[("fully_shard", *key)]), (kind, key)


def test_plans_and_walks(both):
    ours, theirs = both("checkpoint_programs", ("walked",), 2)
    for rank in range(2):
        assert [(a, b) for a, b in zip(ours["walked"][rank], theirs["walked"][rank], strict=True) if a != b] == []
