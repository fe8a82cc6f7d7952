"""Sorting.

Sort and TopK are used where there is no NaN: PyTorch sorts NaN as the largest value, MindSpore does not order it.
"""

import numpy as np

from ... import thresholds
from ...host import INTS, alias
from ..table import legacy, numpy, without


def _at(x, i, dim):
    """Return the elements at indices i along a dimension."""
    return x[i] if x.ndim == 1 else np.take_along_axis(x, i, dim)


def _sort(x, dim, descending, stable):
    if not x.ndim:
        return x, np.zeros((), np.int64)
    i = _order(x, dim, descending)
    return _at(x, i, dim), i


def _order(x, dim, descending):
    if not descending:
        return np.argsort(x, dim, kind="stable")
    # to keep the order of equal elements, sort the reversed array, and reverse the result
    back = (slice(None),) * (dim % x.ndim) + (slice(None, None, -1),)
    return (x.shape[dim] - 1 - np.argsort(x[back], dim, kind="stable"))[back]


def _topk(x, k, dim, largest, sorted):
    if not x.ndim:
        return (x, np.zeros((), np.int64))
    if dim == x.ndim - 1 and x.size > thresholds.TOPK and x.dtype.kind == "f" and 0 < k <= x.shape[dim] // 8:
        rows = x.reshape(-1, x.shape[dim])
        found = _greatest(rows if largest else -rows, k)
        if found is not None:
            values, i = (a.reshape(*x.shape[:-1], k) for a in found)
            return values if largest else -values, i
    i = _order(x, dim, largest)[(slice(None),) * (dim % x.ndim) + (slice(k),)]
    return _at(x, i, dim), i


def _greatest(rows, k):
    """Return the k greatest elements of each row and their positions, or None if there is NaN.

    A row is split into about 2 k pieces. The k-th greatest of their maxima is a lower bound of the row's k greatest
    elements, so that only elements that reach it are sorted.
    """
    n = rows.shape[1]
    width = n // (2 * k)
    whole = n // width * width
    tops = rows[:, :whole].reshape(len(rows), -1, width).max(-1)
    if np.isnan(tops).any() or np.isnan(rows[:, whole:]).any():
        return None
    at = np.flatnonzero(rows >= np.partition(tops, -k, -1)[:, -k, None])
    row, values = at // n, rows.reshape(-1)[at]
    pick = np.lexsort((-values, row))[np.searchsorted(row, np.arange(len(rows)))[:, None] + np.arange(k)]
    return values[pick], at[pick] - row[pick] * n


def _no_nan(a):
    return a.dtype.kind not in "f" or not np.isnan(a).any()


def _sort_primitive(prim, x, dim, descending, stable):
    a = alias(x)
    if not a.ndim or not a.size or not _no_nan(a):
        return _sort(a, dim, descending, stable)
    return prim.of(dim, descending)(x)


def _topk_primitive(prim, x, k, dim, largest, sorted):
    a = alias(x)
    if not a.ndim or not k or dim != a.ndim - 1 or not largest or not _no_nan(a):
        return _topk(a, k, dim, largest, sorted)
    return prim.of(True)(x, k)


legacy("_sort", "Sort", "SortExt has no CPU kernel", _sort_primitive, f"{INTS} f32")
numpy("_sort", "Sort lacks the dtype, and rounds float64 to float32", _sort)
legacy("topk", "TopK", "TopkExt has no CPU kernel", _topk_primitive, f"{INTS} f32 f64")
LONG_ROWS = "TopK is 10 to 15 times slower at 64k elements in long rows"
numpy("topk", LONG_ROWS, _topk, when=lambda x, k, dim, largest, sorted: bool(x._shape) and 8 * k <= x._shape[dim])
numpy("topk", "TopK lacks the dtype", _topk)


# ------------------------------------------------------------------------------------------------ distinct values
def _runs(new, order, shape):
    """Return (start of each run, inverse, counts), given where runs begin in sorted order."""
    start = np.flatnonzero(new)
    number = np.cumsum(new) - 1
    inverse = np.empty(len(new), np.int64)
    inverse[order] = number
    return start, inverse.reshape(shape), np.diff(np.append(start, len(new)))


@numpy("_distinct", "Unique2 has no CPU kernel; Sort and UniqueConsecutive do not order NaN")
def distinct(x, dim, sort):
    """Return distinct values, sorted or (without sort) of consecutive runs; NaN differs from itself.

    With dim the values are slices along it, and dim comes first in the result.
    """
    shape = x.shape if dim is None else (x.shape[dim],)
    rows = (
        x.reshape(-1) if dim is None else np.moveaxis(x, dim, 0).reshape(x.shape[dim], x.size // max(x.shape[dim], 1))
    )
    n = len(rows)
    if not sort:
        order = np.arange(n)
    elif dim is None:
        order = np.argsort(rows, kind="stable")
    else:
        order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(n)
    s = rows[order]
    differ = s[1:] != s[:-1]
    new = np.concatenate([np.ones(min(n, 1), bool), differ if dim is None else differ.any(1)])
    start, inverse, counts = _runs(new, order, shape)
    values = s[start]
    if dim is not None:
        values = values.reshape((len(values),) + x.shape[:dim] + x.shape[dim + 1 :])
    return values, inverse, counts


# ------------------------------------------------------------------------------------------------ searching
def _search(a, v, right):
    how = "right" if right else "left"
    if a.ndim == 1:
        return np.searchsorted(a, v, how)
    rows, values = a.reshape(-1, a.shape[-1]), v.reshape(-1, v.shape[-1])
    return np.stack([np.searchsorted(r, x, how) for r, x in zip(rows, values)]).reshape(v.shape)


without("_searchsorted", "the side of the first call is kept for all")
numpy("_searchsorted", "SearchSorted keeps the side of its first call for all", _search)
numpy("_isin", "no primitive; comparing all with all takes memory for both", lambda x, tests: np.isin(x, tests))
