"""Factorizations of stacks of small matrices, with each step running over the whole stack.

A LAPACK call takes one matrix and costs some microseconds however small the matrix is. For many small matrices the same
steps as NumPy operations over the stack are ten times faster. The operations follow the order of LAPACK's unblocked
code, so that pivots are the same and values differ by rounding alone.
"""

import numpy as np

from .. import thresholds

LARGEST = 16  # largest matrix size for which this is faster than a LAPACK call for each matrix


def is_stack_of_small(a):
    """Whether the functions of this module are faster for a stack of shape (*, rows, columns)."""
    return a.ndim > 2 and max(a.shape[-2:]) <= LARGEST and int(np.prod(a.shape[:-2])) >= thresholds.STACK and a.size > 0


def _flat(a):
    return a.reshape(-1, *a.shape[-2:])


def factor(a):
    """Return (LU, pivots from 1, info) as getrf does: a is (*, m, n), pivots (*, min(m, n)), info (*)."""
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    # the stack becomes the last dimension, along which each step runs
    lu = np.ascontiguousarray(_flat(a).transpose(1, 2, 0))
    count, k = lu.shape[2], min(m, n)
    pivots, info = np.empty((k, count), np.int32), np.zeros(count, np.int32)
    each = np.arange(count)
    with np.errstate(all="ignore"):
        for i in range(k):
            column = lu[i:, i]
            size = np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)
            best = _first_greatest(size) + i
            pivots[i] = best + 1
            moved = np.flatnonzero(best != i)
            if moved.size:
                rows, at = best[moved], each[moved]
                lu[rows, :, at], lu[i, :, at] = lu[i, :, at], lu[rows, :, at]
            pivot = lu[i, i]
            zero = pivot == 0
            if zero.any():
                info[zero & (info == 0)] = i + 1
                pivot = np.where(zero, 1, pivot)  # LAPACK leaves such a column as it is
            if i + 1 < m:
                lu[i + 1 :, i] /= pivot
                lu[i + 1 :, i + 1 :] -= lu[i + 1 :, i, None] * lu[i, None, i + 1 :]
    lu = np.ascontiguousarray(lu.transpose(2, 0, 1)).reshape(a.shape)
    return lu, np.ascontiguousarray(pivots.T).reshape(*batch, k), info.reshape(batch)


def _first_greatest(size):
    """Return the position of the first greatest element of each column; NaN is never greatest, as in BLAS."""
    if np.isnan(size).any():
        size = np.where(np.isnan(size), -1, size)
    return size.argmax(0)


def substitute(a, b, upper, unit):
    """Solve a @ x = b for triangular a of shape (*, n, n) and b of shape (*, n, k)."""
    n, k = b.shape[-2:]
    x = np.ascontiguousarray(_flat(b).transpose(1, 2, 0))
    a = np.ascontiguousarray(_flat(np.broadcast_to(a, (*b.shape[:-2], n, n))).transpose(1, 2, 0))
    for i in reversed(range(n)) if upper else range(n):
        for j in range(i + 1, n) if upper else range(i):
            x[i] -= a[i, j] * x[j]
        if not unit:
            x[i] /= a[i, i]
    return np.ascontiguousarray(x.transpose(2, 0, 1)).reshape(b.shape)


def permutation(pivots, n, dtype):
    """Return the matrices P of P @ L @ U: pivots is (*, k), the result (*, n, n)."""
    flat = pivots.reshape(-1, pivots.shape[-1])
    order, rows = np.tile(np.arange(n), (len(flat), 1)), np.arange(len(flat))
    for i in range(flat.shape[1]):
        other = flat[:, i] - 1
        order[rows, i], order[rows, other] = order[rows, other], order[rows, i]
    out = np.zeros((len(flat), n, n), dtype)
    out[rows[:, None], order, np.arange(n)] = 1
    return out.reshape(*pivots.shape[:-1], n, n)


def exponential(a):
    """Return the matrix exponentials by the Padé approximation of degree 13, with scaling and squaring for each."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x = _flat(a).astype(wide)
    n = x.shape[-1]
    norm = np.abs(x).sum(1).max(1)
    scales = np.maximum(np.ceil(np.log2(np.maximum(norm, 1e-300) / 5.371920351148152)), 0)
    scales = np.where(np.isfinite(scales), scales, 0).astype(int)
    x /= np.exp2(scales)[:, None, None]
    one, c = np.eye(n, dtype=wide), _PADE
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x @ (x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2) + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * one)
    even = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2) + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * one
    out = np.linalg.solve(even - odd, even + odd)
    for step in range(int(scales.max(initial=0))):
        more = scales > step
        out[more] = out[more] @ out[more]
    return out.reshape(a.shape).astype(a.dtype)


def _pade():
    """Return the numerator's coefficients (26 - k)! 13! / (26! k! (13 - k)!) times the common divisor."""
    from math import factorial as f

    return [f(26 - k) * f(13) // (f(k) * f(13 - k)) / (f(13)) for k in range(14)]


_PADE = _pade()
