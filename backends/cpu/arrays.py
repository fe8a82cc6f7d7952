"""Array functions that NumPy lacks or computes slowly on large arrays.

Among them are selection without branches, sums by BLAS, sums into rows and gathering by flat positions.
"""

import ctypes
import os
import time

import numpy as np

from ...runtime import dtypes as dt
from ...runtime import pyboost
from ...runtime.tensor import fresh
from .. import thresholds
from ..host import number_array
from ..quiet import unwarned
from .blas import dot

MOST_DIMS = 32 if pyboost.NUMPY_1 else 64  # the maximum number of dimensions of a NumPy array
LIBC = ctypes.CDLL(None)
# whether malloc may be configured here: the user has set no MALLOC_* variable
OURS = not any(name.startswith("MALLOC_") for name in os.environ)


def keep_memory():
    """Configure malloc to keep freed memory for later arrays.

    Returning memory to the system and requesting it again costs a page fault for every 4 kB, more than the kernel
    itself.
    """
    if hasattr(LIBC, "mallopt") and OURS:
        for option, size in ((-1, KEPT), (-3, 32 << 20)):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
            LIBC.mallopt(option, size)


class _Memory(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


class Holes:
    """Returns free memory to the system when it lies in holes that no allocation fits into.

    oneDNN allocates an aligned buffer in each convolution call. glibc uses the few bytes before the block for small
    objects, so that the next block of that size no longer fits: memory grows by 1 MB a call without limit.
    """

    def __init__(self):
        self.calls, self.next, self.least = 0, 0.0, None  # least: resident bytes after the last trim
        self.known = OURS and hasattr(LIBC, "mallinfo2") and hasattr(LIBC, "malloc_trim")
        if self.known:
            LIBC.mallinfo2.restype = _Memory

    def look(self):
        """Check the memory, and trim it if necessary; called with each convolution."""
        self.calls += 1
        if self.calls & 31 or not self.known or time.monotonic() < self.next:
            return
        start, resident = time.monotonic(), _resident()
        if self.least is None:
            self.least = resident
        if resident > self.least + KEPT and LIBC.mallinfo2().fordblks > KEPT:
            LIBC.malloc_trim(0)
            self.least = _resident()
        self.next = time.monotonic() + max(1.0, 50 * (time.monotonic() - start))  # spend at most 1/50 of the time here


def _resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * PAGE


KEPT, PAGE = 512 << 20, os.sysconf("SC_PAGE_SIZE")
HOLES = Holes()
keep_memory()


class _Special:
    """Imports scipy.special at the first call of one of its functions.

    The import takes as long as that of all kernel modules here.
    """

    def __getattr__(self, name):
        def function(*args):
            from scipy import special

            return getattr(special, name)(*args)

        return function


special = _Special()
_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def select(mask, a, b):
    """Compute np.where(mask, a, b) for a and b of one dtype by operations on bits.

    A branch for every element costs four times as much on mixed masks.
    """
    if mask.size < thresholds.SELECT:
        return np.where(mask, a, b)
    bits = _BITS[a.dtype.itemsize]
    x, y = a.view(bits), b.view(bits)
    keep = mask.astype(bits)
    if not x.ndim and not x:
        keep -= bits(1)
        return (keep & y).view(a.dtype)
    np.negative(keep, out=keep)
    out = x ^ y
    out = np.bitwise_and(out, keep, out=out if out.shape == np.broadcast_shapes(out.shape, keep.shape) else None)
    out ^= y
    return out.view(a.dtype)


def number_in(a, value):
    """Return a Python number as a 0-d array in the dtype of array a.

    Integers wrap, where NumPy 2 would raise.
    """
    return number_array(value, dt.FROM_NP[a.dtype])


def zeroed(mask, a):
    """Return a, with zeros where the mask is true."""
    return select(mask, np.zeros((), a.dtype), a)


def plus_in_place(r, shape, dtype, a):
    """Add an array to a kernel's result in place, and return the sum as a tensor of the given shape.

    The result must have no other owner, and the array must broadcast to its shape.
    """
    out = pyboost.array_of(r, shape, dtype.np)
    unwarned(np.add, out, a, out)
    t = fresh(out, dtype)
    if len(shape) == len(r._shape):
        t._ms = r
    return t


_ones = {}


def ones(dtype, n):
    """Return a view of n ones into a cached vector."""
    a = _ones.get(dtype)
    if a is None or len(a) < n:
        a = _ones[dtype] = np.ones(max(n, 2048), dtype)
    return a[:n]


def total_last(x):
    """Sum over the last dimension of a contiguous float array, in pieces to keep rounding errors small.

    For float32 this is three times as fast as np.add.reduce, by einsum.
    """
    if x.dtype.char != "f":
        return np.add.reduce(x, -1)
    return _in_pieces(x, 2048, _row_sums, lambda x: np.add.reduce(x, -1))


def _row_sums(rows):
    n = rows.shape[1]
    return np.einsum("ij->i", rows) if n >= 64 else dot(rows, ones(rows.dtype, n))


def _in_pieces(x, most, fn, otherwise):
    """Sum fn(pieces of equal size) over the last dimension.

    Returns otherwise(x) where the dimension cannot be divided into such pieces.
    """
    n = x.shape[-1]
    if n <= most:
        return fn(x.reshape(-1, n)).reshape(x.shape[:-1])
    least = -(-n // most)
    k = next((k for k in range(least, least + 64) if n % k == 0), None)
    return otherwise(x) if k is None else np.add.reduce(fn(x.reshape(-1, n // k)).reshape(*x.shape[:-1], k), -1)


def first_of(index, bad):
    """Return the first of the bad indices."""
    return int(index[bad].reshape(-1)[0])


def check_places(index, size, dim):
    """Raise PyTorch's error for indices out of range; gather, scatter and others take no negative ones."""
    if index.size and (index.min() < 0 or index.max() >= size):
        bad = first_of(index, (index < 0) | (index >= size))
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def add_at(out, at, values):
    """Compute out[at] += values, and accumulate values at equal positions."""
    for part in out.dtype.names or (...,):  # complex32 has two fields
        (np.add if out.dtype != bool else np.logical_or).at(out[part], at, values[part])


def add_rows(out, index, rows):
    """Compute out[index[i]] += rows[i] for two-dimensional arrays.

    It multiplies by a sparse matrix of ones, forty times as fast as np.add.at.
    """
    if out.dtype.char not in "fdFDl" or out.shape[1] == 1:
        at, rows = (out.reshape(-1), rows.reshape(-1)) if out.shape[1] == 1 and out.flags.c_contiguous else (out, rows)
        return add_at(at, index, rows)
    from scipy.sparse import csc_matrix

    n = len(index)
    out += csc_matrix((ones(rows.dtype, n), index, np.arange(n + 1)), shape=(len(out), n)) @ rows


def flat_positions(index, shape, dim):
    """Return the positions in a flat contiguous array of the elements that take_along_axis would take."""
    at, step, base = index.astype(np.int64, copy=False), 1, 0
    for d in range(len(shape) - 1, -1, -1):
        if d == dim:
            at = at if step == 1 else at * step
        elif index.shape[d] > 1 and shape[d] > 1:
            base = base + np.arange(0, index.shape[d] * step, step).reshape(-1, *(1,) * (len(shape) - 1 - d))
        step *= shape[d]
    return at + base


def flat_rows(x, indices):
    """Return a contiguous array as rows, and the numbers of the rows that x[indices] selects.

    The result is None unless index arrays are given for the first dimensions.
    """
    if not x.flags.c_contiguous or not x.size or any(a is None for a in indices):
        return None
    at = 0
    for a, n in zip(indices, x.shape):
        a = a.astype(np.int64, copy=False)
        at = at * n + (np.where(a < 0, a + n, a) if a.size and a.min() < 0 else a)
    return x.reshape(int(np.prod(x.shape[: len(indices)])), -1), at


def squares_last(x):
    """Sum the squares over the last dimension of a float array, in pieces by BLAS."""
    return _in_pieces(
        x,
        4096,
        lambda rows: np.matmul(rows[:, None, :], rows[:, :, None])[:, 0, 0].astype(np.float64),
        lambda x: np.add.reduce(np.square(x), -1, dtype=np.float64),
    )


def reversed_taps(at, weights, n):
    """Return (sources, weights), both (taps, n), that add each element back to where (at, weights) took it from.

    at, weights: for each of o sums (taps, o) the positions among n elements, and their weights. Where fewer than `taps`
    sums took an element, the source is o and the weight 0.
    """
    count = at.shape[1]
    order = np.argsort(at, None, kind="stable")
    target = at.reshape(-1)[order]
    first = np.searchsorted(target, np.arange(n))
    rank = np.arange(len(target)) - first[target]
    sources = np.full((rank.max(initial=-1) + 1, n), count)
    found = np.zeros(sources.shape, weights.dtype)
    sources[rank, target], found[rank, target] = order % count, weights.reshape(-1)[order]
    return sources, found


def weighted_sums(x, at, weights, axis):
    """Return sums of elements along an axis: of those at `at`, times `weights`, both (taps, number of sums).

    A position of one beyond the last element stands for a zero.
    """
    if at.size and at.max() == x.shape[axis]:
        x = np.concatenate((x, np.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)), axis)
    shape = [-1 if d == axis else 1 for d in range(x.ndim)]
    total = None
    for i, w in zip(at, weights):
        part = np.take(x, i, axis)
        part *= w.reshape(shape)
        total = part if total is None else np.add(total, part, out=total)
    return np.zeros((*x.shape[:axis], at.shape[1], *x.shape[axis + 1 :]), x.dtype) if total is None else total
