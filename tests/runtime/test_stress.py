"""Short forms of tools/stress.py, and what it found."""

import ctypes
import hashlib
import importlib.util
import sys
import threading
import time
from importlib import _bootstrap
from pathlib import Path

import pytest
import torch

from mindtorch_proxy.runtime import forks


@pytest.fixture(scope="module")
def stress():
    spec = importlib.util.spec_from_file_location("stress", Path(__file__).resolve().parents[2] / "tools" / "stress.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("elements", [1, 200_000])  # NumPy lets other threads run while it adds large arrays
def test_no_accumulation_is_lost(stress, elements):
    assert stress.accumulate(8, 480, elements) == 480


def test_forks_under_load(stress):
    assert stress.fork_under_load(12) == {"right": 12, "wrong": 0, "hung": 0}


def test_tensors_through_a_queue(stress):
    (came, left, _), (before, left_by_killed, _) = stress.through_a_queue(30)
    assert came == 30 and before <= 15 and not left and not left_by_killed


def test_a_fork_waits_for_imports_of_other_threads(stress):
    """A module that another thread is importing stays locked for ever in a child."""
    held, name = threading.Event(), "torch._imported_for_a_while"

    def imports():
        lock = _bootstrap._get_module_lock(name)
        with lock if hasattr(lock, "__enter__") else _bootstrap._ModuleLockManager(name):
            held.set()
            time.sleep(0.3)

    thread = threading.Thread(target=imports)
    thread.start()
    assert held.wait(10)
    assert stress.in_child(lambda: _bootstrap._lock_unlock_module(name) is None, 20) == "right"
    thread.join()


def test_locks_are_free_in_a_child(stress):
    lock, held, done = forks.lock(), threading.Event(), threading.Event()
    leaf = torch.ones(1, requires_grad=True)
    accumulator = torch.autograd.graph.get_gradient_edge(leaf).node

    def holds():
        with lock, accumulator.lock(), torch.default_generator._lock:
            held.set()
            done.wait(30)

    thread = threading.Thread(target=holds)
    thread.start()
    assert held.wait(10)

    def child():
        (leaf * 2).sum().backward()
        return lock.acquire(timeout=1) and leaf.grad.item() == 2 and torch.rand(2).shape == (2,)

    try:
        assert stress.in_child(child, 20) == "right"
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="threads are asked for their state by /proc")
def test_a_fork_waits_for_the_pool_to_sleep(monkeypatch):
    """A worker of MindSpore's pool that a fork caught on its way to sleep left its mutex locked: the child's first
    kernel hung (one DataLoader in twenty).
    """
    asked, sleep = {}, threading.Event()

    def awake(task, names, awake=forks._awake):
        asked.setdefault(task, []).append(awake(task, names))
        return asked[task][-1]

    monkeypatch.setattr(forks, "_awake", awake)

    def work(started, rounds):
        ctypes.CDLL(None).prctl(15, b"KernelThread_7")  # PR_SET_NAME: this thread's
        started.set()
        hashlib.pbkdf2_hmac(
            "sha256", b"", b"", rounds
        )  # one call without the GIL: a thread that waits for it sleeps, as far as the system is asked
        sleep.wait()

    for seconds, rounds, waits in (
        (60.0, 1_000_000, True),
        (0.05, 10_000_000, False),
    ):  # a fifth of a second of work, and two seconds
        started = threading.Event()
        asked.clear()
        thread = threading.Thread(target=work, args=(started, rounds))
        thread.start()
        started.wait()
        time.sleep(0.05)  # it is inside the call by now
        forks.threads_sleep("KernelThread_7", seconds=seconds)
        ((*_, last),) = (answers for answers in asked.values() if answers[0])
        assert last is not waits  # a thread that never sleeps holds no fork up for ever
        sleep.set()
        thread.join()
        sleep.clear()
