"""Small models of real architectures, trained, generated from, saved and loaded: by themselves and against the real
torch.

What needs no oracle is checked always. With MINDTORCH_ORACLE_PYTHON a real torch runs the same program
(model_programs.py), and each side reads the files that the other wrote.
"""

import model_programs
import numpy as np
import pytest
from comparing import COARSE, DRAWN, LATER, NEAR, SELF, drift, leaves


def check_files(loaded, trained, what, near=SELF):
    """Every file gives the trained weights bit for bit, and a model that computes the same."""
    for kind, weights in loaded["weights"].items():
        yield from drift(weights, trained["trained"], f"{what} {kind} weights")
        yield from drift(loaded["outputs"][kind], trained["trained outputs"], f"{what} {kind} outputs", near=near)
    yield from drift(loaded["drawn"], trained["drawn"], f"{what} random state", near=DRAWN if near is NEAR else None)


@pytest.mark.parametrize("name", model_programs.NAMES)
def test_model(name, oracle, tmp_path):
    ours_at, theirs_at = tmp_path / "ours", tmp_path / "theirs"
    ours_at.mkdir(), theirs_at.mkdir()
    theirs = oracle and oracle("train", name, theirs_at, "model_programs")

    ours = model_programs.train(name, ours_at)
    again = model_programs.load(name, ours_at)
    problems = [
        f"{where} is not finite"
        for where, v in leaves(ours)
        if isinstance(v, (np.ndarray, float)) and not np.isfinite(v).all()
        if "hidden_states" in where or "loss" in where or "gradients" in where
    ]
    without = [n for n, g in ours["gradients"].items() if g is None or not g.any()]
    if len(without) > len(ours["gradients"]) / 2:
        problems.append(f"no gradient: {without}")
    if not ours["losses"][-1] < ours["losses"][0]:
        problems.append(f"the loss does not fall: {ours['losses']}")
    problems += check_files(again, ours, "our files, read by us:")
    assert not problems, "\n".join(problems)
    if not oracle:
        return

    theirs = theirs()
    read_by_them = oracle("load", name, ours_at, "model_programs")
    read_by_us = model_programs.load(name, theirs_at)
    read_by_them = read_by_them()
    problems += drift(ours["inputs"], theirs["inputs"], "inputs", near=DRAWN)
    problems += drift(ours["weights"], theirs["weights"], "weights", near=None if name in ("mlp", "cnn") else DRAWN)
    for kind in theirs.keys() - {"inputs", "weights", "drawn"}:
        near = {"bfloat16": COARSE, "trained": LATER, "trained outputs": LATER, "stepped": LATER}.get(kind, NEAR)
        problems += drift(ours.get(kind), theirs[kind], kind, near=near)
    problems += check_files(read_by_them, ours, "our files, read by the oracle:", NEAR)
    problems += check_files(read_by_us, theirs, "the oracle's files, read by us:", NEAR)
    problems += drift(again["stepped"], read_by_them["stepped"], "a step after loading our files", near=LATER)
    # these two start from files that five steps have led to on each side, and may differ by as much already
    further = tuple(2 * limit for limit in LATER)
    problems += drift(read_by_us["stepped"], read_by_them["stepped"], "a step after loading the other's", near=further)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", model_programs.NAMES)
def test_variants(name, oracle, tmp_path):
    theirs = oracle and oracle("variants", name, tmp_path, "model_programs")
    ours = model_programs.variants(name, tmp_path)
    problems, again = [], ours.get("checkpointed, use_reentrant=False")
    if again and not isinstance(again, str):
        problems += drift(
            again, model_programs.gradients(name, model_programs.build(name))[1], "checkpointed", near=SELF
        )
    for kind, result in (theirs() if oracle else {}).items():
        problems += drift(ours.get(kind), result, kind, near=COARSE if kind == "autocast" else NEAR)
    assert not problems, "\n".join(problems)
