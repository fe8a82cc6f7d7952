"""What NumPy lacks, or does slowly, on large arrays: selection without branches, sums by BLAS, sums into rows, gathering by flat positions."""
import numpy as np

_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def select(mask, a, b):
    """np.where(mask, a, b) for a and b of one dtype, by bits: a branch for every element costs four times as much on mixed masks."""
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


def zeroed(mask, a):
    """a, and zero where the mask holds."""
    return select(mask, np.zeros((), a.dtype), a)


_ones = {}


def ones(dtype, n):
    """n ones, from a vector that is kept."""
    a = _ones.get(dtype)
    if a is None or len(a) < n:
        a = _ones[dtype] = np.ones(max(n, 2048), dtype)
    return a[:n]


def total_last(x):
    """The sum over the last dimension of a contiguous float array: products with a vector of ones, in pieces, so that errors stay small."""
    n = x.shape[-1]
    if n > 2048:
        k = n // 1024
        head = total_last(total_last(x[..., :k * 1024].reshape(*x.shape[:-1], k, 1024)))
        return head if n == k * 1024 else head + total_last(np.ascontiguousarray(x[..., k * 1024:]))
    return np.dot(x.reshape(-1, n), ones(x.dtype, n)).reshape(x.shape[:-1])


def add_rows(out, index, rows):
    """out[index[i]] += rows[i] for two-dimensional float arrays: a product with a sparse matrix of ones."""
    from scipy.sparse import csc_matrix
    n = len(index)
    out += csc_matrix((ones(rows.dtype, n), index, np.arange(n + 1)), shape=(len(out), n)) @ rows


def flat_positions(index, shape, dim):
    """Where the elements of take_along_axis lie in a contiguous array of that shape."""
    at = index if shape[dim + 1:] == (1,) * (len(shape) - dim - 1) else index * int(np.prod(shape[dim + 1:]))
    step = 1
    for d in range(len(shape) - 1, -1, -1):
        if d != dim and index.shape[d] > 1:
            at = at + np.arange(0, index.shape[d] * step, step).reshape(-1, *(1,) * (len(shape) - 1 - d))
        step *= shape[d]
    return at
