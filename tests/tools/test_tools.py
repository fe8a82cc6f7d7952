"""Tests the probe of primitives, and the files written by it and by the tool for the kernel table."""

import importlib.util
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from mindtorch_proxy.runtime import pyboost

ROOT = Path(__file__).resolve().parents[2]


def version(path):
    return tuple(map(int, path.stem.partition("-")[2].split(".")))


MEASURED = sorted((ROOT / "tools").glob("probe-*.tsv"), key=version)


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def probe():
    return tool("probe")


def test_docs_kernels_is_up_to_date():
    wrong = tool("kernel_table").differences()
    if wrong is None:
        pytest.skip(f"docs/kernels.md was written with another MindSpore than {pyboost.version()}")
    assert not wrong, "run `python tools/kernel_table.py`:\n" + "\n".join(wrong[:20])


def test_primitives_are_what_was_measured(probe):
    assert probe.table(*MEASURED) == (ROOT / "backends" / "cpu" / "primitives.py").read_text()


def test_the_installed_version_chooses_its_dtypes(probe):
    from mindtorch_proxy.backends.cpu.primitives import TAKES

    installed = tuple(map(int, pyboost.version().split(".")[:2]))
    path = [p for p in MEASURED if version(p)[:2] <= installed][-1]
    assert probe.read(path) == {name: takes for name, takes in TAKES.items() if takes}


def test_references_are_sound(probe):
    """The arguments of each recipe can be created, and its reference computes numbers from them."""
    np = probe.np
    for name, several in probe.recipes().items():
        for _, arguments, init, reference in several:
            whole = any(word in reference for word in ("&", "|", "^", "~", "shift", "np.gcd", "np.lcm"))
            dtype = "i32" if whole else "f64"
            probe.evaluate(arguments + ",", probe.Samples(dtype))
            probe.evaluate(f"({init},)" if init else "()", {})
            if "out[" not in reference:
                want = probe.evaluate(reference, probe.Samples(dtype, wide=True))
                assert all(
                    np.asarray(w).dtype.kind in "biufc" for w in (want if isinstance(want, tuple) else (want,))
                ), name


def test_differences_are_seen(probe):
    np = probe.np
    one = np.array([1, np.nan, np.inf], np.float32)
    assert probe.difference(one, one.astype(np.float64), "f32") == ""
    assert "nan" in probe.difference(np.ones(3, np.float32), one, "f32")
    assert "shape" in probe.difference(one, one[:2], "f32")
    assert probe.difference(np.array([1 + 1e-7]), np.ones(1), "f64"), "a double kernel that computes in float32"
    assert probe.difference(np.array([2**53], np.int64), np.array([2**53 + 1]), "i64")


def test_a_crash_and_a_hang_are_told(probe):
    def crash(emit):
        emit(ran=True)
        os.kill(os.getpid(), signal.SIGTERM)

    assert probe.forked(crash) == {"ran": True, "error": "killed by SIGTERM"}
    assert probe.forked(lambda emit: time.sleep(30), limit=0.2) == {"error": "killed by SIGKILL"}
    assert probe.forked(lambda emit: 1 / 0)["error"].startswith("ZeroDivisionError")


def test_probing(python):
    lines = python(ROOT / "tools" / "probe.py", "Abs", "Maximum", "AcosExt", executable=sys.executable).splitlines()
    head, *rows = (line.split("\t") for line in lines)
    rows = {r[0]: dict(zip(head, r)) for r in rows}
    assert (
        {"f32", "f64", "i64", "i32"} <= set(rows["Abs"]["dtypes"].split())
        and float(rows["Abs"]["us"]) > 0
        and rows["Abs"]["wrong"] == rows["Abs"]["edges"] == ""
    )
    assert {"f32", "f64"} <= set(rows["Maximum"]["edges"].split()), "ignores NaN"
    assert rows["AcosExt"]["state"] == "unregistered"


def test_semantics_are_judged_by_the_ledger():
    record = {
        f"file:{c}": {"verdict": v, "real": 1, "ours": 2}
        for c, v in (("a", "equal"), ("b", "differs"), ("c", "differs"), ("d", "equal"), ("e", "message"))
    }
    ledger = {"semantics: file:b": {}, "semantics: file:d": {}, "semantics: file:not_run": {}, "fuzz: x": {}}
    assert tool("semantics").judge(record, ledger) == (["file:c"], ["file:d"])


def test_training_programs_differ_where_they_do():
    training = tool("fuzz_training")
    told = ["torch.float32", [2], [0.5, -1e-9]]
    run = {"losses 0": [1.25], "gradients": {"bias": [*told, [1]]}, "parameters": {"bias": [*told, True, 3]}}
    changed = lambda name, value: run | {name: value}  # noqa: E731
    spec = {"autocast": False}
    assert training.difference(spec, run, changed("losses 0", [1.2501])) is None
    rounding = {"bias": ["torch.float32", [2], [0.5, 3e-9], [1]]}
    assert training.difference(spec, run, changed("gradients", rounding)) is None
    assert training.difference(spec, run, changed("losses 0", [1.27]))[0] == "losses 0"
    assert training.difference(spec, run, changed("gradients", {"bias": [*told, [2]]}))[0] == "gradients: bias"
    assert training.difference(spec, run, changed("parameters", {"bias": [*told, True, 4]}))[0] == "parameters: bias"
    assert training.difference(spec, run, run | {"error": ["RuntimeError", ""]})[0] == "error"
    assert training.difference(spec, run, ["hung"])[0] == "the program"


def test_a_random_training_program_runs():
    training = tool("fuzz_training")
    layers = [["conv", "ReLU", True], ["norm", None, False], ["shuffle", "GELU", False]]
    spec = {
        "kind": "images",
        "layers": layers,
        "head": "smoothed",
        "hooks": ["forward", "backward", "post"],
        "checkpoint": False,
        "autocast": False,
        "optimizer": ["AdamW", 0],
        "foreach": None,
        "groups": True,
        "scheduler": "OneCycleLR",
        "accumulate": 2,
        "clip": "norm",
        "set_to_none": True,
        "events": {"1": "resume", "2": "copy", "3": "evaluate"},
        "steps": 4,
    }
    import torch
    import torch.utils.checkpoint

    found = training.train(torch, spec)
    assert "error" not in found and found["loaded"] == "<All keys matched successfully>"
    assert len(found["seen"]) > 8 and found["losses 3"][0] < found["losses 0"][0] * 1.5
    assert found["parameters"]["last.weight"][-2] >= 2 and found["random"] == training.train(torch, spec)["random"]
