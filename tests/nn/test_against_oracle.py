"""The cases of cases_*.py in this folder and in tests/optim give here what they give in the real torch."""

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from comparing import same

from mindtorch_proxy.activate import child_environment

TESTS = Path(__file__).resolve().parents[1]
FILES = [*sorted((TESTS / "nn").glob("cases_*.py")), *sorted((TESTS / "optim").glob("cases_*.py"))]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*command):
    environment = {k: str(v) for k, v in (os.environ | child_environment(active=False)).items() if v is not None}
    done = subprocess.run([*map(str, command)], env=environment, cwd="/", capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def results(oracle_python, tmp_path_factory):
    folder, cases = tmp_path_factory.mktemp("oracle"), TESTS / "oracle" / "run_cases.py"
    run(oracle_python, cases, folder / "theirs", *FILES)
    run(sys.executable, "-m", "mindtorch_proxy", cases, folder / "ours", *FILES)
    return [pickle.loads((folder / name).read_bytes()) for name in ("ours", "theirs")]


@pytest.mark.parametrize("name", [n for path in FILES for n in vars(load(path)) if n.startswith("case_")])
def test_case(name, results):
    ours, theirs = results
    assert not (isinstance(theirs[name], tuple) and theirs[name][0] == "raises"), f"the case itself fails in torch: {theirs[name]}"
    same(ours[name], theirs[name], name)
