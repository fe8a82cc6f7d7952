"""Reductions in NumPy.

MindSpore's primitives are single-threaded loops, are wrong for no elements, or ignore NaN. Cumulative operators use
primitives where these are correct.
"""

import numpy as np

from ... import thresholds
from ...host import alias
from ..arrays import total_last
from ..table import instead, legacy, numpy, pyboost_, without

BLOCK = 64  # the most elements across rows that are added one after the other


# ------------------------------------------------------------------------------------------------ sum, mean, prod
def _add(x, dims, **kw):
    """Sum by np.add.reduce, and contiguous large rows by BLAS in a third of the time.

    Columns are summed one dimension at a time in blocks, so that rounding errors grow with the block size and not with
    the column.
    """
    if (
        x.size > thresholds.SUM
        and x.dtype.char in "fd"
        and dims
        and dims == (*range(dims[0], x.ndim),)
        and x.flags.c_contiguous
    ):
        return total_last(x.reshape(*x.shape[: dims[0]], -1))
    if x.dtype.kind not in "fc" or not dims or dims[-1] == x.ndim - 1:
        return np.add.reduce(x, dims, **kw)
    for d in reversed(dims):
        while x.shape[d] > BLOCK:
            k, rest = divmod(x.shape[d], 16)
            head, tail = np.split(x, (k * 16,), d)
            x = np.add.reduce(head.reshape(x.shape[:d] + (k, 16) + x.shape[d + 1 :]), d + 1, **kw)
            if rest:
                x = np.concatenate((x, np.add.reduce(tail, d, keepdims=True, **kw)), d)
        x = np.add.reduce(x, d, **kw)
    return x


def _total(x, dtype):
    """Return the dtype to accumulate in: the result's dtype for integers, None for floats.

    Half dtypes arrive as float32, and are rounded once at the end.
    """
    return None if x.dtype.kind in "fc" else dtype.np


def _mean(x, dims, keepdim, dtype):
    n = 1
    for d in dims:
        n *= x.shape[d]
    return np.true_divide(_add(x, dims), x.dtype.type(n))


LOOP = "one thread's index loop: 254 us against 19 at 64k elements; wrong for no elements"
instead(
    "sum",
    LOOP + "; integers go through double, inexact beyond 2**53",
    lambda x, dims, keepdim, dtype: _add(x, dims, dtype=_total(x, dtype)),
)
instead("mean", LOOP, _mean)
instead(
    "prod",
    "435 us against 59 at 64k elements",
    lambda x, dim, keepdim, dtype: np.multiply.reduce(x, axis=dim if x.ndim else (), dtype=_total(x, dtype)),
)


# ------------------------------------------------------------------------------------------------ any, all
def _test(name, primitive, ufunc):
    why = (
        f"{primitive} is wrong for no elements, and for other dtypes than bool where one element is tested; "
        "241 us against 8 at 64k"
    )
    instead(name, why, lambda x: ufunc.reduce(x != 0 if x.dtype != bool else x, axis=None))
    instead(name + ".dims", why, lambda x, dims, keepdim: ufunc.reduce(x != 0 if x.dtype != bool else x, axis=dims))


_test("any", "ReduceAny", np.logical_or)
_test("all", "ReduceAll", np.logical_and)


# ------------------------------------------------------------------------------------------------ extremes
NAN = "ignores NaN; asking for NaN first costs three calls more"


def _extreme(name, ufunc, arg):
    def along(x, dim, keepdim):
        if not x.ndim:
            return x, np.zeros((), np.int64)
        i = np.expand_dims(arg(x, axis=dim), dim)
        return np.take_along_axis(x, i, dim), i

    def where(x, dim, keepdim):
        return arg(x, axis=dim) if x.ndim else np.zeros((), np.int64)

    Cap = name.capitalize()
    instead(name, f"{Cap} {NAN}; 3.2 ms against 0.07 at 1M elements", lambda x: ufunc.reduce(x, axis=None))
    instead(
        "a" + name,
        f"Reduce{Cap} {NAN}; 1.6 ms against 0.14 at 1M elements",
        lambda x, dims, keepdim: ufunc.reduce(x, axis=dims),
    )
    instead(name + ".dim", f"{Cap}Dim {NAN}; 71 us against 12 at 64k elements", along)
    numpy("arg" + name, f"Arg{Cap}WithValue {NAN}; 72 us against 12 at 64k elements", where)


_extreme("max", np.maximum, np.argmax)
_extreme("min", np.minimum, np.argmin)


# ----------------------------------------------------------------------------------------- variance, logarithms of sums
def _var(x, dims, correction, keepdim):
    if x.dtype.kind == "c":
        return _var(x.real, dims, correction, keepdim) + _var(x.imag, dims, correction, keepdim)
    n = 1
    for d in dims:
        n *= x.shape[d]
    if n == 0 or not x.size:
        return np.full([s for d, s in enumerate(x.shape) if d not in dims], np.nan, x.dtype)
    x = x.astype(np.float64, copy=False)
    x = x - x.mean(dims, keepdims=True)
    return np.add.reduce(x * x, dims) / np.float64(max(n - correction, 0))


