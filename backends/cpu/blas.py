"""NumPy's matrix products, on one thread where more threads do not pay (runtime/threads.py).

OpenBLAS splits products from 262,144 multiplications on, and waits for the other threads.
"""

import ctypes
import itertools
from functools import cache
from glob import glob
from os.path import dirname, join

import numpy as np

from ...runtime import threads

PREFIXES = "openblas", "scipy_openblas"  # prefixes of OpenBLAS's functions in the wheels of NumPy 1 and NumPy 2
LEAST = 9216  # multiplications from which OpenBLAS splits a product with a vector


@cache
def _openblas():
    """Return (set, get) of the number of threads of the OpenBLAS in NumPy's wheel.

    The result is None where it uses one thread, or NumPy was built with another library.
    """
    for path, prefix in itertools.product(
        glob(join(dirname(dirname(np.__file__)), "numpy.libs", "*openblas*")), PREFIXES
    ):
        try:
            library = ctypes.CDLL(path)
            change, current = (library[f"{prefix}_{name}_num_threads64_"] for name in ("set", "get"))
        except (OSError, AttributeError):
            continue
        return (change, current) if current() > 1 else None
    return None


def _by_one(fn):
    def product(a, b, out=None):
        if (
            LEAST <= (a.size * b.shape[-1] if b.ndim > 1 else a.size) < threads.MUCH_WORK
            and (openblas := _openblas()) is not None
            and threads.few()
        ):
            change, current = openblas
            if (before := current()) > 1:  # otherwise another thread has set it, and will restore it
                change(1)
                try:
                    return fn(a, b, out)
                finally:
                    change(before)
        return fn(a, b, out)

    product.__name__, product.__doc__ = (
        fn.__name__,
        f"np.{fn.__name__} of vectors or matrices, by the calling thread where they are small.",
    )
    return product


dot, matmul = _by_one(np.dot), _by_one(np.matmul)
