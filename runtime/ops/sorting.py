"""Sorting, searching, distinct values."""

from ..call.geometry import in_order
from ..call.out import SAME_DTYPE, SAME_SCALAR_TYPE, Out
from ..call.promotion import result_dtype
from ..declare import composite, op
from ..registry import ATEN
from ..tensor import unviewed
from ..warn import warn_once
from .common import T, Tensor, changed, dt, has_values, numel, wrap_dim
from .memory import storage_order
from .reduction import _chosen, no_meta
from .views import _inverse as inverse


def _picked(g0, self_shape, dim, out1):
    return _chosen(g0, self_shape, dim, out1, True)


# ------------------------------------------------------------------------------------------------ sort, topk
def _sort_meta(self, dim, descending, stable):
    if self.dtype.is_complex:
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    return [(self._shape, self.dtype), (self._shape, dt.int64)]


_sort_name = lambda given, shapes: "SortBackward1" if given["stable"] else "SortBackward0"
_SORT = dict(
    derivative=_picked, aten="sort.default", node=_sort_name, non_differentiable=(1,), method=False, out=SAME_DTYPE
)
sort_op = op(
    "_sort(Tensor self, int dim, bool descending, bool stable=False) -> (Tensor values, Tensor indices)",
    "SortExt",
    meta=_sort_meta,
    **_SORT,
)


@composite(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    out=SAME_DTYPE,
)
def stable_sort(self, stable, dim, descending):
    ordered = storage_order(self) is None
    return (sort_op if ordered else _sort_in_order.op).call(
        self, wrap_dim(dim, len(self._shape)), descending, bool(stable)
    )


@composite(
    "_sort_in_order(Tensor self, int dim, bool descending, bool stable=False) -> (Tensor values, Tensor indices)",
    function=False,
    **_SORT,
)
def _sort_in_order(self, dim, descending, stable):
    """Sort a tensor whose dimensions are permuted in memory; the results have the same memory order."""
    order = storage_order(self)
    values, indices = sort_op.call(self.permute(order), order.index(dim), descending, bool(stable))
    back = inverse(order)
    return unviewed(values.permute(back)), unviewed(indices.permute(back))


@composite("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", out=SAME_DTYPE)
def sort(self, dim, descending):
    return stable_sort(self, False, dim, descending)


@composite("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", out=False)
def stable_argsort(self, stable, dim, descending):
    return stable_sort(self.detach(), stable, dim, descending)[1]


@composite("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", out=False)
def argsort(self, dim, descending):
    return stable_argsort(self, False, dim, descending)


composite("msort(Tensor self) -> Tensor", out=SAME_DTYPE)(lambda self: T.sort(self, 0)[0])


def _topk_meta(self, k, dim, largest, sorted):
    if self.dtype.is_complex or self.dtype is dt.bool_:
        raise RuntimeError(f"topk does not support {'complex' if self.dtype.is_complex else 'bool'} dtypes on CPU")
    if not 0 <= k <= (self._shape[dim] if self._shape else 1):
        raise RuntimeError("selected index k out of range")
    shape = changed(self._shape, dim, k) if self._shape else ()
    return [(shape, self.dtype), (shape, dt.int64)]


_TOPK = dict(
    prepare=lambda self, k, dim, largest, sorted: (self, k, wrap_dim(dim, len(self._shape)), largest, sorted),
    meta=_topk_meta,
    derivative=_picked,
    non_differentiable=(1,),
    out=SAME_DTYPE,
    apart=True,
)
op(
    "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    "TopkExt",
    **_TOPK,
)


# ------------------------------------------------------------------------------------------------ distinct values
_distinct_meta = lambda self, dim, sort: [(no_meta("unique")(self)[0], self.dtype), (None, dt.int64), (None, dt.int64)]


def _distinct_grad(g, dim, sort):
    raise NotImplementedError(
        f"the derivative for '{'unique_consecutive' if not sort else '_unique2' if dim is None else 'unique_dim'}' "
        f"is not implemented."
    )


_DISTINCT = dict(meta=_distinct_meta, derivative={"self": _distinct_grad}, non_differentiable=(1, 2))
_distinct = op(
    "_distinct(Tensor self, int? dim, bool sort) -> (Tensor, Tensor, Tensor)",
    "Unique2",
    method=False,
    node="Unique2Backward0",
    **_DISTINCT,
)


