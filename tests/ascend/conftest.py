"""The emulated NPU for tests. Skipped, with the reason, where the real PyTorch or a tool of the build is missing."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mindtorch_proxy.activate import child_environment

sys.path.append(os.path.dirname(__file__))

from npu_results import PROPERTY, share  # noqa: E402


def clean_environment(**extra):
    environment = os.environ | child_environment(active=False) | extra
    return {name: str(value) for name, value in environment.items() if value is not None}


EMULATOR = Path(__file__).resolve().parent / "emulator"


def pytest_terminal_summary(terminalreporter):
    """What the parts of the operators' sweep found, together."""
    reports = [r for found in terminalreporter.stats.values() for r in found if getattr(r, "when", "") == "call"]
    results = sum((Counter(value) for r in reports for name, value in r.user_properties if name == PROPERTY), Counter())
    if results:
        good = 100 * share(results)
        terminalreporter.write_line(
            f"operators on npu: {dict(results)}: {good:.2f} % equal or refused by CANN's dtypes"
        )


@pytest.fixture(scope="session")
def cann():
    """The folder of the emulated CANN for the installed MindSpore."""
    built = subprocess.run(
        [sys.executable, EMULATOR / "build.py"], capture_output=True, text=True, env=clean_environment()
    )
    if built.returncode:
        pytest.skip(f"no emulated NPU: {built.stderr.strip().splitlines()[-1]}")
    return Path(built.stdout.strip()).parents[1]


@pytest.fixture(scope="session")
def launched(cann, oracle_python):
    """launched(*command, **variables): run a command with an emulated NPU."""

    def run(*command, timeout=250, **variables):
        environment = clean_environment(GLOG_v="4", **variables)
        command = [oracle_python, EMULATOR / "launch.py", "--cann", cann, *map(str, command)]
        return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, timeout=timeout)

    return run


@pytest.fixture(scope="session")
def npu(launched):
    """npu(*arguments, **variables): run this Python, activated, with an emulated NPU.

    Its output, or with check=False the process.
    """

    def run(*arguments, check=True, timeout=250, **variables):
        done = launched(sys.executable, "-m", "mindtorch_proxy", *arguments, timeout=timeout, **variables)
        if not check:
            return done
        assert done.returncode == 0, done.stderr[-4000:]
        return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("[")).strip()

    return run
