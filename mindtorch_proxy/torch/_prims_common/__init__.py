"""torch._prims_common: helpers for shapes, strides and dtypes.

Only those of PyTorch's helpers that libraries and PyTorch's own tests use.
"""

import enum
import functools
import warnings

import torch

__all__ = [
    "ELEMENTWISE_TYPE_PROMOTION_KIND",
    "alert_not_deterministic",
    "canonicalize_dim",
    "canonicalize_dims",
    "compare_tensor_meta",
    "compute_required_storage_length",
    "elementwise_dtypes",
    "get_computation_dtype",
    "make_contiguous_strides_for",
    "suggest_memory_format",
]

Number = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
IntLike = (int, torch.SymInt)
DeviceLikeType = str | torch.device | int


class ELEMENTWISE_TYPE_PROMOTION_KIND(enum.Enum):
    """How an elementwise operator promotes the dtypes of its arguments."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


# ---------------------------------------------------------------------------------------------- dtypes
_COMPLEX_OF = {
    torch.float16: torch.complex32,
    torch.bfloat16: torch.complex64,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}
_REAL_OF = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}
_COMPUTED_IN = {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.complex32: torch.complex64}
_INTEGERS = (torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64)
_TYPES = (bool, int, float, complex)


def is_boolean_dtype(dtype):
    return dtype is torch.bool


def is_integer_dtype(dtype):
    return dtype in _INTEGERS


def is_float_dtype(dtype):
    return dtype.is_floating_point


def is_complex_dtype(dtype):
    return dtype in _REAL_OF


def is_grad_dtype(dtype):
    """Whether tensors with a dtype can have gradients."""
    return dtype.is_floating_point or is_complex_dtype(dtype)


def corresponding_complex_dtype(dtype):
    return _COMPLEX_OF[dtype]


def dtype_to_type(dtype):
    """Return the Python type of the numbers of a dtype."""
    return (
        bool
        if dtype is torch.bool
        else int
        if is_integer_dtype(dtype)
        else float
        if dtype.is_floating_point
        else complex
    )


def type_to_dtype(typ):
    """Return the dtype for Python numbers of a type."""
    default = torch.get_default_dtype()
    return {bool: torch.bool, int: torch.long, float: default, complex: _COMPLEX_OF[default]}[typ]


def get_computation_dtype(dtype):
    """Return the dtype in which operators compute; for half-precision dtypes, it is wider."""
    return _COMPUTED_IN.get(dtype, dtype)


def get_higher_type(a, b):
    return a if _TYPES.index(a) >= _TYPES.index(b) else b


def elementwise_dtypes(*_args, type_promotion_kind):
    """Return (dtype to compute in, dtype of the result) for an elementwise operator on tensors and numbers."""
    args = [a for a in _args if a is not None]
    for a in args:
        if not isinstance(a, (torch.Tensor, *Number)):
            raise ValueError(f"Unexpected type {type(a)} when computing elementwise type promotion!")
    highest = functools.reduce(
        get_higher_type, (dtype_to_type(a.dtype) if isinstance(a, torch.Tensor) else type(a) for a in args), bool
    )
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    shaped, numbers = [t.dtype for t in tensors if t.dim()], [t.dtype for t in tensors if not t.dim()]
    counts = (
        is_grad_dtype if highest is complex else lambda d: dtype_to_type(d) is highest
    )  # the precision of a complex result also depends on floats
    found = list(filter(counts, shaped)) or list(filter(counts, numbers))
    result = functools.reduce(torch.promote_types, found) if found else type_to_dtype(highest)
    if highest is complex:
        result = _COMPLEX_OF.get(result, result)
    kind, kinds = type_promotion_kind, ELEMENTWISE_TYPE_PROMOTION_KIND
    if kind is kinds.NO_OPMATH:
        return result, result
    if kind is kinds.INT_TO_FLOAT and (is_integer_dtype(result) or is_boolean_dtype(result)):
        result = torch.get_default_dtype()
    if kind is kinds.BOOL_TO_LONG and is_boolean_dtype(result):
        result = torch.long
    computed = get_computation_dtype(result)
    if kind is kinds.COMPLEX_TO_FLOAT and is_complex_dtype(result):
        return computed, _REAL_OF[result]
    return computed, torch.bool if kind is kinds.ALWAYS_BOOL else result


# ---------------------------------------------------------------------------------------------- dimensions and shapes
def canonicalize_dim(rank, idx, wrap_scalar=True):
    """Convert a dimension to a nonnegative one."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
        rank = 1
    if not -rank <= idx < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {idx})")
    return idx % rank


