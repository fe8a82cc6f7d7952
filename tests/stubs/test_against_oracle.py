"""The cases of cases_*.py in this folder give here what they give in the real torch: values, dtypes, shapes, errors."""

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from comparing import TOLERANCE, same

from mindtorch_proxy.activate import child_environment

HERE = Path(__file__).resolve().parent
FILES = sorted(HERE.glob("cases_*.py"))
STRICT = TOLERANCE | {"float32": (1.3e-6, 2e-6), "complex64": (1e-7, 1e-7)}  # what passes
WIDER = {
    "case_gradients": {"float32": (2e-5, 2e-6)},  # Gamma's derivative to its shape is a series, summed in float32
    "case_compounds": {"float32": (2e-5, 2e-6)},  # the density of broken sticks: logarithms of differences of what is left
}


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
        done = subprocess.run([*command, run, folder / name, *FILES], env=environment, cwd="/", capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr
    return [pickle.loads((folder / name).read_bytes()) for name in ("ours", "theirs")]


@pytest.mark.parametrize("name", [n for path in FILES for n in vars(load(path)) if n.startswith("case_")])
def test_case(name, results):
    ours, theirs = results
    assert not (isinstance(theirs[name], tuple) and theirs[name][0] == "raises"), f"the case itself fails in torch: {theirs[name]}"
    table = STRICT | WIDER.get(name, {})
    # composites may lay out results otherwise
    same(ours[name], theirs[name], name, lambda dtype, _: table.get(dtype, (0, 0)), strides=False)
