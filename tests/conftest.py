"""Fixtures of all tests: subprocesses with a clean environment, and the oracle (real PyTorch in another process)."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_proxy.activate import child_environment

if worker := os.environ.get("PYTEST_XDIST_WORKER"):  # else the processes' MindSpore threads compete for the cores
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
PROGRAMS = [str(HERE / name) for name in ("models", "oracle", "differential")]  # modules that both torches import
sys.path[:0] = [*PROGRAMS, str(HERE)]

import recording
from comparing import MACHINES, differences, tidy
from naming import of_the_machine

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("MINDTORCH_CHECK", "1")  # check that results of kernels match the meta functions
os.environ.setdefault("MINDTORCH_TRACEBACK", "full")  # show the package's own frames in failing tests


def clean_environment(**extra):
    """Return the environment of this process without the activation that child processes would inherit."""
    environment = os.environ | child_environment(active=False) | extra
    return {name: str(value) for name, value in environment.items() if value is not None}


def pytest_collection_modifyitems(config, items):
    """Mark the tests in the ledger as expected failures; one that passes fails the run.

    With --record, keep only tests that ask the real torch.
    """
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10, for which pytest installs tomli
        import tomli as tomllib
    ledger = tomllib.loads((REPOSITORY / "tests" / "ledger.toml").read_text())
    oracle = os.environ.get("MINDTORCH_ORACLE_PYTHON")
    if config.getoption("--record"):
        if not oracle:
            raise pytest.UsageError("--record needs a real torch: MINDTORCH_ORACLE_PYTHON names no Python")
        items[:] = [item for item in items if {"answers", "theirs"} & set(item.fixturenames)]
    for item in items:
        if (entry := ledger.get(item.nodeid)) and (
            oracle or item.nodeid.startswith("tests/differential/")
        ):  # for differential tests, the answers are recorded
            item.add_marker(pytest.mark.xfail(strict=True, reason=f"{entry['category']}: {entry['reason']}"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run all cases of a file, and all parameters of a test of several processes, in one worker, which executes the
    programs once; distribute all other tests freely.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            if nodeid.startswith("tests/differential/test_cases.py::"):
                return nodeid.partition("-")[0]
            return nodeid.partition("[")[0] if nodeid.startswith("tests/distributed/") else nodeid

    return Scheduling(config, log)


def pytest_addoption(parser):
    parser.addoption(
        "--record",
        action="store_true",
        help="keep what the real torch gives in tests/recorded, and compare nothing (with -n 0)",
    )


def pytest_report_header(config):
    if path := os.environ.get("MINDTORCH_ORACLE_PYTHON"):
        return f"real torch: {path}"
    return (
        f"real torch: none (MINDTORCH_ORACLE_PYTHON is not set); what torch {recording.VERSION} gave is read from "
        f"tests/recorded"
    )


@pytest.fixture(scope="session")
def python():
    """Provide python(*arguments, **variables), which runs this Python, not activated, and returns its output.

    With check=False, it returns the process.
    """

    def run(*arguments, check=True, executable=sys.executable, cwd="/", stdin="", timeout=300, **variables):
        done = subprocess.run(
            [executable, *map(str, arguments)],
            env=clean_environment(**variables),
            cwd=cwd,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def browser(tmp_path):
    """Provide browser(page, *flags), which shows an HTML file in Chromium without the network.

    It returns (the document as its scripts leave it, what the browser wrote, which includes console messages).
    """
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if not path:
        pytest.skip("no Chromium")

    def show(page, *flags):
        command = [path, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
        command += ["--allow-file-access-from-files", "--virtual-time-budget=3000", "--window-size=1400,1000"]
        command += [f"--user-data-dir={tmp_path}/user", "--host-resolver-rules=MAP * ~NOTFOUND", *flags]
        command += ["--dump-dom", page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        return done.stdout, done.stderr

    return show


@pytest.fixture(scope="session")
def oracle_python():
    """Provide the path of the Python with the real torch 2.13; skip the test if there is none."""
    path = os.environ.get("MINDTORCH_ORACLE_PYTHON")
    if not path:
        pytest.skip("MINDTORCH_ORACLE_PYTHON names no Python with the real torch")
    return path


@pytest.fixture(scope="session")
def oracle():
    """Provide oracle(function, name, folder, module), which starts a program in the process with the real torch.

    It returns a function that waits for the result. The program is a module of tests/models or tests/oracle. Without a
    real torch, the fixture is None.
    """
    path = os.environ.get("MINDTORCH_ORACLE_PYTHON")
    if not path:
        yield None
        return
    process = subprocess.Popen(
        [path, HERE / "serve.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(PYTHONPATH=os.pathsep.join(PROGRAMS)),
    )

    def start(function, name, folder, module):
        print(json.dumps([module, function, name, str(folder)]), file=process.stdin, flush=True)

        def result():
            path = str(folder / f"{function}.pickle")
            assert path in map(str.strip, process.stdout), (
                "the oracle has ended"
            )  # skip lines for tests that failed before they read their result
            found = pickle.loads(Path(path).read_bytes())
            assert not isinstance(found, str), f"the oracle failed:\n{found}"
            return found

        return result

    yield start
    process.stdin.close()
    process.wait(20)


@pytest.fixture(scope="session")
def answers(request, oracle, python, tmp_path_factory):
    """Provide answers(group, name), which returns the results of the real torch, from its process or a recording.

    If there is neither, the test is skipped. The group is "cases", with names of files in tests/differential/cases, or
    a module of tests/oracle with a function of the same name. A file of cases that is as it was recorded is not run
    again, unless MINDTORCH_ANSWERS is "fresh" or some of its results depend on the processor.
    """
    known, fresh, recording_anew = {}, {}, request.config.getoption("--record")
    cases = HERE / "differential" / "cases"

    def ask(group, name):
        folder = tmp_path_factory.mktemp(group)
        if group != "cases":
            return oracle(group, name, folder, group)()
        command = [HERE / "differential" / "run_cases.py", folder / "out", cases / f"{name}.py"]
        python(*command, executable=os.environ["MINDTORCH_ORACLE_PYTHON"], timeout=900)
        return pickle.loads((folder / "out").read_bytes())

    def is_current(group, name):
        """Whether a recording stands for the real torch, which is there."""
        if recording_anew or recording.WANTED == "fresh" or group != "cases":
            return False
        return recording.source(group, name) == recording.digest(cases / f"{name}.py") and not of_the_machine(name)

    def answer(group, name):
        if (group, name) not in known:
            recorded = recording.read(group, name)
            if oracle and (recorded is None or recording.WANTED != "recorded" and not is_current(group, name)):
                known[group, name] = fresh.setdefault(group, {})[name] = ask(group, name)
                if recorded is not None and not recording_anew:
                    _check_recording(group, name, recorded, known[group, name])
            elif recorded is None:
                pytest.skip(f"there is no real torch, and no recording of {group} {name}")
            else:
                known[group, name] = recorded
        if recording_anew:
            pytest.skip("recorded, not compared")
        return known[group, name]

    answer.is_recorded = lambda group, name: (group, name) in known and name not in fresh.get(group, {})
    yield answer
    if recording_anew:
        for group, found in fresh.items():
            if group == "cases":
                recording.write(group, found, {name: recording.digest(cases / f"{name}.py") for name in found})
            else:
                recording.write(group, {name: recording.shortened(samples) for name, samples in found.items()})


def _check_recording(group, name, recorded, fresh):
    """Fail if the real torch's results differ from the recorded ones, apart from what depends on the machine."""
    if group == "cases":
        for case in of_the_machine(name):
            recorded, fresh = ({k: v for k, v in answers.items() if k != case} for answers in (recorded, fresh))
    else:
        # Compare samples with the same arguments, and of their results only dtypes, shapes and errors: another
        # processor draws and rounds differently, and some values have no meaning.
        def structure(results):
            return {kind: tidy(result, values=False, strides=False) for kind, result in results.items()}

        same = [(structure(a), structure(b)) for (s, a), (t, b) in zip(recorded, fresh) if s == t]
        recorded, fresh = [a for a, _ in same], [b for _, b in same]
    found = next(differences(recorded, fresh, f"recorded {group} {name}", lambda *_: MACHINES, strides=False), None)
    assert not found, f"{found}\nmake the recordings anew: {recording.ANEW}"