VAR = "the composite of four calls costs 5.2 ms against 0.7 at 1M elements; PyTorch accumulates in double"
numpy("_var", "Var has no CPU kernel; " + VAR, _var)
numpy(
    "_std",
    "Std has no CPU kernel, ReduceStd takes 344 us against 55 at 64k elements",
    lambda *args: np.sqrt(_var(*args)),
)


@numpy(
    "logsumexp",
    "LogSumExp has no CPU kernel; ReduceMax, Sub, Exp, SumExt, Log are 13 times PyTorch's time and Exp is off by 6e-6",
)
def logsumexp(x, dims, keepdim):
    if not x.size:
        return np.log(np.add.reduce(np.exp(x), dims))
    high = np.maximum.reduce(x.real if x.dtype.kind == "c" else x, dims, keepdims=True)
    high = np.where(np.isinf(high), 0, high)
    return np.log(np.add.reduce(np.exp(x - high), dims, keepdims=True)) + high


# ------------------------------------------------------------------------------------------------ scans
def _scan(ufunc):
    wide = {"f": np.float64, "F": np.complex128}

    def fn(x, dim, dtype):
        if not x.ndim:
            return x
        if x.dtype.char != "f" or x.size < thresholds.SCAN:
            return ufunc.accumulate(x, dim, dtype=wide.get(x.dtype.char))
        # in blocks that fit in the cache in double precision
        rows = np.ascontiguousarray(np.moveaxis(x, dim, -1)).reshape(-1, x.shape[dim])
        out, step = np.empty_like(rows), max(thresholds.SCAN_BLOCK // x.shape[dim], 1)
        for i in range(0, len(rows), step):
            block = rows[i : i + step].astype(np.float64)
            out[i : i + step] = ufunc.accumulate(block, -1, out=block)
        return np.ascontiguousarray(
            np.moveaxis(out.reshape(*x.shape[:dim], *x.shape[dim + 1 :], x.shape[dim]), -1, dim)
        )

    return fn


legacy(
    "cumsum",
    "CumSum",
    "CumsumExt has no CPU kernel",
    dtypes="i64",
    fn=lambda prim, x, dim, dtype: prim(x, dim) if x.shape and 0 not in x.shape else alias(x),
)
numpy(
    "cumsum",
    "CumSum adds in float32 where PyTorch adds in double; by way of float64 it takes 824 us against 242 at 64k",
    _scan(np.add),
)
numpy("cumprod", "CumProd multiplies in float32 where PyTorch multiplies in double", _scan(np.multiply))


def _running(ufunc):
    def fn(x, dim):
        if not x.ndim:
            return x, np.zeros((), np.int64)
        best = ufunc.accumulate(x, dim)
        at = np.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
        return best, np.maximum.accumulate(np.where((x == best) | (x != x), at, 0), dim)

    return fn


without("cummax", "the dimension is a constructor argument")
for _add_kernel, _name, _primitive, _ufunc in (
    (pyboost_, "cummax", "Cummax", np.maximum),
    (legacy, "cummin", "Cummin", np.minimum),
):
    _add_kernel(
        _name,
        _primitive,
        "CumminExt has no CPU kernel; of Cummax the dimension is a constructor argument",
        fn=lambda prim, x, dim, by=_running(_ufunc): prim.of(dim)(x) if x.shape else by(alias(x), dim),
    )
    numpy(_name, f"{_primitive} lacks bool", _running(_ufunc))


@numpy("logcumsumexp", "CumulativeLogsumexp has no complex kernel, loses NaN, and makes one of two -inf")
def logcumsumexp(x, dim):
    if not x.ndim:
        return x
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, dim, dtype=np.float64)
    terms = np.moveaxis(x.astype(np.complex128), dim, 0)
    out = np.empty_like(terms)
    so_far = np.full(terms.shape[1:], -np.inf, np.complex128)
    for i, term in enumerate(terms):
        so_far = out[i] = _log_add_exp(so_far, term)
    return np.moveaxis(out, 0, dim)


def _log_add_exp(a, b):
    """Compute log(exp(a) + exp(b)) of complex numbers.

    Where both real parts are -inf the result is a, because their angles have no meaning.
    """
    swap = a.real <= b.real
    low, high = np.where(swap, a, b), np.where(swap, b, a)
    r = high + np.log1p(np.exp(low - high))
    equal = np.isinf(a.real) & (a.real == b.real)
    if equal.any():
        r = np.where(equal, np.where(a.real < 0, a, np.log(np.exp(a) + np.exp(b))), r)
    return np.where(np.isnan(a) | np.isnan(b), complex(np.nan, np.nan), r)


# ------------------------------------------------------------------------------------------------ order statistics
def _pick(x, i, dim):
    i = np.expand_dims(i, dim)
    return np.take_along_axis(x, i, dim), i


