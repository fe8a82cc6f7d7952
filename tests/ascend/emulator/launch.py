"""Run a command with an emulated NPU: PYTHON launch.py [--cann FOLDER] COMMAND...

The server runs under the Python that MINDTORCH_ORACLE_PYTHON names, or under this one, and needs PyTorch. The CANN is
the one that build.py made for the MindSpore of COMMAND's interpreter (its first word).
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def environment(cann, socket):
    """The variables that a process with an emulated NPU needs."""
    paths = [str(Path(cann) / "cann" / "lib64"), os.environ.get("LD_LIBRARY_PATH", "")]
    modules = [str(Path(cann) / "python"), os.environ.get("PYTHONPATH", "")]
    joined = {"LD_LIBRARY_PATH": ":".join(filter(None, paths)), "PYTHONPATH": ":".join(filter(None, modules))}
    return os.environ | joined | {"EMULATED_CANN": socket, "MINDTORCH_NPU": "emulated"}


def main(argv):
    oracle = os.environ.get("MINDTORCH_ORACLE_PYTHON") or sys.executable
    if subprocess.run(
        [oracle, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"]
    ).returncode:
        sys.exit(
            f"launch.py: {oracle} has no PyTorch for the emulated NPU's server: set MINDTORCH_ORACLE_PYTHON to a "
            f"Python that has"
        )
    if argv[0] == "--cann":
        cann, command = argv[1], argv[2:]
    else:
        command = argv
        made = subprocess.run([command[0], HERE / "build.py"], check=True, text=True, stdout=subprocess.PIPE).stdout
        cann = Path(made.strip()).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "npu")
        server = subprocess.Popen([oracle, HERE / "server.py", path])
        try:
            while not os.path.exists(path):
                if server.poll() is not None:
                    return 1
                time.sleep(0.02)
            code = subprocess.call(command, env=environment(cann, path))
            time.sleep(0.3 if os.environ.get("EMULATED_CANN_REPORT") else 0)  # the last client's report
            return code
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
