"""The number of threads that run a kernel.

MindSpore's pool splits every kernel of 2,048 elements or more. The caller waits for the other threads by yielding its
core, which takes milliseconds on a busy machine: beside other work a kernel of 8k elements took 2 to 4 ms on two
threads and 0.03 ms on one. On few cores the calling thread therefore does all work except large matrix products, as
PyTorch's kernels do below 32,768 elements.
"""

import ctypes
import os
from functools import partial

FEW_CORES = 4
MUCH_WORK = 1 << 24  # multiplications from which a product uses several threads: a third of a millisecond
SPINS = 30_000  # how often a thread looks for work before it sleeps: 15 ms; MindSpore's default is 150 ms
_wanted = None
_pools = None


def asked():
    """Return the number of threads that the user requested, or None."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return _wanted or (int(text) if text.isdecimal() else 0) or None


def want(n):
    """Set the number of threads. On many cores it is read when MindSpore is imported, and has no effect afterwards."""
    global _wanted
    _wanted = n


def count():
    """Return the number of threads that share large work."""
    cores = len(os.sched_getaffinity(0))
    return min(asked() or cores, cores)


def few():
    """Whether the calling thread does everything but large work."""
    return _pools is not None or len(os.sched_getaffinity(0)) <= FEW_CORES or asked() == 1


class _Pools:
    """MindSpore's thread pools: one without kernel threads, and others with threads that replace it for a single call.

    The first can only be obtained from the function that creates MindSpore's pool, before the first kernel.
    """

    def __init__(self, path):
        self.core = ctypes.CDLL(path)
        self.no_cores = (ctypes.c_void_p * 3)()  # an empty std::vector: threads are not bound to cores
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
        # the vtable pointer with which an object of the class begins
        kind = ctypes.addressof(ctypes.c_char.in_dll(self.core, "_ZTVN9mindspore15ActorThreadPoolE")) + 2 * WORD
        # the queue length is MindSpore's default
        initialize(manager, True, 1, 1, 0x14000, ctypes.addressof(self.no_cores))
        self.current = ctypes.c_void_p.from_address(manager + WORD)
        self.alone = self.current.value
        # False where the memory layout is not the expected one
        self.swappable = self.alone is not None and ctypes.c_void_p.from_address(self.alone).value == kind
        self.shared = {}

    def run(self, prim, *args):
        """Run prim(*args), split among threads."""
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
        """Set whether idle threads look for work for a while before they sleep, or sleep at once."""
        for pool in {self.alone, *self.shared.values()}:
            if pool:
                name = "Max" if much and pool != self.alone else "Min"
                self.core[f"_ZN9mindspore10ThreadPool20SetSpinCount{name}ValueEv"](ctypes.c_void_p(pool))


WORD = ctypes.sizeof(ctypes.c_void_p)


def work_alone(path):
    """Let the calling thread do everything but large work from now on.

    Where MindSpore's library at `path` does not export the required symbols, its own pool stays in use.
    """
    global _pools
    try:
        _pools = _Pools(path)
    except (OSError, AttributeError, ValueError):
        return


def before_fork():
    """Make idle threads sleep at once.

    A fork waits until they sleep. A thread that looks for work yields its core after each look, so beside other
    programs it could take seconds until it sleeps.
    """
    if _pools is not None and _pools.swappable:
        _pools.spin(False)


def after_fork():
    """Let idle threads look for work again."""
    if _pools is not None and _pools.swappable:
        _pools.spin(True)


def in_child():
    """Use the calling thread only, since a forked child has none of the pool's threads."""
    if _pools is not None:
        _pools.current.value = _pools.alone
        _pools.swappable = False


def on_all_cores(prim, work):
    """Return a callable for a primitive, split among threads where `work` multiplications justify it."""
    return prim if work < MUCH_WORK or _pools is None or not _pools.swappable else partial(_pools.run, prim)
