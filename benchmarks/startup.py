"""Python's start with the .pth file installed and inactive, beside a bare start: python benchmarks/startup.py [RUNS].

Makes an environment of its own.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def start(python):
    """(wall seconds, processor seconds); a machine with other work disturbs the second less."""
    begun = time.perf_counter()
    child = os.posix_spawn(python, [python, "-c", "pass"], os.environ)
    _, status, used = os.wait4(child, 0)
    assert status == 0
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime


def main(runs):
    os.environ.pop("MINDTORCH_ACTIVATE", None)
    os.environ.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        pythons = []
        for name in ("bare", "with"):
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{folder}/{name}"], check=True)
            pythons.append(f"{folder}/{name}/bin/python")
        install = [pythons[1], "-m", "mindtorch_proxy.commands", "--install"]
        subprocess.run(install, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
        for python in pythons:
            start(python)
        pairs = [(start(pythons[0]), start(pythons[1])) for _ in range(runs)]
    for kind, name in enumerate(("wall", "processor")):
        bare, ours = ([times[kind] for times in column] for column in zip(*pairs))
        bare, ours = statistics.median(bare), statistics.median(ours)
        print(
            f"{name}: bare {bare * 1000:.2f} ms, with the .pth file {ours * 1000:.2f} ms: {ours / bare:.3f} times, "
            f"median of {runs} runs by turns"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 50)
