"""What operator files share: dimension and shape checks, short names of operators."""

import math
import operator

from .. import dtypes as dt
from ..classes import dispatching, for_each
from ..context import CONTEXT
from ..device import META
from ..registry import LINALG, SPECIAL, F, M, T
from ..tensor import Tensor, contiguous_strides, is_contiguous, numel

# where dimensions are named: PyTorch keeps them as the bits of a word
MANY_DIMS = "only tensors with up to 64 dims are supported"


def wrap_dim(dim, n):
    """A dimension in [0, n), or PyTorch's IndexError."""
    if dim.__class__ is not int:
        dim = operator.index(dim)
    m = n or 1
    if -m <= dim < m:
        return dim + m if dim < 0 else dim
    raise IndexError(f"Dimension out of range (expected to be in range of [{-m}, {m - 1}], but got {dim})")


def wrap_dims(dims, n, empty_is_all=True):
    """Sorted unique dimensions; None (and the empty list, unless told) means all."""
    if dims is None or (len(dims) == 0 and empty_is_all):
        return tuple(range(n))
    if n > 64:
        raise RuntimeError(MANY_DIMS)
    if len(dims) == 1:
        return (wrap_dim(dims[0], n),)
    out = [wrap_dim(d, n) for d in dims]
    if len(set(out)) != len(out):
        raise RuntimeError(f"dim {next(d for d in out if out.count(d) > 1)} appears multiple times in the list of dims")
    return tuple(sorted(out))


def has_values(t):
    """Whether a function may look at a tensor's values to check them: not where there are none, or many at once, or
    others see what it does.
    """
    return (
        t.device is not META
        and t.__class__ not in dispatching
        and not CONTEXT.interceptors
        and not (CONTEXT.batches and t._below_autograd)
    )


def refuse_batches(tensors):
    """The error, where a tensor is many samples at once, of a function that must be called for each: vmap then does
    that.
    """
    if CONTEXT.batches and any(t._below_autograd for t in tensors):
        raise for_each(NotImplementedError("vmap: this has no rule for a batch of samples"))


def check_float(name, t):
    if t.dtype.category < dt.FLOAT:
        raise RuntimeError(f"{name}: expected a floating point or complex tensor, but got {t.dtype}")


def only(kernel, t, *categories, half=True):
    """PyTorch's error for a dtype that a kernel of its own lacks: one of another category, or a half type."""
    if t.dtype.category not in categories or not half and t.dtype in dt.OPMATH:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dt.scalar_name(t.dtype)}'")


def check_filling_mask(dtype):
    """The error of masked_fill_, also as index assignment, for a mask that is not of booleans."""
    if dtype is not dt.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {dt.c_name(dtype)}")


def check_number(value, dtype, spoken=None):
    """PyTorch's error for a number, or a complex tensor's, that does not fit a dtype."""
    c = value.__class__
    if (
        c is int
        and 0 <= value < 128
        or c is bool
        or c is float
        and dtype.category >= dt.FLOAT
        and -65504 <= value <= 65504
    ):
        return
    if isinstance(value, Tensor):
        value = value.item() if value.dtype.is_complex else 0
    if dtype is dt.bool_:
        return
    if value.__class__ is complex:
        bad, value = value.imag and not dtype.is_complex, value.real
    else:
        bad = False
    if dtype.category == dt.INT:
        top = (1 << 8 * dtype.itemsize - dtype.is_signed) - 1
        # whole numbers below zero wrap in unsigned types
        bad = (
            bad
            or not (0 if not dtype.is_signed and value.__class__ is float else -top - dtype.is_signed) <= value <= top
        )
    elif dtype.category == dt.FLOAT:
        bad = bad or math.isfinite(value) and abs(value) > dt.finfo(dtype).max
    if bad:
        raise RuntimeError(f"value cannot be converted to type {spoken or _c_type(dtype)} without overflow")


def check_fill(value, dtype, shape, device):
    """PyTorch's error for a number that does not fit where a tensor is filled with it: nothing is checked on the device
    meta.

    A half type or float8 takes it through a double where there is one element, so that it becomes infinite there.
    """
    if device is META:
        return
    narrow = dtype.category == dt.FLOAT and dtype.itemsize < 4 and numel(shape) == 1
    if narrow and (value.__class__ is not complex or value.imag):
        check_number(value, dt.float64, "double")
    elif not narrow:
        check_number(value, dtype)


def _c_type(dtype):
    return dt.c_name(dtype) if dtype.category == dt.FLOAT or dtype is dt.int32 else dtype.name + "_t"


def like_self(self, *args):
    """The meta function of results that are as the first argument is."""
    return self._shape, self.dtype


def changed(shape, dim, *sizes):
    """A shape with other sizes in place of one dimension."""
    return (*shape[:dim], *sizes, *shape[dim + 1 :])


def conj(x):
    """The conjugate where it differs; real tensors as they are."""
    return (
        T.conj_physical(x)
        if isinstance(x, Tensor) and x.dtype.is_complex
        else x.conjugate()
        if x.__class__ is complex
        else x
    )


__all__ = ["T", "F", "M", "LINALG", "SPECIAL", "dt", "Tensor", "numel", "contiguous_strides", "is_contiguous"]
__all__ += [
    "MANY_DIMS",
    "wrap_dim",
    "wrap_dims",
    "check_filling_mask",
    "check_float",
    "check_number",
    "only",
    "conj",
    "like_self",
    "changed",
]
