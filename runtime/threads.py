"""How many threads work on a kernel.

MindSpore's own pool splits every kernel of 2,048 elements and more. A caller waits for the other threads' parts by
giving up its core, which on a busy
one takes milliseconds: beside other work a kernel of 8k elements took 2 to 4 ms on two threads, 0.03 on one. So on few
cores the calling thread does all work but what is worth more threads, as PyTorch's kernels do below 32,768 elements.
"""

import ctypes
import os
from functools import partial

FEW_CORES = 4
MUCH_WORK = 1 << 24  # multiplications of a product that is worth more threads: a third of a millisecond
SPINS = 30_000  # how often a thread looks for work before it sleeps: 15 ms; MindSpore's own do it for 150 ms
_wanted = None
_pools = None


def asked():
    """The number of threads that the user asked for, or None."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return _wanted or (int(text) if text.isdecimal() else 0) or None


def want(n):
    """How many threads the kernels use. On many cores taken up when MindSpore is loaded, without effect afterwards."""
    global _wanted
    _wanted = n


def count():
    """The number of threads that share much work."""
    cores = len(os.sched_getaffinity(0))
    return min(asked() or cores, cores)


def few():
    """Whether the calling thread does all but much work."""
    return _pools is not None or len(os.sched_getaffinity(0)) <= FEW_CORES or asked() == 1


class _Pools:
    """MindSpore's pool without threads for kernels, and one with as many as there are, which takes the other's place
    for a kernel.

    The first can only be had from the function that makes it, before the first kernel.
    """

    def __init__(self, path):
        self.core = ctypes.CDLL(path)
        self.no_cores = (ctypes.c_void_p * 3)()  # an empty std::vector: threads are bound to none
        initialize = self.core["_ZN9mindspore8ActorMgr10InitializeEbmmmRKSt6vectorIiSaIiEE"]
        initialize.argtypes = [
            ctypes.c_void_p,
            ctypes.c_bool,
            ctypes.c_size_t,
            ctypes.c_size_t,
            ctypes.c_size_t,
            ctypes.c_void_p,
        ]
        manager = ctypes.addressof(ctypes.c_char.in_dll(self.core, "_ZN9mindspore8ActorMgr8actorMgrE"))
        kind = (
            ctypes.addressof(ctypes.c_char.in_dll(self.core, "_ZTVN9mindspore15ActorThreadPoolE")) + 2 * WORD
        )  # what an object of the class begins with
        initialize(
            manager, True, 1, 1, 0x14000, ctypes.addressof(self.no_cores)
        )  # the length of its queue is MindSpore's own
        self.current = ctypes.c_void_p.from_address(manager + WORD)
        self.alone = self.current.value
        self.swappable = (
            self.alone is not None and ctypes.c_void_p.from_address(self.alone).value == kind
        )  # False: another layout
        self.shared = {}

    def run(self, prim, *args):
        """prim(*args), split among threads."""
        n = count()
        if n not in self.shared:
            self.shared[n] = self._with_threads(n) if n > 1 else self.alone
        self.current.value = self.shared[n]
        try:
            return prim(*args)
        finally:
            self.current.value = self.alone

    def _with_threads(self, n):
        create = self.core["_ZN9mindspore15ActorThreadPool16CreateThreadPoolEmmRKSt6vectorIiSaIiEENS_8BindModeE"]
        create.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int]
        create.restype = ctypes.c_void_p
        pool = create(n, n, ctypes.addressof(self.no_cores), 0)
        if not pool:
            return self.alone
        self.core["_ZN9mindspore10ThreadPool15SetMaxSpinCountEi"](ctypes.c_void_p(pool), SPINS)
        self.core["_ZN9mindspore10ThreadPool20SetSpinCountMaxValueEv"](ctypes.c_void_p(pool))
        self.core["_ZN9mindspore10ThreadPool14SetWorkerIdMapEv"](ctypes.c_void_p(pool))
        return pool

    def spin(self, much):
        """Whether threads without work look for some for a while, or go to sleep at once."""
        for pool in {self.alone, *self.shared.values()}:
            if pool:
                name = "Max" if much and pool != self.alone else "Min"
                self.core[f"_ZN9mindspore10ThreadPool20SetSpinCount{name}ValueEv"](ctypes.c_void_p(pool))


WORD = ctypes.sizeof(ctypes.c_void_p)


def work_alone(path):
    """The calling thread does all but much work from now on.

    Where MindSpore's library at `path` does not export what it takes, its pool stays.
    """
    global _pools
    try:
        _pools = _Pools(path)
    except (OSError, AttributeError, ValueError):
        return


def before_fork():
    """The threads go to sleep at once.

    A thread that looks for work gives up its core after each look. Beside other programs it would take seconds to get
    through its looks, and a fork waits until it sleeps.
    """
    if _pools is not None and _pools.swappable:
        _pools.spin(False)


def after_fork():
    """The threads look for work again."""
    if _pools is not None and _pools.swappable:
        _pools.spin(True)


def in_child():
    """A forked process has none of the threads."""
    if _pools is not None:
        _pools.current.value = _pools.alone
        _pools.swappable = False


def on_all_cores(prim, work):
    """A primitive, to be called: split among threads where so many multiplications are worth it."""
    return prim if work < MUCH_WORK or _pools is None or not _pools.swappable else partial(_pools.run, prim)
