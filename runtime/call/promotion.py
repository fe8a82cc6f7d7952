"""Type promotion: the dtype that a call computes in and that of its result, by PyTorch's rules."""

from enum import Enum, auto

from .. import dtypes as dt
from ..tensor import Tensor


class Promotion(Enum):
    """Kinds of elementwise type promotion, by PyTorch's names."""

    DEFAULT = auto()
    INT_TO_FLOAT = auto()
    ALWAYS_BOOL = auto()
    COMPLEX_TO_FLOAT = auto()
    BOOL_TO_LONG = auto()


DEFAULT, INT_TO_FLOAT, ALWAYS_BOOL, COMPLEX_TO_FLOAT, BOOL_TO_LONG = Promotion


def result_dtype(operands):
    """Return PyTorch's result_type of tensors and Python numbers."""
    dim = zero = wrapped = None
    for t in operands:
        if t is None:
            continue
        if isinstance(t, Tensor):
            d = t.dtype
            if t._shape:
                dim = d if dim is None else dt.promote_types(dim, d)
            else:
                zero = d if zero is None else dt.promote_types(zero, d)
        else:
            d = dt.scalar_dtype(t)
            wrapped = d if wrapped is None else dt.promote_types(wrapped, d)
    return _combine(dim, _combine(zero, wrapped))


def _combine(high, low):
    if high is None:
        return low
    if low is None or low.category <= high.category:
        return high
    return dt.TO_COMPLEX.get(high, low) if low.is_complex and high.is_floating_point else dt.promote_types(high, low)


def promoted(kind, common):
    """Return (computation dtype, result dtype) of a promotion kind for operands of a common dtype."""
    if kind is INT_TO_FLOAT and common.category < dt.FLOAT:
        common = dt.get_default_dtype()
    elif kind is ALWAYS_BOOL:
        return common, dt.bool_
    elif kind is COMPLEX_TO_FLOAT:
        return common, common.to_real()
    elif kind is BOOL_TO_LONG and common is dt.bool_:
        common = dt.int64
    return common, common


def promote(op, operands, args):
    """Return (computation dtype, result dtype) of a call of an elementwise operator."""
    keep = op.options.keep
    common = result_dtype([t for i, t in enumerate(operands) if i not in keep] if keep else operands)
    return op.promote(common, *args) if op.promote.__class__ is not Promotion else promoted(op.promote, common)