def _check_flags(function, **flags):
    for name, flag in flags.items():
        if flag.__class__ is not bool:
            raise TypeError(f"{function}(): argument '{name}' must be bool, not {type(flag).__name__}")


def _unique(self, dim, sort, return_inverse, return_counts):
    if self.dtype.is_complex:
        raise NotImplementedError(f"\"unique\" not implemented for '{dt.scalar_name(self.dtype)}'")
    if dim is not None:
        dim = wrap_dim(dim, len(self._shape))
        if not self._shape:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        if 0 in self._shape[:dim] + self._shape[dim + 1 :]:
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    values, inverse, counts = _distinct.call(self, dim, sort)
    if dim:
        values = in_order(
            values,
            (*values._shape[1 : dim + 1], values._shape[0], *values._shape[dim + 1 :]),
            [dim, *(d for d in range(len(self._shape)) if d != dim)],
        )
    out = [values, *[inverse] * return_inverse, *[counts] * return_counts]
    return out[0] if len(out) == 1 else tuple(out)


@composite(
    "unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, "
    "int? dim=None) -> Tensor",
    out=False,
    python=True,
    no_forward="_unique2",
)
def unique(self, sorted, return_inverse, return_counts, dim):
    _check_flags(
        "_unique2" if dim is None else "unique_dim",
        sorted=sorted,
        return_inverse=return_inverse,
        return_counts=return_counts,
    )
    return _unique(self, dim, True, return_inverse, return_counts)


def _asked(values, *parts):
    """Return (distinct values, further parts), with an empty tensor for each part that was not requested."""
    return (values, *(T.empty((0,), dtype=dt.int64, device=values.device) if p is None else p for p in parts))


@composite(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
    "Tensor, Tensor)",
    out=False,
    method=False,
)
def _unique2(self, sorted, return_inverse, return_counts):
    values, inverse, counts = _unique(self, None, True, True, True)
    return _asked(values, inverse if return_inverse else None, counts if return_counts else None)


@composite(
    "_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", out=False, method=False
)
def _unique_inverse(self, sorted, return_inverse):
    values, inverse = _unique(self, None, True, True, False)
    return _asked(values, inverse if return_inverse else None)


@composite(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor",
    out=False,
    python=True,
    no_forward="unique_consecutive",
    aten="",  # PyTorch's operator, which is declared below, always returns three tensors
)
def unique_consecutive(self, return_inverse, return_counts, dim):
    _check_flags("unique_consecutive", return_inverse=return_inverse, return_counts=return_counts)
    values, inverse, counts = ATEN.unique_consecutive(self, return_inverse, return_counts, dim)
    out = [values, *[inverse] * return_inverse, *[counts] * return_counts]
    return out[0] if len(out) == 1 else tuple(out)


@composite(
    "aten.unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
    "(Tensor, Tensor, Tensor)",
    out=False,
)
def _unique_consecutive(self, return_inverse, return_counts, dim):
    """Return the first of each run of equal elements, the run of each element, and the lengths of the runs."""
    values, inverse, counts = _unique(self, dim, False, True, True)
    return _asked(values, inverse if return_inverse else None, counts if return_counts else None)


# ------------------------------------------------------------------------------------------------ searching
_searchsorted_call = lambda p, sorted_sequence, values, right: p.of(right=right)(sorted_sequence, values)
_SEARCHSORTED = dict(
    call=_searchsorted_call,
    meta=lambda sorted_sequence, values, right: (values._shape, dt.int64),
    method=False,
    out=SAME_SCALAR_TYPE,
)
search_op = op(
    "_searchsorted(Tensor sorted_sequence, Tensor values, bool right) -> Tensor", "SearchSorted", **_SEARCHSORTED
)


def _in_order_of(sorter, boundaries):
    said, a = "torch.searchsorted(): ", boundaries._shape
    if sorter._shape != a:
        raise RuntimeError(
            f"{said}boundary and sorter must have the same size, but got boundary tensor {list(a)}and got sorter "
            f"tensor {list(sorter._shape)}"
        )
    if sorter.dtype is not dt.int64:
        raise RuntimeError(f"{said}sorter must be a tensor of long dtype but got dtype {dt.scalar_name(sorter.dtype)}")
    if numel(sorter._shape) and has_values(sorter) and not ((sorter >= 0) & (sorter < a[-1])).all():
        raise RuntimeError(f"{said}sorter index out of range")
    return boundaries.gather(-1, sorter)