def _kth(x, k, dim):
    """Return values and positions of the k-th smallest element; NaN counts as the largest.

    k is an int or an array over the other dimensions. Among equal values the position is that of a stable sort.
    """
    if isinstance(k, (int, np.integer)) and x.size >= thresholds.PARTITION:
        return _kth_by_partition(x, k, dim)
    order = np.argsort(x, dim, kind="stable")
    k = np.expand_dims(np.broadcast_to(k, x.shape[:dim] + x.shape[dim + 1 :]), dim)
    i = np.take_along_axis(order, k, dim)
    return np.take_along_axis(x, i, dim), i


def _kth_by_partition(x, k, dim):
    """Return the same as _kth for an int k, without sorting."""
    moved = np.moveaxis(x, dim, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    v = np.partition(rows, k, -1)[:, k : k + 1]
    equal = rows == v
    i, many = equal.argmax(-1), equal.sum(-1)
    several, none = many > 1, many == 0
    if several.any():
        rank = k - (rows[several] < v[several]).sum(-1, keepdims=True)
        i[several] = (np.cumsum(equal[several], -1) == rank + 1).argmax(-1)
    if none.any():  # NaN equals nothing
        i[none] = np.argsort(rows[none], -1, kind="stable")[:, k]
    return tuple(np.moveaxis(found.reshape(*moved.shape[:-1], 1), -1, dim) for found in (v, i))


def _scalar_order(fn):
    return lambda x, *args: fn(x, *args) if x.ndim else (x, np.zeros((), np.int64))


def _median(x, dim, keepdim):
    n = x.shape[dim]
    nan = np.isnan(x) if x.dtype.kind not in "iub" else None
    if nan is not None and nan.any():
        # the median of a row with NaN is its first NaN
        has = nan.any(dim)
        v, i = _kth(x, (n - 1) // 2, dim)
        first = np.expand_dims(nan.argmax(dim), dim)
        i = np.where(np.expand_dims(has, dim), first, i)
        return np.take_along_axis(x, i, dim), i
    return _kth(x, (n - 1) // 2, dim)


def _nanmedian(x, dim, keepdim):
    if x.dtype.kind in "iub":
        return _median(x, dim, keepdim)
    n = np.logical_not(np.isnan(x)).sum(dim)
    return _kth(x, np.maximum(n - 1, 0) // 2, dim)


SORT = "Sort does not order NaN and takes longer than NumPy's partial sorts"
numpy("median.dim", "MedianDim has no CPU kernel; " + SORT, _scalar_order(_median))
numpy("nanmedian.dim", "no primitive", _scalar_order(_nanmedian))
numpy("_median", "MedianExt has no CPU kernel; " + SORT, lambda x: _median(x.reshape(-1), 0, False)[0])
numpy("_nanmedian", "no primitive", lambda x: _nanmedian(x.reshape(-1), 0, False)[0])
numpy("kthvalue", "Kthvalue has no CPU kernel; " + SORT, _scalar_order(lambda x, k, dim, keepdim: _kth(x, k - 1, dim)))


@numpy("mode", "no primitive")
def mode(x, dim, keepdim):
    if not x.ndim:
        return x, np.zeros((), np.int64)
    rows = np.moveaxis(x, dim, -1)
    order = np.argsort(rows, -1, kind="stable")
    s = np.take_along_axis(rows, order, -1)
    n = s.shape[-1]
    at = np.arange(n)
    new = np.concatenate([np.ones_like(s[..., :1], bool), s[..., 1:] != s[..., :-1]], -1)
    run = at - np.maximum.accumulate(np.where(new, at, 0), -1)  # position within its run of equal values
    end = np.argmax(run, -1)[..., None]  # the last element of the first of the longest runs
    i = np.take_along_axis(order, end, -1)
    return np.take_along_axis(rows, i, -1)[..., 0], i[..., 0]


# ------------------------------------------------------------------------------------------------ counting
@numpy("bincount", "BincountExt has no CPU kernel; the legacy Bincount counts in float")
def bincount(x, weights, minlength):
    if x.size and x.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if x.size and x.max() >= (last := (1 << 63) - 1):  # NumPy would write out of bounds
        raise RuntimeError(f"maximum value of input overflowed, it should be < {last} but got {x.max()}")
    return np.bincount(x.astype(np.int64), weights, minlength)


@numpy("histc", "HistcExt has no CPU kernel, Histogram is for float32 alone")
def histc(x, bins, low, high):
    x, given = x.reshape(-1), (low, high)
    if low == high and x.size:
        low, high = x.min(), x.max()
        low = np.finfo(x.dtype).max if low == np.inf else low  # PyTorch looks for the smallest from there
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        # the processor's minimum of NaN has the sign bit set
        shown = [("-nan" if x.size and given == (0, 0) and np.isnan(v) else f"{v:g}") for v in (low, high)]
        raise RuntimeError(f"torch.histc: range of [{', '.join(shown)}] is not finite")
    x = x[(x >= low) & (x <= high)]
    low, high = x.dtype.type(low), x.dtype.type(high)
    at = ((x - low) * x.dtype.type(bins) / (high - low)).astype(np.int64)
    return np.bincount(np.minimum(at, bins - 1), minlength=bins)
