"""Helpers that the operator files share: dimension and dtype checks, short names of operator namespaces."""

import math
import operator

from .. import dtypes as dt
from ..classes import dispatching, for_each
from ..context import CONTEXT
from ..device import META
from ..registry import LINALG, SPECIAL, F, M, T
from ..symbolic import SYMBOLIC
from ..tensor import Tensor, contiguous_strides, is_contiguous, numel

# applies to explicit lists of dimensions, which PyTorch stores as a 64-bit mask
MANY_DIMS = "only tensors with up to 64 dims are supported"


def wrap_dim(dim, n):
    """Return a dimension wrapped to [0, n), or raise PyTorch's IndexError."""
    if dim.__class__ is not int:
        dim = operator.index(dim)
    m = n or 1
    if -m <= dim < m:
        return dim + m if dim < 0 else dim
    raise IndexError(f"Dimension out of range (expected to be in range of [{-m}, {m - 1}], but got {dim})")


def wrap_dims(dims, n, empty_is_all=True):
    """Return the dimensions wrapped to [0, n) and sorted; duplicates are an error.

    None means all dimensions, and so does an empty list if empty_is_all.
    """
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
    """Whether a function may read a tensor's values in order to check them.

    It may not for meta tensors, for classes that handle calls below autograd, for batches of vmap, and under dispatch
    modes.
    """
    return (
        t.device is not META
        and t.__class__ not in dispatching
        and not CONTEXT.interceptors
        and not (CONTEXT.batches and t._below_autograd)
    )


def refuse_batches(tensors):
    """Raise an error if a tensor is a batch of vmap samples.

    vmap catches it and calls the function once for each sample.
    """
    if CONTEXT.batches and any(t._below_autograd for t in tensors):
        raise for_each(NotImplementedError("vmap: this has no rule for a batch of samples"))


def refuse_gradients(name, **arguments):
    """Raise PyTorch's error if an argument for which an operator has no derivative requires a gradient."""
    for argument, t in arguments.items():
        if CONTEXT.grad and t is not None and t._requires_grad:
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument '{argument}'. This input cannot "
                "have requires_grad True."
            )


def check_float(name, t):
    if t.dtype.category < dt.FLOAT:
        raise RuntimeError(f"{name}: expected a floating point or complex tensor, but got {t.dtype}")


def only(kernel, t, *categories, half=True):
    """Raise PyTorch's error for a dtype that its kernel lacks.

    That is a dtype of another category than the given ones, or a half type with half=False.
    """
    if t.dtype.category not in categories or not half and t.dtype in dt.OPMATH:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dt.scalar_name(t.dtype)}'")


def check_filling_mask(dtype):
    """Raise the error of masked_fill_, and of index assignment, for a mask that is not boolean."""
    if dtype is not dt.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {dt.c_name(dtype)}")


def check_number(value, dtype, spoken=None):
    """Raise PyTorch's overflow error if a number, or the value of a complex tensor, does not fit the dtype."""
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
    if c in SYMBOLIC:  # its value is not known
        return
    dt.check_scalar(value)
    if isinstance(value, Tensor):
        value = value.item() if value.dtype.is_complex else 0
    if dtype is dt.bool_:
        return
    value, imaginary = (value.real, value.imag) if value.__class__ is complex else (value, 0.0)
    bad = imaginary and not dtype.is_complex
    if dtype.category == dt.INT:
        top = (1 << 8 * dtype.itemsize - dtype.is_signed) - 1
        # negative integers wrap in unsigned types
        bad = (
            bad
            or not (0 if not dtype.is_signed and value.__class__ is float else -top - dtype.is_signed) <= value <= top
        )
    elif dtype.category >= dt.FLOAT:
        top = dt.finfo(dtype.to_real()).max
        bad = bad or any(math.isfinite(part) and abs(part) > top for part in (value, imaginary))
    if bad:
        raise RuntimeError(f"value cannot be converted to type {spoken or _c_type(dtype)} without overflow")


def check_fill(value, dtype, shape, device):
    """Raise PyTorch's overflow error if a fill value does not fit the dtype.

    Nothing is checked on the meta device. For a single element of a half type or float8, PyTorch converts the value
    through double, so that a large one becomes infinite instead.
    """
    if device is META or dtype is dt.complex32 and numel(shape) != 1:  # complex32 is checked for a single element alone
        return
    narrow = dtype.category == dt.FLOAT and dtype.itemsize < 4 and numel(shape) == 1
    if narrow and (value.__class__ is not complex or value.imag):
        check_number(value, dt.float64, "double")
    elif not narrow:
        check_number(value, dtype)


def _c_type(dtype):
    return dt.c_name(dtype) if dtype.category >= dt.FLOAT or dtype is dt.int32 else dtype.name + "_t"


def like_self(self, *args):
    """Meta function for results with the shape and dtype of the first argument."""
    return self._shape, self.dtype


def changed(shape, dim, *sizes):
    """Return the shape with one dimension replaced by the given sizes."""
    return (*shape[:dim], *sizes, *shape[dim + 1 :])


def conj(x):
    """Return the conjugate of a complex tensor or number, and anything else unchanged."""
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
