"""Small models of real architectures, trained, generated from, saved and loaded: by themselves and against the real torch.

What needs no oracle is checked always. With MINDTORCH_ORACLE_PYTHON a real torch runs the same program (model_programs.py), and each side
reads the files that the other wrote.
"""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mindtorch_proxy.activate import child_environment

HERE = Path(__file__).resolve().parent
os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(HERE))  # files that hold whole modules name model_programs, here and in the oracle's process
import model_programs

NO_GRADIENT = {"model.encoder.embed_positions.weight"}  # Whisper's sinusoids do not learn
# relative; and absolute, in units of the largest value of its kind
NEAR = (1e-3, 1e-5)
LATER = (1e-3, 1e-4)  # after five steps, which carry differences on
COARSE = (5e-2, 3e-2)  # bfloat16 through a whole model
NORMAL = 4  # normal random numbers, in units of the last place; all others are the same
SELF = (1e-5, 1e-6)  # other memory, other alignment: not always the same last bits


@pytest.fixture(scope="session")
def oracle():
    """oracle(function, name, folder) starts a program in the real torch's process and returns what waits for its result; or None."""
    path = os.environ.get("MINDTORCH_ORACLE_PYTHON")
    if not path:
        yield None
        return
    environment = os.environ | child_environment(active=False) | {"PYTHONPATH": str(HERE)}
    process = subprocess.Popen([path, "-c", "import model_programs; model_programs.serve()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env={k: v for k, v in environment.items() if v is not None})

    def start(function, name, folder):
        print(json.dumps([function, name, str(folder)]), file=process.stdin, flush=True)

        def result():
            path = str(folder / f"{function}.pickle")
            assert path in map(str.strip, process.stdout), "the oracle has ended"  # lines of tests that failed early are skipped
            found = pickle.loads(Path(path).read_bytes())
            assert not isinstance(found, str), f"the oracle failed:\n{found}"
            return found

        return result

    yield start
    process.stdin.close()
    process.wait(20)


def leaves(x, where=""):
    """(path, value) of each value in dicts and lists of them."""
    if isinstance(x, (dict, list)) and x:
        for k, v in x.items() if isinstance(x, dict) else enumerate(x):
            yield from leaves(v, f"{where}[{k!r}]")
    else:
        yield where, x


def ulps(a, b):
    """The distance of two arrays of floats in units in the last place of the larger one."""
    return np.abs(a.astype("f8") - b) / np.spacing(np.maximum(np.abs(a), np.abs(b)))


def differences(ours, theirs, what, ulp=None, near=None):
    """Lines that say where two results differ: integers never may, floats by units in the last place, or near (relative, absolute)."""
    ours, theirs = dict(leaves(ours, what)), dict(leaves(theirs, what))
    if ours.keys() != theirs.keys():
        yield f"{what}: only one side has {sorted(ours.keys() ^ theirs.keys())}"
    floats = [np.abs(v).max() for v in theirs.values() if isinstance(v, np.ndarray) and v.dtype.kind == "f" and v.size]
    for where in ours.keys() & theirs.keys():
        a, b = ours[where], theirs[where]
        if not isinstance(b, (np.ndarray, float)):
            if type(a) is not type(b) or a != b:
                yield f"{where}: {a!r}, expected {b!r}"
            continue
        a, b = np.asarray(a), np.asarray(b)
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            yield f"{where}: {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        elif b.dtype.kind != "f" or not (ulp or near):
            if not np.array_equal(a, b, equal_nan=b.dtype.kind == "f"):
                yield f"{where}: {(a != b).sum()} of {a.size} differ: {a.ravel()[:12]}, expected {b.ravel()[:12]}"
        elif ulp and not (worst := ulps(a, b).max(initial=0)) <= ulp:
            yield f"{where}: {worst:g} units in the last place"
        elif near and not np.allclose(a, b, near[0], near[1] * max(floats, default=1), equal_nan=True):
            yield f"{where}: {np.nanmax(np.abs(a - b)):.3g} off, the largest is {np.nanmax(np.abs(b)):.3g}"


def check_files(loaded, trained, what, near=SELF):
    """Every file gives the trained weights bit for bit, and a model that computes the same."""
    for kind, weights in loaded["weights"].items():
        yield from differences(weights, trained["trained"], f"{what} {kind} weights")
        yield from differences(loaded["outputs"][kind], trained["trained outputs"], f"{what} {kind} outputs", near=near)
    yield from differences(loaded["drawn"], trained["drawn"], f"{what} random state", ulp=NORMAL if near is NEAR else None)


@pytest.mark.parametrize("name", model_programs.NAMES)
def test_model(name, oracle, tmp_path):
    ours_at, theirs_at = tmp_path / "ours", tmp_path / "theirs"
    ours_at.mkdir(), theirs_at.mkdir()
    theirs = oracle and oracle("train", name, theirs_at)

    ours = model_programs.train(name, ours_at)
    again = model_programs.load(name, ours_at)
    problems = [f"{where} is not finite" for where, v in leaves(ours) if isinstance(v, (np.ndarray, float)) and not np.isfinite(v).all()
                if "hidden_states" in where or "loss" in where or "gradients" in where]
    without = {n for n, g in ours["gradients"].items() if g is None or not g.any()}
    if without - NO_GRADIENT:
        problems.append(f"no gradient: {without}")
    if not ours["losses"][-1] < ours["losses"][1] < ours["losses"][0]:
        problems.append(f"the loss does not fall: {ours['losses']}")
    problems += check_files(again, ours, "our files, read by us:")
    assert not problems, "\n".join(problems)
    if not oracle:
        return

    theirs = theirs()
    read_by_them = oracle("load", name, ours_at)
    read_by_us = model_programs.load(name, theirs_at)
    read_by_them = read_by_them()
    problems += differences(ours["inputs"], theirs["inputs"], "inputs", ulp=NORMAL)
    uniform = name in ("mlp", "cnn")
    problems += differences(ours["weights"], theirs["weights"], "weights", ulp=None if uniform else NORMAL)
    problems += differences(ours["generated"], theirs["generated"], "generated") if "generated" in theirs else []
    for kind in ("outputs", "gradients", "stepped", "losses", "trained", "trained outputs"):
        problems += differences(ours[kind], theirs[kind], kind, near=LATER if "trained" in kind else NEAR)
    problems += differences(ours["bfloat16"], theirs["bfloat16"], "bfloat16", near=COARSE)
    problems += check_files(read_by_them, ours, "our files, read by the oracle:", NEAR)
    problems += check_files(read_by_us, theirs, "the oracle's files, read by us:", NEAR)
    problems += differences(read_by_us["stepped"], read_by_them["stepped"], "a step after loading", near=LATER)
    assert not problems, "\n".join(problems)