def canonicalize_dims(rank, indices, wrap_scalar=True):
    """Convert dimensions to nonnegative ones."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, i, wrap_scalar) for i in indices)


def validate_shape(shape):
    for length in shape:
        torch._check(length >= 0, lambda: "Trying to create tensor with negative dimension")


# ---------------------------------------------------------------------------------------------- strides and memory
def make_contiguous_strides_for(shape, row_major=True):
    """Return the strides of a contiguous tensor; with row_major=False, of one whose last two dimensions are swapped."""
    validate_shape(shape)
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    strides.reverse()
    if row_major or len(shape) < 2:
        return tuple(strides)
    return (*strides[:-2], 1, max(shape[-2], 1))


def is_contiguous(a, false_if_dde=False):
    return a.is_contiguous()


is_contiguous_or_false = is_contiguous


def suggest_memory_format(x):
    """Return the memory format of a result with the same dimension order as a tensor."""
    if x.layout is torch.strided and x.dim() in (4, 5):
        order = (1, *range(x.dim() - 1, 1, -1), 0)
        least = 0
        for i in order if x.stride()[1] else ():
            n, stride = x.shape[i], x.stride()[i]
            if n == 0 or stride < least or i == 0 and least == x.stride()[1]:
                return torch.contiguous_format
            least = stride * max(n, 1)
        return (
            (torch.channels_last if x.dim() == 4 else torch.channels_last_3d)
            if x.stride()[1]
            else torch.contiguous_format
        )
    return torch.contiguous_format


def compute_required_storage_length(shape, strides, storage_offset):
    """Return the number of elements that a storage needs for this geometry."""
    return 0 if 0 in shape else 1 + storage_offset + sum((n - 1) * s for n, s in zip(shape, strides))


def check_significant_strides(a, b, *, only_cuda=True, allow_rhs_unbacked=False):
    """Compare the strides of dimensions with a size above 1.

    Return (whether they are equal, the first dimension where they differ or None).
    """
    if only_cuda and a.device.type not in ("cuda", "xpu") and b.device.type not in ("cuda", "xpu") or a.numel() == 0:
        return True, None
    at = next((i for i, (x, y, n) in enumerate(zip(a.stride(), b.stride(), a.shape)) if n > 1 and x != y), None)
    return at is None, at


def compare_tensor_meta(a, b, check_sizes=True, check_strides=False, *, allow_rhs_unbacked=False, check_conj=True):
    """Raise MetadataMismatchError if two tensors differ in shape, dtype, device, or other metadata to be checked."""
    from torch._subclasses.fake_tensor import MetadataMismatchError

    for t in (a, b):
        if not isinstance(t, torch.Tensor):
            raise AssertionError(f"Expected TensorLike, got {type(t)}")
    asked = {
        "shape": check_sizes,
        "dtype": True,
        "device": True,
        "stride": check_strides,
        "storage_offset": check_strides,
        "is_conj": check_conj,
        "is_neg": True,
    }
    for what in (name for name, wanted in asked.items() if wanted):
        first, second = (getattr(t, what)() if callable(getattr(t, what)) else getattr(t, what) for t in (a, b))
        if what == "stride" and check_significant_strides(a, b, only_cuda=False)[0]:
            continue
        if first != second and {str(first), str(second)} != {"cuda", "cuda:0"}:
            raise MetadataMismatchError(f"{what.capitalize()}s {first} and {second} are not equal!")


def alert_not_deterministic(caller):
    """Raise RuntimeError, or warn, if deterministic algorithms are enabled."""
    if torch.are_deterministic_algorithms_enabled():
        text = f"{caller} does not have a deterministic implementation"
        if not torch.is_deterministic_algorithms_warn_only_enabled():
            raise RuntimeError(f"{text}, but you set 'torch.use_deterministic_algorithms(True)'.")
        warnings.warn(f"{text}, but you set 'torch.use_deterministic_algorithms(True, warn_only=True)'.", stacklevel=2)
