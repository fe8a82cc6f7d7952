"""Scans and order statistics."""

import math

from .. import dtypes as dt
from ..registry import T, decomposition


def doubling(x, dim, join, keys=None):
    """Return an inclusive scan in log n steps; with keys, every run of equal keys is scanned separately."""
    n, step = x._shape[dim] if x._shape else 1, 1
    while step < n:
        before, rest = x.narrow(dim, 0, n - step), x.narrow(dim, step, n - step)
        joined = join(before, rest)
        if keys is not None:
            joined = T.where(keys.narrow(dim, 0, n - step) == keys.narrow(dim, step, n - step), joined, rest)
        x, step = T.cat([x.narrow(dim, 0, step), joined], dim), 2 * step
    return x if n > 1 else x.clone()


decomposition("cumprod")(lambda x, dim, dtype: doubling(x, dim, T.mul))
decomposition("logcumsumexp")(lambda x, dim: doubling(x, dim, T.logaddexp))
decomposition("_nanmedian")(lambda x: T.nanmedian(x.reshape(-1), 0)[0])


@decomposition("nanmedian.dim")
def _sorted_nanmedian(x, dim, keepdim):
    if not x._shape:
        return x.clone(), T.zeros((), dtype=dt.int64, device=x.device)
    values, at = x.sort(dim=dim, stable=True)
    k = ((x == x).sum(dim, keepdim=True) - 1).clamp(min=0) // 2
    return tuple(t.gather(dim, k) if keepdim else t.gather(dim, k).squeeze(dim) for t in (values, at))


@decomposition("hash_tensor")
def _folded(x, dims, keepdim, mode):
    bits = x.to(dt.float64 if x.is_floating_point() else dt.int64).view(dt.int64)
    for d in dims:
        n = bits._shape[d]
        while n > 1:  # fold the second half onto the first; of an odd number the middle one is kept
            half = n // 2
            bits = T.cat(
                [bits.narrow(d, 0, half) ^ bits.narrow(d, n - half, half), bits.narrow(d, half, n - 2 * half)], d
            )
            n -= half
    return (bits if keepdim else bits.squeeze(dims)).view(dt.uint64)


@decomposition("_var")
def _variance(x, dim, correction, keepdim):
    off = x - x.mean(dim, True)
    n = x.numel() // max(T.sum(x, dim).numel(), 1)
    return (off * T.conj_physical(off) if x.is_complex() else off * off).sum(dim, keepdim) / max(n - correction, 0)


decomposition("_std")(lambda *args: _variance(*args).sqrt())
decomposition("_var_mean")(lambda x, *args: (T._var(x, *args), T.mean(x, args[0], args[2])))
decomposition("_std_mean")(lambda x, *args: (T._std(x, *args), T.mean(x, args[0], args[2])))


@decomposition("_distinct")
def _distinct(x, dim, sort):
    """Find the runs of equal values, or rows, in an order in which equal ones are neighbours."""
    shape = x._shape if dim is None else (x._shape[dim],)
    rows = x.reshape(-1, 1) if dim is None else x.movedim(dim, 0).reshape(x._shape[dim], -1)
    n = rows._shape[0]
    order = T.arange(n, device=x.device)
    if sort:
        for column in range(rows._shape[1] - 1, -1, -1):  # the first column is sorted last
            order = order[T.argsort(rows[order, column], stable=True)]
        rows = rows[order]
    new = (
        T.cat([T.ones(min(n, 1), dtype=dt.bool_, device=x.device), (rows[1:] != rows[:-1]).any(1)])
        if n
        else T.zeros(0, dtype=dt.bool_, device=x.device)
    )
    number, start = new.cumsum(0) - 1, new.nonzero().reshape(-1)
    counts = T.cat([start[1:], T.full((1,), n, device=x.device)]) - start if n else start
    values = rows[start]
    values = values.reshape(-1) if dim is None else values.reshape(-1, *x._shape[:dim], *x._shape[dim + 1 :])
    inverse = T.empty_like(number).index_copy_(0, order, number) if n else number
    return values, inverse.reshape(shape), counts


@decomposition("mode")
def mode(x, dim, keepdim):
    """Return the value of the first longest run of equal values, and the index of its last element."""
    if not x._shape:
        return x.clone(), T.zeros((), dtype=dt.int64, device=x.device)
    values, order = x.sort(dim=dim, stable=True)
    n = x._shape[dim]
    at = T.arange(n, device=x.device).reshape([-1 if d == dim else 1 for d in range(len(x._shape))]).expand(x._shape)
    new = T.cat(
        [
            T.ones_like(values.narrow(dim, 0, 1), dtype=dt.bool_),
            values.narrow(dim, 1, n - 1) != values.narrow(dim, 0, n - 1),
        ],
        dim,
    )
    end = (at - T.where(new, at, 0).cummax(dim)[0]).argmax(dim, keepdim=True)
    found = values.gather(dim, end), order.gather(dim, end)
    return found if keepdim else tuple(t.squeeze(dim) for t in found)


_SEGMENTS = {
    "sum": ("sum", 0),
    "mean": ("sum", 0),
    "prod": ("prod", 1),
    "max": ("amax", -float("inf")),
    "min": ("amin", float("inf")),
}


@decomposition("segment_reduce")
def segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
    """Scatter by the number of the segment; elements past the end go to an extra segment, which is dropped."""
    k, n = lengths._shape[axis], data._shape[axis]
    how, start = _SEGMENTS[reduce]
    shape = (*lengths._shape[:-1], k + 1, *data._shape[axis + 1 :])
    out = T.full(shape, start if initial is None else initial, dtype=data.dtype, device=data.device)
    tail = (1,) * (len(data._shape) - axis - 1)
    at = T.arange(n, device=data.device).expand((*lengths._shape[:-1], n)).contiguous()
    index = T.searchsorted(lengths.cumsum(-1), at, right=True)
    out = out.scatter_reduce(axis, index.reshape((*index._shape, *tail)).expand(data._shape), data, how).narrow(
        axis, 0, k
    )
    if reduce == "mean":
        count = lengths.reshape((*lengths._shape, *tail))
        out = T.where(count == 0, math.nan if initial is None else out, out / count.clamp(min=1).to(out.dtype))
    return out.contiguous()
