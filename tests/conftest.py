"""What all tests use: subprocesses with a clean environment, and the oracle (real PyTorch, in a process of its own)."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_proxy.activate import child_environment

if worker := os.environ.get("PYTEST_XDIST_WORKER"):  # MindSpore's threads in several processes fight for the cores
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
PROGRAMS = [str(HERE / "models"), str(HERE / "oracle")]  # modules that both torches import: sessions and processes of the oracle
sys.path[:0] = PROGRAMS
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("MINDTORCH_TRACEBACK", "full")  # a failing test shows where


def clean_environment(**extra):
    """This process's environment without the activation that child processes inherit."""
    environment = os.environ | child_environment(active=False) | extra
    return {name: str(value) for name, value in environment.items() if value is not None}


def pytest_collection_modifyitems(items):
    """Tests that the ledger expects to fail must fail: one that passes fails the run."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10, where pytest brings it
        import tomli as tomllib
    ledger = tomllib.loads((REPOSITORY / "tests" / "ledger.toml").read_text())
    for item in items:
        if (entry := ledger.get(item.nodeid)) and os.environ.get("MINDTORCH_ORACLE_PYTHON"):
            item.add_marker(pytest.mark.xfail(strict=True, reason=f"{entry['category']}: {entry['reason']}"))


# files whose tests compare what one run of all of their programs gave
_TOGETHER = frozenset(f"tests/{name}.py" for name in ("nn/test_against_oracle", "oracle/test_differential", "stubs/test_against_oracle"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each of these files goes to one worker, which makes that run once; all other tests go wherever there is time."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return file if file in _TOGETHER else nodeid

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def python():
    """python(*arguments, **variables): run this Python, not activated, and return its output; check=False returns the process."""

    def run(*arguments, check=True, executable=sys.executable, cwd="/", stdin="", **variables):
        done = subprocess.run(
            [executable, *map(str, arguments)], env=clean_environment(**variables), cwd=cwd, input=stdin, capture_output=True, text=True, timeout=100
        )
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture(scope="session")
def oracle_python():
    """The Python with the real torch 2.13; without one, the test is skipped."""
    path = os.environ.get("MINDTORCH_ORACLE_PYTHON")
    if not path:
        pytest.skip("MINDTORCH_ORACLE_PYTHON names no Python with the real torch")
    return path


@pytest.fixture(scope="session")
def oracle():
    """oracle(function, name, folder) starts a program in the real torch's process and returns what waits for its result; or None.

    The program is a module of tests/models or tests/oracle.
    """
    path = os.environ.get("MINDTORCH_ORACLE_PYTHON")
    if not path:
        yield None
        return
    process = subprocess.Popen(
        [path, HERE / "serve.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environment(PYTHONPATH=os.pathsep.join(PROGRAMS))
    )

    def start(function, name, folder, module):
        print(json.dumps([module, function, name, str(folder)]), file=process.stdin, flush=True)

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
