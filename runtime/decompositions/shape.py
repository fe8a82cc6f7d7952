"""Indexing and sets."""

from .. import dtypes as dt
from ..registry import T, decomposition
from .reduction import doubling


@decomposition("_repeat_interleave")
def repeat_interleave(repeats):
    return T.searchsorted(repeats.cumsum(0), T.arange(int(repeats.sum()), device=repeats.device), right=True).to(
        repeats.dtype
    )


@decomposition("scatter_reduce")
def _sorted_scatter_reduce(x, dim, index, src, reduce, include_self):
    """Scatter sums directly, and compute other reductions by a scan of the elements sorted by index.

    The last element of every run of equal indices then holds the result of the run.
    """
    if 0 in index._shape:
        return x.clone()
    shape = x._shape
    x, index, src = (t if t._shape else t.reshape(1) for t in (x, index.long(), src))
    src = src[tuple(slice(0, s) for s in index._shape)]
    if reduce in ("sum", "mean") and x.dtype is not dt.bool_:
        out = (x if include_self else x.scatter(dim, index, 0)).scatter_add(dim, index, src)
        if reduce == "mean":
            count = (
                T.full(x._shape, int(include_self), device=x.device)
                .scatter_add(dim, index, T.ones_like(index))
                .clamp(min=1)
            )
            out = (out / count if x.dtype.category >= dt.FLOAT else out // count).to(x.dtype)
        return out.reshape(shape)
    join = {"prod": T.mul, "amin": T.minimum}.get(reduce, T.maximum)
    at, order = index.sort(dim=dim, stable=True)
    values, n = doubling(src.gather(dim, order), dim, join, at), index._shape[dim]
    if include_self:
        values = join(x.gather(dim, at), values)
    more = T.constant_pad_nd(
        at.narrow(dim, 1, n - 1) == at.narrow(dim, 0, n - 1), [0, 0] * (len(at._shape) - 1 - dim) + [0, 1]
    )
    # elements that are not the last of a run are written behind the end
    padded = T.cat([x, x.narrow(dim, 0, 1)], dim).scatter(dim, at.masked_fill(more, x._shape[dim]), values)
    return padded.narrow_copy(dim, 0, x._shape[dim]).reshape(shape)


@decomposition("index_reduce")
def _scattered_index_reduce(x, dim, index, source, reduce, include_self):
    full = source if source._shape else source.reshape(1)
    index = index.reshape([-1 if d == dim else 1 for d in range(len(full._shape))]).expand(full._shape)
    return x.scatter_reduce(dim, index, full, reduce, include_self=include_self)


@decomposition("_isin")
def _isin(x, tests):
    n = tests._shape[0]
    tests = tests.sort()[0]
    return (
        tests.take(T.searchsorted(tests, x).clamp(max=n - 1)) == x
        if n
        else T.zeros(x._shape, dtype=dt.bool_, device=x.device)
    )


@decomposition("_full")
def _full(size, value, dtype, device):
    real, imag = (T.full(size, part, dtype=dtype.to_real(), device=device) for part in (value.real, value.imag))
    return real.to(dtype) + imag.to(dtype) * 1j
