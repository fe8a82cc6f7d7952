"""Programs on several processes, under both torches."""

import importlib.metadata
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

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
        )
        for r in range(size)
    ]


def finish(processes, timeout=120):
    """Wait for all: [(exit status, output), ...]. None is left behind."""
    results = []
    try:
        for p in processes:
            output, _ = p.communicate(timeout=timeout)
            results.append((p.returncode, output))
    finally:
        for p in processes:
            if p.poll() is None:
                p.kill()
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
        command = lambda r: [HERE / "launch.py", folder, r, size, module, *functions]
        done = finish(start(command, size, active=oracle is None, executable=oracle or sys.executable))
        complete = all((folder / f"{f}.{r}").exists() for f in functions for r in range(size))
        # the real torch's gloo may end a process that has finished with "terminate called without an active exception"
        assert complete and (oracle or all(status == 0 for status, _ in done)), "\n".join(output for _, output in done)
        return {f: [pickle.loads((folder / f"{f}.{r}").read_bytes()) for r in range(size)] for f in functions}

    return run


@pytest.fixture(scope="session")
def both(ranks, oracle_python):
    """both(module, functions, size): the results of ours and of the real torch. Each program runs once."""
    known = {}

    def of_the_real_torch(*program):
        try:
            return ranks(*program, oracle_python)
        except (
            subprocess.TimeoutExpired
        ):  # its tensorpipe hangs now and then when workers leave, more often on a busy machine
            return ranks(*program, oracle_python)

    def run(module, functions, size):
        key = module, functions, size
        if key not in known:
            known[key] = ranks(*key), of_the_real_torch(*key)
        return known[key]

    return run


@pytest.fixture(scope="session")
def launch():
    """launch(*arguments, module=...): a launcher, activated; workers find the files of this folder."""

    def start(*arguments, module="torch.distributed.run"):
        path = os.pathsep.join([child_environment()["PYTHONPATH"], str(HERE)])
        merged = environment(True, PYTHONPATH=path)
        command = [sys.executable, "-m", module, *map(str, arguments)]
        return subprocess.Popen(
            command, env=merged, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
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
    return a == b


@pytest.fixture(scope="session")
def close():
    """close(a, b): whether results are equal but for rounding."""
    return equal_but_for_rounding
