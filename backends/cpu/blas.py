"""NumPy's products, by one thread where they are not worth more (runtime/threads.py).

OpenBLAS shares a product of 262,144 multiplications, and waits.
"""

import ctypes
import itertools
from functools import cache
from glob import glob
from os.path import dirname, join

import numpy as np

from ...runtime import threads

PREFIXES = "openblas", "scipy_openblas"  # of OpenBLAS's functions in the wheels of NumPy 1 and of NumPy 2
LEAST = 9216  # multiplications by a vector that OpenBLAS begins to share


@cache
def _openblas():
    """(set, get) of the number of threads of the OpenBLAS in NumPy's wheel.

    None where it has one, or NumPy was built with another library.
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
            if (before := current()) > 1:  # else another thread has said so, and will take it back
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
