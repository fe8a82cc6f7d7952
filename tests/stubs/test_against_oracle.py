"""The cases of cases_*.py in this folder give here what they give in the real torch: values, dtypes, shapes, errors."""

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mindtorch_proxy.activate import child_environment

HERE = Path(__file__).resolve().parent
FILES = sorted(HERE.glob("cases_*.py"))
TOLERANCE = {"torch.float32": (2e-5, 2e-6), "torch.bfloat16": (1.6e-2, 1e-5), "torch.float16": (1e-3, 1e-5)}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def results(oracle_python, tmp_path_factory):
    folder, run = tmp_path_factory.mktemp("oracle"), HERE.parent / "oracle" / "run_cases.py"
    environment = {k: str(v) for k, v in (os.environ | child_environment(active=False)).items() if v is not None}
    for name, command in (("theirs", [oracle_python]), ("ours", [sys.executable, "-m", "mindtorch_proxy"])):
        done = subprocess.run([*command, run, folder / name, *FILES], env=environment, cwd="/", capture_output=True, text=True, timeout=110)
        assert done.returncode == 0, done.stderr
    return [pickle.loads((folder / name).read_bytes()) for name in ("ours", "theirs")]


def same(a, b, where):
    """As tests/oracle compares, but for strides: composites may lay out results otherwise."""
    if isinstance(b, tuple) and b and b[0] == "tensor":
        assert a[:3] == b[:3] and a[4] == b[4], f"{where}: {a[:5]}, expected {b[:5]}"
        if b[5] is not None:
            np.testing.assert_allclose(a[5], b[5], *TOLERANCE.get(b[1], (1e-7, 1e-7) if a[5].dtype.kind in "fc" else (0, 0)), err_msg=where)
    elif isinstance(b, list):
        assert isinstance(a, list) and len(a) == len(b), f"{where}: {a}, expected {b}"
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{where}[{i}]")
    elif isinstance(b, dict):
        assert isinstance(a, dict) and a.keys() == b.keys(), f"{where}: {a}, expected {b}"
        for k in b:
            same(a[k], b[k], f"{where}[{k!r}]")
    elif isinstance(b, float):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-6, nan_ok=True), where
    else:
        assert a == b, f"{where}: {a!r}, expected {b!r}"


@pytest.mark.parametrize("name", [n for path in FILES for n in vars(load(path)) if n.startswith("case_")])
def test_case(name, results):
    ours, theirs = results
    assert not (isinstance(theirs[name], tuple) and theirs[name][0] == "raises"), f"the case itself fails in torch: {theirs[name]}"
    same(ours[name], theirs[name], name)
