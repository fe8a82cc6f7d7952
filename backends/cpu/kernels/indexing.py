"""Indexing in NumPy; in-place operators write into the alias."""

import numpy as np

from ....runtime.tensor import from_array, strided_view
from ... import thresholds
from ..arrays import add_at, add_rows, check_places, first_of, flat_positions, flat_rows, number_in
from ..table import inplace, numpy, without


def check_bounds(index, size, dim):
    """Raise IndexError for indices out of range, before the kernel runs.

    MindSpore would report the error late, or read outside of the tensor.
    """
    if index.size:
        if not size:
            raise IndexError("index is out of bounds for dimension with size 0")
        if index.min() < -size or index.max() >= size:
            bad = first_of(index, (index < -size) | (index >= size))
            raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def check_all_bounds(x, indices):
    """Run check_bounds on each index tensor; as in PyTorch's message, None entries are not counted."""
    given = [(a, size) for a, size in zip(indices, x.shape) if a is not None]
    for k, (a, size) in enumerate(given):
        check_bounds(a, size, k)


@numpy(
    "_index",
    "Index has no CPU kernel; the legacy Gather takes 9 times as long at 64k elements, GatherNd, "
    "whose indices are stacked, 40 times",
)
def index(x, indices):
    check_all_bounds(x, indices)
    at = [d for d, a in enumerate(indices) if a is not None]
    if len(at) == 1 and x.size:
        return np.take(x, indices[at[0]], at[0], mode="wrap")
    found = flat_rows(x, indices)
    if found is not None:
        rows, i = found
        return np.take(rows, i, 0, mode="clip").reshape(i.shape + x.shape[len(indices) :])
    return x[tuple(slice(None) if a is None else a.astype(np.int64) if a.dtype != np.int64 else a for a in indices)]


def check_rows(index, size):
    if index.size and (index.min() < 0 or index.max() >= size):
        raise IndexError("index out of range in self")


def take_rows(x, dim, index):
    size = x.shape[dim] if x.ndim else 1
    if dim != 1:
        check_rows(index, size)
    elif index.size and (index.min() < 0 or index.max() >= size):  # PyTorch raises another error for this dimension
        bad = index[(index < 0) | (index >= size)].reshape(-1)[0]
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={bad} axis_dim={size}")
    return np.take(x, index.reshape(-1), dim, mode="clip") if x.ndim else x


SLOW_GATHER = "the legacy Gather is 9 times slower at 64k elements"
numpy("index_select", f"IndexSelect has no CPU kernel; {SLOW_GATHER}", take_rows)


@numpy(
    "gather", "GatherD is 3.6 times slower at 1M elements (7.5 ms against 2.1) and does not refuse indices out of range"
)
def gather(x, dim, index, sparse_grad):
    if x.ndim == 0 or index.ndim == 0:
        check_places(index, x.reshape(-1).shape[0] if x.ndim == 0 else x.shape[dim], dim)
        return np.broadcast_to(x.reshape(-1)[index.reshape(-1)], index.reshape(-1).shape).reshape(index.shape)
    check_places(index, x.shape[dim], dim)
    # keep one element of each expanded dimension, so that the copy below is small
    x = x[tuple(slice(1 if st == 0 and d != dim and index.size else None) for d, st in enumerate(x.strides))]
    return np.take(np.ascontiguousarray(x).reshape(-1), flat_positions(index, x.shape, dim), mode="clip")


def _at(x, dim, index):
    """Return (array, position, index) for scatter-like writes to array[position].

    0-d arrays become 1-d.
    """
    if x.ndim == 0:
        x = x.reshape(1)
    index = index.reshape(1) if index.ndim == 0 else index
    check_places(index, x.shape[dim], dim)
    if x.flags.c_contiguous:
        return x.reshape(-1), flat_positions(index, x.shape, dim), index
    at = list(np.ogrid[tuple(slice(0, s) for s in index.shape)])
    at[dim] = index
    return x, tuple(np.broadcast_arrays(*at)), index


def _crop(src, index):
    src = src.reshape(1) if src.ndim == 0 else src
    return src[tuple(slice(0, s) for s in index.shape)]


WHY = (
    "copies and converts the whole tensor to change a few elements; writing them in the NumPy alias moves only those "
    "bytes"
)


@inplace("scatter.src")
def scatter_src_(x, dim, index, src):
    if not index.size:
        return
    x, at, index = _at(x, dim, index)
    x[at] = _crop(src, index)


@inplace("scatter.value")
def scatter_value_(x, dim, index, value):
    if not index.size:
        return
    x, at, index = _at(x, dim, index)
    x[at] = number_in(x, value)


