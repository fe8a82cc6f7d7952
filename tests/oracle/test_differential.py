"""Every case of cases_*.py gives here what it gives in the real torch: values, dtypes, shapes, strides, errors."""

import importlib.util
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("cases_*.py"))
TOLERANCE = {
    "torch.float32": (1.3e-6, 1e-5),
    "torch.float64": (1e-7, 1e-7),
    "torch.float16": (1e-3, 1e-5),
    "torch.bfloat16": (1.6e-2, 1e-5),
    "torch.complex64": (1.3e-6, 1e-5),
    "torch.complex128": (1e-7, 1e-7),
}


def cases():
    for path in FILES:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from (n for n in vars(module) if n.startswith("case_"))


@pytest.fixture(scope="session")
def results(oracle_python, python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("oracle")
    for name, command in {"theirs": (oracle_python, []), "ours": (sys.executable, ["-m", "mindtorch_proxy"])}.items():
        python(*command[1], HERE / "run_cases.py", folder / name, *FILES, executable=command[0])
    return [pickle.loads((folder / n).read_bytes()) for n in ("ours", "theirs")]


def same(a, b, where="result"):
    if isinstance(b, tuple) and b and b[0] == "raises":
        assert isinstance(a, tuple) and a[0] == "raises" and a[1] == b[1], f"{where}: got {a}, expected {b}"
    elif isinstance(b, tuple) and b and b[0] == "tensor":
        assert a[:5] == b[:5], f"{where}: {a[:5]}, expected {b[:5]}"
        if b[5] is not None:
            rtol, atol = TOLERANCE.get(b[1], (0, 0))
            np.testing.assert_allclose(a[5], b[5], rtol, atol, err_msg=where)
    elif isinstance(b, list):
        assert isinstance(a, list) and len(a) == len(b), f"{where}: {a}, expected {b}"
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{where}[{i}]")
    elif isinstance(b, dict):
        assert a.keys() == b.keys(), where
        for k in b:
            same(a[k], b[k], f"{where}[{k!r}]")
    elif isinstance(b, float):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-6, nan_ok=True), where
    else:
        assert a == b, f"{where}: {a!r}, expected {b!r}"


@pytest.mark.parametrize("name", list(cases()))
def test_case(name, results):
    ours, theirs = results
    same(ours[name], theirs[name], name)
