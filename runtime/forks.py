"""Safe os.fork() beside other threads.

A forked child has a single thread. Whatever another thread of the parent held at the fork stays held in the child:
locks, and the import locks of modules. This module resets locks in the child, and waits before a fork until imports
have ended (many of our modules are imported at the first call that needs them).
"""

import os
import threading
import time
import weakref
from importlib import _bootstrap  # type: ignore[attr-defined]

_locks: weakref.WeakSet = weakref.WeakSet()
OURS = ("mindtorch_proxy", "torch", "mindspore")


def lock(kind=threading.RLock):
    """Return a new lock that is free in a forked child."""
    return free_in_children(kind())


def free_in_children(made):
    """Register an existing lock, so that it is free in a forked child. Return it."""
    _locks.add(made)
    return made


class FORKS:
    """Number of forks between the first process and this one.

    Code with one lock per object compares it, and replaces a lock that was made before the last fork.
    """

    number = 0


def finish_imports():
    """Wait until no other thread is importing one of our modules. Python itself resolves import deadlocks."""
    while names := [
        n for n, ref in [*_bootstrap._module_locks.items()] if n.partition(".")[0] in OURS and _held_elsewhere(ref())
    ]:
        for name in names:
            _bootstrap._lock_unlock_module(name)
        if all(_held_elsewhere(_bootstrap._module_locks.get(n, lambda: None)()) for n in names):
            return  # a deadlock that Python resolved: this thread is importing too


def threads_sleep(*names, seconds=5.0):
    """Wait, for at most `seconds`, until all native threads whose names begin with one of `names` sleep.

    A thread of MindSpore's pool holds its mutex while it falls asleep and while it wakes up; in a child forked at that
    moment the mutex stays locked. Reads /proc, so it does nothing on systems other than Linux.
    """
    tasks, end = "/proc/self/task", time.monotonic() + seconds
    waiting = [f"{tasks}/{task}/stat" for task in os.listdir(tasks)] if os.path.isdir(tasks) else []
    while (waiting := [task for task in waiting if _awake(task, names)]) and time.monotonic() < end:
        time.sleep(0.0002)


def _awake(task, names):
    try:
        with open(task) as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
    except OSError:  # the thread has ended
        return False
    return name.startswith(names) and rest.split()[0] != "S"


def _held_elsewhere(module_lock):
    return getattr(module_lock, "owner", None) not in (None, threading.get_ident())


def _after_fork_in_child():
    FORKS.number += 1
    for made in [*_locks]:
        made._at_fork_reinit()


os.register_at_fork(after_in_child=_after_fork_in_child)