_COPIED = (
    "torch.searchsorted(): {0} tensor is non-contiguous, this will lower the performance due to extra data copy when "
    "converting non-contiguous tensor to contiguous, please use contiguous {0} tensor if possible. "
    "This message will only appear once per program."
)


def _warn_of_copies(values, boundaries):
    for t, what in ((values, "input value"), (boundaries, "boundary")):
        if t._stride is not None:
            warn_once(_COPIED.format(what), f"searchsorted {what}")


_INDEX_DTYPE = Out(
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
    "whether out_int32 flag is True, but we got output tensor's dtype {Got} and out_int32 flag is {narrow}"
)


@composite(
    "searchsorted(Tensor sorted_sequence, Tensor|Scalar self, *, bool out_int32=False, bool right=False, "
    "str? side=None, Tensor? sorter=None) -> Tensor",
    method=False,
    out=_INDEX_DTYPE,
)
def searchsorted(sorted_sequence, self, out_int32, right, side, sorter):
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if side == "left" and right:
            raise RuntimeError(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
            )
    if not isinstance(self, Tensor):
        if len(sorted_sequence._shape) != 1:
            raise RuntimeError(
                "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, "
                f"but we got boundaries tensor dim({len(sorted_sequence._shape)}) and input value's dim(0) numel(1)"
            )
        d = dt.promote_types(dt.scalar_dtype(self), sorted_sequence.dtype)
        self, sorted_sequence = T.full((), self, dtype=d, device=sorted_sequence.device), sorted_sequence.to(d)
    _warn_of_copies(self, sorted_sequence)
    a, b = sorted_sequence._shape, self._shape
    if not a:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if len(a) != 1 and (len(a) != len(b) or a[:-1] != b[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(a)} and input value tensor "
            f"{list(b)}"
        )
    if sorter is not None:
        sorted_sequence = _in_order_of(sorter, sorted_sequence)
    if sorted_sequence.dtype is not self.dtype:
        d = result_dtype((sorted_sequence, self))
        sorted_sequence, self = sorted_sequence.to(d), self.to(d)
    if out_int32 and a[-1] >= 1 << 31:
        raise RuntimeError(
            "torch.searchsorted(): the size of boundaries' last dimension should be less than 2147483647"
        )
    found = search_op.call(sorted_sequence.detach(), self.detach(), right or side == "right")
    return found.to(dt.int32) if out_int32 else found


@composite(
    "bucketize(Tensor|Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    method=False,
    out=_INDEX_DTYPE,
)
def bucketize(self, boundaries, out_int32, right):
    if len(boundaries._shape) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({len(boundaries._shape)})")
    return T.searchsorted(boundaries, self, out_int32=out_int32, right=right)


def isin(elements, test_elements, assume_unique, invert):
    for t in (elements, test_elements):
        kind = (
            dt.scalar_name(t.dtype)
            if isinstance(t, Tensor)
            else {bool: "Bool", complex: "ComplexDouble"}.get(t.__class__, "")
        )
        if kind == "Bool" or kind.startswith("Complex"):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind}")
    if not isinstance(test_elements, Tensor):
        r = elements == test_elements
    else:
        tests = test_elements.reshape((-1,))
        if not isinstance(elements, Tensor):
            r = (tests == elements).any()
        else:
            r = T._isin(elements, tests)
    return r.logical_not() if invert else r


for _name, _elements, _tests in (
    ("Tensor_Tensor", "Tensor elements", "Tensor test_elements"),
    ("Scalar_Tensor", "Scalar element", "Tensor test_elements"),
    ("Tensor_Scalar", "Tensor elements", "Scalar test_element"),
):
    _schema = f"isin.{_name}({_elements}, {_tests}, *, bool assume_unique=False, bool invert=False) -> Tensor"
    composite(_schema, method=False, out=SAME_DTYPE)(isin)


_isin_meta = lambda elements, tests: (elements._shape, dt.bool_)
op("_isin(Tensor elements, Tensor tests) -> Tensor", meta=_isin_meta, method=False, out=SAME_DTYPE)
