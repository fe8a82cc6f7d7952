"""Two processes that take turns on one core, ours and the real torch: what the comparisons here have alike."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager


def alone(core):
    """This process on one core and with one thread: to be called before torch is imported."""
    os.sched_setaffinity(0, {core})
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")


def least_time(run, seconds):
    """The least time of one call within about `seconds`: of the clock, or of the processor where that is less because
    something else ran there.
    """
    best, end, calls = float("inf"), time.perf_counter() + seconds, 0
    while True:
        start, busy = time.perf_counter(), time.process_time()
        r = run()
        best, calls = min(best, time.perf_counter() - start, time.process_time() - busy), calls + 1
        del r
        if time.perf_counter() > end and calls > 3:
            return best


def mean_time(run, seconds):
    """The mean time of a call over about `seconds`, by the clock, waiting for a core included: most calls shorter than
    a time slice meet no wait, so that
    their median would say nothing of it."""
    start, calls = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < seconds or calls < 5:
        r = run()
        calls += 1
        del r
    return spent / calls


@contextmanager
def busy_cores():
    """A process on each core that does nothing but compute."""
    spin = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
    spinners = [subprocess.Popen([sys.executable, "-c", spin, str(core)]) for core in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for p in spinners:
            p.kill()
            p.wait()


def serve(answer):
    """A child's work: a line of words in, answer(*words) out."""
    for line in sys.stdin:
        try:
            text = repr(answer(*line.rstrip("\n").split("\t")))
        except Exception as e:
            text = f"{type(e).__name__}: {e}".replace("\n", " ")
        print(text, flush=True)


class Child:
    """The other side: a process that answers questions on a pipe."""

    def __init__(self, command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        """A number, or None; RuntimeError with what the child said instead."""
        self.p.stdin.write("\t".join(map(str, words)) + "\n")
        self.p.stdin.flush()
        answer = self.p.stdout.readline().strip()
        if answer == "None":
            return None
        try:
            return float(answer)
        except ValueError:
            raise RuntimeError(answer or "the process ended") from None

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def by_turns(ours, theirs, rounds):
    """The least answer of each side; they are asked by turns."""
    a = b = float("inf")
    for _ in range(rounds):
        a = min(a, ours())
        time.sleep(0.16)  # MindSpore's pool spins that long after a kernel, on the core of the other side
        b = min(b, theirs())
    return a, b
