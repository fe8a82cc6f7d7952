"""Programs of libraries give here what they give with the real torch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import run

from mindtorch_proxy.activate import child_environment

FOLDER = os.environ.get("MINDTORCH_LIBRARIES")
NIGHTLY = os.environ.get("MINDTORCH_NIGHTLY") == "1"


@pytest.mark.skipif(not FOLDER, reason="MINDTORCH_LIBRARIES names no folder of libraries: see tests/libraries/run.py")
@pytest.mark.parametrize("name", [n for n, nightly in run.programs().items() if NIGHTLY or not nightly])
def test_library(name, oracle_python):
    environment = {k: str(v) for k, v in (os.environ | child_environment(active=False)).items() if v is not None}
    verdict = run.compare(name, oracle_python, FOLDER, environment)
    assert verdict["verdict"] == "equal", verdict


def test_every_program_has_a_pinned_version():
    assert run.programs().keys() <= run.versions().keys()
    assert all(run.versions().values())


def test_differences_are_seen():
    assert not list(run.differences({"a": [1.0, float("nan")]}, {"a": [1.00001, float("nan")]}))
    assert list(run.differences({"a": [1.0, "x"]}, {"a": [1.1, "y"]})) == [(".a[0]", 1.0, 1.1), (".a[1]", "x", "y")]
    assert list(run.differences([1, True], [1, 1])) == [("[1]", True, 1)]


def test_readme_has_the_table_of_the_kept_results():
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, root / "tools/libraries_table.py", Path(__file__).parent / "results.json", "--check"]
    )
    assert done.returncode == 0, "python tools/libraries_table.py tests/libraries/results.json"
