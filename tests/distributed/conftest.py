"""Programs on several processes, under both torches."""

import importlib.metadata
import math
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import recording

from mindtorch_proxy.activate import child_environment

HERE = Path(__file__).resolve().parent


def environment(active, **variables):
    """This process's environment, activated or not, with one thread for each process: they share the cores."""
    merged = (
        os.environ | child_environment(active=active) | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"} | variables
    )
    return {name: str(value) for name, value in merged.items() if value is not None}


def start(command, size, *, active=True, executable=sys.executable, **variables):
    """Start a command once for each rank: ``command(rank)`` is the list of its arguments."""
    return [
        subprocess.Popen(
            [executable, *map(str, command(r))],
            env=environment(active, **variables),
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        for r in range(size)
    ]


def finish(processes, timeout=120):
    """Wait for all: [(exit status, output), ...]. None is left behind, nor what they have started."""
    results = []
    try:
        for p in processes:
            output, _ = p.communicate(timeout=timeout)
            results.append((p.returncode, output))
    finally:
        for p in processes:
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL)  # each has a session of its own
                p.communicate()
    return results


@pytest.fixture(scope="session", autouse=True)
def engine():
    """Without gloo there is nothing to test."""
    try:
        importlib.metadata.distribution("xoscar")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the extra `distributed` is not installed")


@pytest.fixture(scope="session")
def ranks(tmp_path_factory):
    """ranks(module, functions, size): a program's results on our torch, {function: [each rank's]}."""

    def run(module, functions, size, oracle=None):
        folder = tmp_path_factory.mktemp("ranks")
        command = [HERE / "launch.py", folder, size, module, *functions]
        started = start(lambda _: command, 1, active=oracle is None, executable=oracle or sys.executable)
        ((status, output),) = finish(started)
        complete = all((folder / f"{f}.{r}").exists() for f in functions for r in range(size))
        # the real torch's gloo may end a process that has finished with "terminate called without an active exception"
        assert complete and (oracle or status == 0), output
        return {f: [pickle.loads((folder / f"{f}.{r}").read_bytes()) for r in range(size)] for f in functions}

    return run


@pytest.fixture(scope="session")
def theirs(request, ranks):
    """theirs(module, functions, size): the results of the real torch.

    They are read from tests/recorded: its processes would take as long as ours, and its tensorpipe hangs
    now and then. With MINDTORCH_ANSWERS=fresh it runs, where there is one, and must give what is recorded.
    """
    oracle = os.environ.get("MINDTORCH_ORACLE_PYTHON")
    recording_anew = request.config.getoption("--record")

    def of_the_real_torch(*program):
        try:
            return ranks(*program, oracle)
        except subprocess.TimeoutExpired:  # the busier the machine, the more often its tensorpipe hangs at the end
            return ranks(*program, oracle)

    def run(module, functions, size):
        names = {f: f"{module}.{f} on {size}" for f in functions}
        recorded = {f: recording.read("processes", name) for f, name in names.items()}
        if None not in recorded.values() and not recording_anew and not (oracle and recording.WANTED == "fresh"):
            return recorded
        if not oracle:
            pytest.skip(f"there is no real torch, and no recording of {module}")
        fresh = of_the_real_torch(module, functions, size)
        for f, name in names.items():
            assert not any("Traceback" in str(result) for result in fresh[f]), f"{name} fails: {fresh[f]}"
            if recorded[f] is not None and not recording_anew:
                assert equal_but_for_rounding(fresh[f], recorded[f]), f"make the recordings anew: {recording.ANEW}"
        if recording_anew:
            recording.write("processes", {name: fresh[f] for f, name in names.items()})
            pytest.skip("recorded, not compared")
        return fresh

    return run


@pytest.fixture(scope="session")
def both(ranks, theirs):
    """both(module, functions, size): the results of ours and of the real torch. Each program runs once."""
    known = {}

    def run(*program):
        if program not in known:
            expected = theirs(*program)
            known[program] = ranks(*program), expected
        return known[program]

    return run


@pytest.fixture(scope="session")
def launch():
    """launch(*arguments, module=...): a launcher, activated; workers find the files of this folder."""

    def start(*arguments, module="torch.distributed.run"):
        path = os.pathsep.join([child_environment()["PYTHONPATH"], str(HERE)])
        merged = environment(True, PYTHONPATH=path)
        command = [sys.executable, "-m", module, *map(str, arguments)]
        return subprocess.Popen(
            command,
            env=merged,
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    return start


@pytest.fixture(scope="session")
def finished():
    """finished(process): (exit status, output) at its end."""
    return lambda process, timeout=90: finish([process], timeout)[0]


def equal_but_for_rounding(a, b):
    """Nested results whose numbers went through other orders of additions."""
    if isinstance(b, float):
        return isinstance(a, float) and (
            math.isclose(a, b, rel_tol=1e-3, abs_tol=2e-4) or math.isnan(a) and math.isnan(b)
        )
    if isinstance(b, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal_but_for_rounding, a, b))
    if isinstance(b, dict):
        return isinstance(a, dict) and a.keys() == b.keys() and all(equal_but_for_rounding(a[k], b[k]) for k in b)
    return a == b


@pytest.fixture(scope="session")
def close():
    """close(a, b): whether results are equal but for rounding."""
    return equal_but_for_rounding
