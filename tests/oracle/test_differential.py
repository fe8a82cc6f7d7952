"""Every case of cases_*.py gives here what it gives in the real torch: values, dtypes, shapes, strides, errors."""

import importlib.util
import pickle
import sys
from pathlib import Path

import pytest
from comparing import same

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("cases_*.py"))


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


@pytest.mark.parametrize("name", list(cases()))
def test_case(name, results):
    ours, theirs = results
    same(ours[name], theirs[name], name)
