"""The cases of cases_*.py in this folder and in tests/optim give here what they give in the real torch."""

import importlib.util
import pickle
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILES = [*sorted((TESTS / "nn").glob("cases_*.py")), *sorted((TESTS / "optim").glob("cases_*.py"))]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


differential = load(TESTS / "oracle" / "test_differential.py")


@pytest.fixture(scope="module")
def results(oracle_python, python, tmp_path_factory):
    folder, run = tmp_path_factory.mktemp("oracle"), TESTS / "oracle" / "run_cases.py"
    python(run, folder / "theirs", *FILES, executable=oracle_python)
    python("-m", "mindtorch_proxy", run, folder / "ours", *FILES, executable=sys.executable)
    return [pickle.loads((folder / name).read_bytes()) for name in ("ours", "theirs")]


@pytest.mark.parametrize("name", [n for path in FILES for n in vars(load(path)) if n.startswith("case_")])
def test_case(name, results):
    ours, theirs = results
    assert not (isinstance(theirs[name], tuple) and theirs[name][0] == "raises"), f"the case itself fails in torch: {theirs[name]}"
    differential.same(ours[name], theirs[name], name)
