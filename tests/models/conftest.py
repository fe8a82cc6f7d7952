"""The real torch in a process of its own, which runs the same programs."""
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_proxy.activate import child_environment

HERE = Path(__file__).resolve().parent
os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(HERE))  # files that hold whole modules name model_programs, here and in the oracle's process


@pytest.fixture(scope="session")
def oracle():
    """oracle(function, name, folder) starts a program in the real torch's process and returns what waits for its result; or None.

    The program is a module of this folder, model_programs if not said otherwise.
    """
    path = os.environ.get("MINDTORCH_ORACLE_PYTHON")
    if not path:
        yield None
        return
    environment = os.environ | child_environment(active=False) | {"PYTHONPATH": str(HERE)}
    process = subprocess.Popen([path, HERE / "serve.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env={k: v for k, v in environment.items() if v is not None})

    def start(function, name, folder, module="model_programs"):
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
