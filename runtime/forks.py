"""Forks beside other threads: locks that a child finds free, and imports that are over before the process is copied.

A child has one thread. What another thread of the parent held at that moment nobody in the child gives back: locks, and
modules that were being imported (of ours many are, at the first call that needs them).
"""

import os
import threading
import time
import weakref
from importlib import _bootstrap  # type: ignore[attr-defined]

_locks: weakref.WeakSet = weakref.WeakSet()
OURS = ("mindtorch_proxy", "torch", "mindspore")


def lock(kind=threading.RLock):
    """A lock that is free in a forked child."""
    return free_in_children(kind())


def free_in_children(made):
    """The same for a lock that somebody else made."""
    _locks.add(made)
    return made


class FORKS:
    """How many forks lie between the first process and this one: who keeps a lock for each of many objects compares it,
    and makes a new one.
    """

    number = 0


def finish_imports():
    """Wait until no other thread imports a module of ours. Python itself breaks a wait in a circle."""
    while names := [
        n for n, ref in [*_bootstrap._module_locks.items()] if n.partition(".")[0] in OURS and _held_elsewhere(ref())
    ]:
        for name in names:
            _bootstrap._lock_unlock_module(name)
        if all(_held_elsewhere(_bootstrap._module_locks.get(n, lambda: None)()) for n in names):
            return  # that was a circle: this thread is importing too


def threads_sleep(*names, seconds=5.0):
    """Wait until the system's threads of these names sleep: a thread of MindSpore's pool keeps its mutex while it goes
    to sleep and while it wakes, and a child that is copied at that moment finds the mutex locked for ever. How long
    that is, is the scheduler's to say
    (Linux: elsewhere it isn't asked).
    """
    tasks, end = "/proc/self/task", time.monotonic() + seconds
    waiting = [f"{tasks}/{task}/stat" for task in os.listdir(tasks)] if os.path.isdir(tasks) else []
    while (waiting := [task for task in waiting if _awake(task, names)]) and time.monotonic() < end:
        time.sleep(0.0002)


def _awake(task, names):
    try:
        with open(task) as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
    except OSError:  # it ended meanwhile
        return False
    return name.startswith(names) and rest.split()[0] != "S"


def _held_elsewhere(module_lock):
    return getattr(module_lock, "owner", None) not in (None, threading.get_ident())


def _after_fork_in_child():
    FORKS.number += 1
    for made in [*_locks]:
        made._at_fork_reinit()


os.register_at_fork(after_in_child=_after_fork_in_child)
