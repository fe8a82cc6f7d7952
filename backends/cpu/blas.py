"""NumPy's products, by one thread where they are not worth more (runtime/threads.py): OpenBLAS shares a product of 262,144 multiplications, and waits."""

import ctypes
from functools import cache, wraps
from glob import glob
from os.path import dirname, join

import numpy as np

from ...runtime import threads

LEAST = 9216  # multiplications by a vector that OpenBLAS begins to share


@cache
def _openblas():
    """(set, get) of the number of threads of the OpenBLAS in NumPy's wheel; None where NumPy was built with another library, which keeps its threads."""
    for path in glob(join(dirname(dirname(np.__file__)), "numpy.libs", "*openblas*")):
        try:
            library = ctypes.CDLL(path)
            return library.openblas_set_num_threads64_, library.openblas_get_num_threads64_
        except (OSError, AttributeError):
            continue
    return None


def alone(fn):
    """fn, whose products are done by the calling thread on few cores."""

    @wraps(fn)
    def call(*args, **kwargs):
        openblas = _openblas() if threads.few() else None
        if openblas is None or (before := openblas[1]()) == 1:  # another thread may have said so, and will take it back
            return fn(*args, **kwargs)
        change = openblas[0]
        change(1)
        try:
            return fn(*args, **kwargs)
        finally:
            change(before)

    return call


_dot, _matmul = alone(np.dot), alone(np.matmul)


def _worth_one(a, b):
    return LEAST <= (a.size * b.shape[-1] if b.ndim > 1 else a.size) < threads.MUCH_WORK


def dot(a, b, out=None):
    """np.dot of matrices or vectors."""
    return (_dot if _worth_one(a, b) else np.dot)(a, b, out=out)


def matmul(a, b, out=None):
    """np.matmul."""
    return (_matmul if _worth_one(a, b) else np.matmul)(a, b, out=out)