@inplace("scatter_add")
def scatter_add_(x, dim, index, src):
    if not index.size:
        return
    x, at, index = _at(x, dim, index)
    at, src = (at, _crop(src, index)) if at.__class__ is tuple else (at.reshape(-1), _crop(src, index).reshape(-1))
    add_at(x, at, src)


@inplace("index_put")
def index_put_(x, indices, values, accumulate):
    check_all_bounds(x, indices)
    found = flat_rows(x, indices) if accumulate else None
    if found is not None:
        rows, i = found
        values = np.broadcast_to(values, i.shape + x.shape[len(indices) :])
        return add_rows(rows, i.reshape(-1), values.reshape(i.size, rows.shape[1]))
    at = tuple(slice(None) if a is None else a.astype(np.int64, copy=False) for a in indices)
    if not accumulate:
        x[at] = values
    else:
        add_at(x, at, values)


@inplace("index_add")
def index_add_(x, dim, index, source, alpha):
    if x.dtype.names:  # complex32
        for part in x.dtype.names:
            index_add_(x[part], dim, index, source[part], alpha)
        return
    x, source = (x.reshape(1), source.reshape(1)) if x.ndim == 0 else (x, source)
    if x.ndim == 1:
        check_rows(index, len(x))
    _check_along(index, x.shape[dim], dim, RuntimeError)
    if not source.size:
        return
    source = source if source.ndim == x.ndim else np.expand_dims(source, dim)
    source = source if alpha == 1 else (source * number_in(x, alpha)).astype(x.dtype)
    n, index = x.shape[dim], index.reshape(-1)
    rows = np.ascontiguousarray(np.moveaxis(source, dim, 0)).reshape(len(index), -1)
    if dim == 0 and x.flags.c_contiguous:
        return add_rows(x.reshape(n, -1), index, rows)
    total = np.zeros((n, rows.shape[1]), x.dtype)
    add_rows(total, index, rows)
    x += np.moveaxis(total.reshape(n, *x.shape[:dim], *x.shape[dim + 1 :]), 0, dim)


@inplace("index_copy")
def index_copy_(x, dim, index, source):
    x, source = (x.reshape(1), source.reshape(1)) if x.ndim == 0 else (x, source)
    _check_along(index, x.shape[dim], dim, IndexError, "index_copy_(): ")
    x[(slice(None),) * dim + (index.reshape(-1),)] = source if source.ndim == x.ndim else np.expand_dims(source, dim)


@inplace("index_fill")
def index_fill_(x, dim, index, value):
    x = x.reshape(1) if x.ndim == 0 else x
    check_bounds(index, x.shape[dim], dim)
    x[(slice(None),) * dim + (index.reshape(-1),)] = value if isinstance(value, np.ndarray) else number_in(x, value)


def _check_along(index, size, dim, error, lead=""):
    """Raise an error unless all indices along the dimension are in range and non-negative."""
    if index.size and (index.min() < 0 or index.max() >= size):
        bad = next(i for i in index.reshape(-1).tolist() if not 0 <= i < size)
        raise error(f"{lead}index {bad} is out of bounds for dimension {dim} with size {size}")


def _functional(write):
    def f(x, *args):
        out = np.array(x, order="C")
        write(out, *args)
        return out

    return f


without("scatter.value _nonzero gather", "what stands in says why")
for _name, _fn in {
    "scatter.src": scatter_src_,
    "scatter.value": scatter_value_,
    "scatter_add": scatter_add_,
    "index_put": index_put_,
    "index_add": index_add_,
    "index_copy": index_copy_,
    "index_fill": index_fill_,
}.items():
    numpy(_name, "no CPU kernel that adds, copies and refuses indices out of range as PyTorch does", _functional(_fn))


@numpy("_nonzero", "NonZero takes small floats for zero and fails on 0-d tensors; 4 us against 40 at 64 elements")
def _nonzero(x):
    if not x.ndim or x.size < thresholds.NONZERO:
        return _columns(np.stack(np.nonzero(x))) if x.ndim else np.zeros((int(bool(x)), 0), np.int64)
    # find positions in the flat array; the row numbers come from counts, because division takes longer
    mask = np.ascontiguousarray(x if x.dtype == bool else x != 0).reshape(-1, x.shape[-1])
    at, count, rows = np.flatnonzero(mask), np.count_nonzero(mask, 1), np.arange(len(mask))
    out = np.empty((x.ndim, len(at)), np.int64)
    out[-1] = at - np.repeat(rows * x.shape[-1], count)
    out[:-1] = np.repeat(np.stack(np.unravel_index(rows, x.shape[:-1] or (1,)))[: x.ndim - 1], count, 1)
    return _columns(out)


def _columns(positions):
    """Return positions as a tensor with PyTorch's memory layout, one dimension after the other."""
    d, n = positions.shape
    return strided_view(from_array(positions), (n, d), (1, n) if n > 1 and d > 1 else None, 0)
