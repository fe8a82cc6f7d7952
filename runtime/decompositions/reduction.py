"""Scans and order statistics."""

from .. import dtypes as dt
from ..registry import T, decomposition


def doubling(x, dim, join, keys=None):
    """An inclusive scan in log n steps; with keys, every run of equal ones for itself."""
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
    values, at = x.sort(dim, stable=True)
    k = ((x == x).sum(dim, keepdim=True) - 1).clamp(min=0) // 2
    return tuple(t.gather(dim, k) if keepdim else t.gather(dim, k).squeeze(dim) for t in (values, at))
