"""torch._prims_common: questions about shapes, strides, dtypes and devices that reference implementations of operators ask."""

import enum
import functools
import math
import operator
from collections.abc import Sequence

import torch

__all__ = ["ELEMENTWISE_TYPE_PROMOTION_KIND", "REDUCTION_OUTPUT_TYPE_KIND", "RETURN_TYPE", "check", "compare_tensor_meta", "elementwise_dtypes"]

ShapeType = torch.Size | list[int] | tuple[int, ...]
StrideType = list[int] | tuple[int, ...]
DimsType = int | list[int] | tuple[int, ...]
DimsSequenceType = list[int] | tuple[int, ...]
NumberTypeType = type[bool] | type[int] | type[float] | type[complex]
NumberType = bool | int | float | complex
RealNumberType = bool | int | float
Number = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
IntLike, FloatLike, BoolLike = (int, torch.SymInt), (float, torch.SymFloat), (bool, torch.SymBool)
IntWithoutSymInt, FloatWithoutSymFloat, Dim = int, float, int
DeviceLikeType = str | torch.device | int
Tensor = TensorLike = TensorLikeType = torch.Tensor
TensorSequenceType = list[torch.Tensor] | tuple[torch.Tensor, ...]
TensorOrNumberLikeType = torch.Tensor | NumberType


class ELEMENTWISE_TYPE_PROMOTION_KIND(enum.Enum):
    """How the dtypes of an elementwise operator come from its arguments'."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


class REDUCTION_OUTPUT_TYPE_KIND(enum.Enum):
    """How the dtype of a reduction's result comes from its argument's."""

    SAME = (0,)
    COMPLEX_TO_FLOAT = (1,)
    KEEP_PROMOTED_TYPE = (2,)
    ALWAYS_BOOL = (3,)


class RETURN_TYPE(enum.Enum):
    """What an operator gives: a new tensor, a view, an argument, nothing."""

    NEW = (0,)
    VIEW = (1,)
    INPLACE = (2,)
    NONE = (3,)


def check(b, s, exc_type=RuntimeError):
    """The error of the message that ``s()`` gives, unless ``b``."""
    torch._check_with(exc_type, b, s)


# ---------------------------------------------------------------------------------------------- dtypes
_COMPLEX_OF = {torch.float16: torch.complex32, torch.bfloat16: torch.complex64, torch.float32: torch.complex64, torch.float64: torch.complex128}
_REAL_OF = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}
_COMPUTED_IN = {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.complex32: torch.complex64}
_INTEGERS = (torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64)
_TYPES = (bool, int, float, complex)


def is_boolean_dtype(dtype):
    return dtype is torch.bool


def is_integer_dtype(dtype):
    return dtype in _INTEGERS


def is_low_precision_dtype(dtype):
    return dtype in _COMPUTED_IN


def is_float_dtype(dtype):
    return dtype.is_floating_point


def is_complex_dtype(dtype):
    return dtype in _REAL_OF


def is_grad_dtype(dtype):
    """Whether tensors of the dtype can have gradients."""
    return dtype.is_floating_point or is_complex_dtype(dtype)


def corresponding_real_dtype(dtype):
    return _REAL_OF[dtype]


def corresponding_complex_dtype(dtype):
    return _COMPLEX_OF[dtype]


def dtype_to_type(dtype):
    """Python's type of a dtype's numbers."""
    return bool if dtype is torch.bool else int if is_integer_dtype(dtype) else float if dtype.is_floating_point else complex


def dtype_to_type_ctor(dtype):
    """The function that makes such a number."""
    return dtype_to_type(dtype)


def type_to_dtype(typ):
    """The dtype that Python's numbers of a type get."""
    default = torch.get_default_dtype()
    return {bool: torch.bool, int: torch.long, float: default, complex: _COMPLEX_OF[default]}[typ]


def number_type(x):
    return type(x)


def expr_type(x):
    return type(x)


def get_dtype(x):
    """The dtype of a tensor, or that which a number gets."""
    return x.dtype if isinstance(x, torch.Tensor) else type_to_dtype(type(x))


def get_computation_dtype(dtype):
    """The dtype that an operator computes in: float32 of halves."""
    return _COMPUTED_IN.get(dtype, dtype)


def get_acc_type(dtype, device):
    """The dtype that sums are kept in."""
    if torch.device(device).type == "cpu":
        return {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.float32: torch.float64, torch.complex64: torch.complex128}.get(dtype, dtype)
    return get_computation_dtype(dtype)


def is_weakly_lesser_type(a, b):
    """Whether numbers of one type are also of another's category or below: bool, int, float, complex."""
    return _TYPES.index(a) <= _TYPES.index(b)


def get_higher_type(a, b):
    return a if _TYPES.index(a) >= _TYPES.index(b) else b


def can_safe_cast_to(*, cast_to, cast_from):
    """Whether the category of a dtype has all numbers of another's."""
    for has in (is_complex_dtype, is_float_dtype, is_integer_dtype, is_boolean_dtype):
        if has(cast_to):
            return True
        if has(cast_from):
            return False
    raise ValueError(f"Received unknown dtypes {cast_to}, {cast_from}!")


def get_higher_dtype(a, b):
    """The dtype that has the numbers of both; of numbers and tensors, theirs; None is nothing."""
    found = [x if isinstance(x, torch.dtype) else get_dtype(x) for x in (a, b) if x is not None]
    return functools.reduce(torch.promote_types, found) if found else None


def dtype_or_default(dtype):
    return torch.get_default_dtype() if dtype is None else dtype


def elementwise_dtypes(*_args, type_promotion_kind):
    """(dtype to compute in, dtype of the result) of an elementwise operator on tensors and numbers."""
    args = [a for a in _args if a is not None]
    for a in args:
        if not isinstance(a, (torch.Tensor, *Number)):
            raise ValueError(f"Unexpected type {type(a)} when computing elementwise type promotion!")
    highest = functools.reduce(get_higher_type, (dtype_to_type(a.dtype) if isinstance(a, torch.Tensor) else type(a) for a in args), bool)
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    shaped, numbers = [t.dtype for t in tensors if t.dim()], [t.dtype for t in tensors if not t.dim()]
    counts = is_grad_dtype if highest is complex else lambda d: dtype_to_type(d) is highest  # how many bits a complex result has, floats say too
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


def reduction_dtypes(arg, output_dtype_kind, dtype=None):
    """(dtype to compute in, dtype of the result or None for that) of a reduction."""
    given = arg.dtype if dtype is None else dtype
    computed, kinds = get_computation_dtype(given), REDUCTION_OUTPUT_TYPE_KIND
    if output_dtype_kind is kinds.ALWAYS_BOOL:
        return computed, torch.bool
    if output_dtype_kind is kinds.KEEP_PROMOTED_TYPE:
        return computed, None
    if output_dtype_kind is kinds.COMPLEX_TO_FLOAT and is_complex_dtype(given):
        return computed, _REAL_OF[given]
    return computed, given


# ---------------------------------------------------------------------------------------------- dimensions and shapes
def canonicalize_dim(rank, idx, wrap_scalar=True):
    """A dimension counted from the front."""
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
    """Dimensions counted from the front."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, i, wrap_scalar) for i in indices)


def is_valid_permutation(rank, perm):
    return isinstance(perm, Sequence) and sorted(perm) == list(range(rank))


def apply_perm(inp, perm):
    """The items in another order."""
    return [inp[i] for i in perm]


def invert_perm(perm):
    """The order that undoes another."""
    found = [-1] * len(perm)
    for new, old in enumerate(perm):
        found[old] = new
    return found


def validate_shape(shape):
    for length in shape:
        validate_dim_length(length)


def validate_dim_length(length):
    torch._check(length >= 0, lambda: "Trying to create tensor with negative dimension")


def validate_idx(rank, idx):
    if not (isinstance(idx, int) and (0 <= idx < rank or idx == 0)):
        raise AssertionError(f"index {idx} is out of range for rank {rank}")


def validate_dimension_indices(rank, indices):
    for idx in indices:
        validate_idx(rank, idx)


def validate_strides(strides):
    for stride in strides:
        if stride < 0:
            raise AssertionError(f"stride must be non-negative, got {stride}")


def validate_no_repeating_dims(dims):
    if len(dims) != len(set(dims)):
        raise RuntimeError("duplicate value in the list of dims")


def reduction_dims(shape, dims):
    """The dimensions of a reduction, counted from the front; None: all."""
    if dims is None:
        return tuple(range(len(shape)))
    dims = tuple(canonicalize_dim(len(shape), d) for d in dims)
    validate_no_repeating_dims(dims)
    return dims


def compute_reduction_output_shape(shape, dimensions):
    return tuple(s for i, s in enumerate(shape) if i not in dimensions)


def same_shape(a, b, *, allow_rhs_unbacked=False):
    return tuple(a) == tuple(b)


is_same_shape = same_shape


def infer_size(shape, numel):
    """The shape with -1 replaced by what is left of numel."""
    known, at = 1, None
    for i, d in enumerate(shape):
        if d == -1:
            torch._check(at is None, lambda: "only one dimension can be inferred")
            at = i
        else:
            torch._check(d >= 0, lambda d=d: f"invalid shape dimension {d}")
            known *= d
    if at is None:
        torch._check(numel == known, lambda: f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    torch._check(
        known != 0,
        lambda: f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be any value and is ambiguous",
    )
    torch._check(numel % known == 0, lambda: f"shape '{list(shape)}' is invalid for input of size {numel}")
    return (*shape[:at], numel // known, *shape[at + 1 :])


def infer_size_shapes(a, b):
    """The shape of two broadcast."""
    return tuple(torch.broadcast_shapes(a, b))


def is_expandable_to(shape, desired):
    if len(shape) > len(desired):
        return False
    return all(s in (d, 1) for s, d in zip(reversed(shape), reversed(desired)))


def extract_shape(*args, allow_cpu_scalar_tensors):
    """The shape of the tensors among the arguments, which must be equal; numbers have none."""
    found = scalar = None
    for a in args:
        if isinstance(a, torch.Tensor):
            if allow_cpu_scalar_tensors and is_cpu_scalar_tensor(a):
                scalar = a.shape
            elif found is None:
                found = a.shape
            elif not same_shape(found, a.shape):
                return None
    return found if found is not None else scalar


def extract_dims_from_varargs(dims):
    """Dimensions given one by one or as one sequence."""
    return dims[0] if dims and isinstance(dims[0], Sequence) else dims


def extract_shape_from_varargs(shape, validate=True):
    """A shape given number by number or as one sequence."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if validate:
        validate_shape(shape)
    return shape


def prod(xs):
    """The product of numbers."""
    return math.prod(xs)


# ---------------------------------------------------------------------------------------------- strides and memory
def make_contiguous_strides_for(shape, row_major=True):
    """The strides of a tensor without gaps, the last dimension the fastest; row_major=False: the last but one."""
    validate_shape(shape)
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    strides.reverse()
    if row_major or len(shape) < 2:
        return tuple(strides)
    return (*strides[:-2], 1, max(shape[-2], 1))


def _channels_last(rank, shape):
    if len(shape) != rank:
        raise RuntimeError(f"Only tensors of rank {rank} can use this channels_last memory format")
    strides, step = [0] * rank, 1
    for i in (1, *range(rank - 1, 1, -1), 0):
        strides[i] = step
        step *= max(shape[i], 1)
    return tuple(strides)


def make_channels_last_1d_strides_for(shape):
    return _channels_last(3, shape)


def make_channels_last_2d_strides_for(shape):
    return _channels_last(4, shape)


def make_channels_last_3d_strides_for(shape):
    return _channels_last(5, shape)


def make_channels_last_strides_for(shape):
    """The strides of channels_last memory for 3, 4 or 5 dimensions."""
    if len(shape) not in (3, 4, 5):
        raise RuntimeError(f"no channels last format strides exist in {len(shape)} dimensions")
    return _channels_last(len(shape), shape)


def is_contiguous(a, false_if_dde=False):
    return a.is_contiguous()


is_contiguous_or_false = is_contiguous


def is_contiguous_for_memory_format(a, *, memory_format, false_if_dde=False):
    return a.is_contiguous(memory_format=memory_format)


is_contiguous_for_memory_format_or_false = is_contiguous_for_memory_format


def is_channels_last_contiguous_2d(a, false_if_dde=False):
    return a.dim() == 4 and a.is_contiguous(memory_format=torch.channels_last)


def is_channels_last_contiguous_3d(a, false_if_dde=False):
    return a.dim() == 5 and a.is_contiguous(memory_format=torch.channels_last_3d)


def is_channels_last_contiguous(a, false_if_dde=False):
    return is_channels_last_contiguous_2d(a) or is_channels_last_contiguous_3d(a)


is_channels_last_contiguous_or_false = is_channels_last_contiguous
is_channels_last_contiguous_or_false_2d, is_channels_last_contiguous_or_false_3d = is_channels_last_contiguous_2d, is_channels_last_contiguous_3d


def validate_memory_format(memory_format):
    torch._check(
        memory_format in (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d),
        lambda: f"Received unknown memory format {memory_format}!",
    )


def is_non_overlapping_and_dense_or_false(a):
    """Whether each place of the memory between the first and the last element is one element."""
    if a.is_sparse:
        return False
    expected = 1
    for stride, length in sorted((st, n) for n, st in zip(a.shape, a.stride()) if n != 1):
        if stride != expected:
            return a.numel() == 0
        expected *= length
    return True


def suggest_memory_format(x):
    """The format that a result in the memory order of this tensor has."""
    if x.layout is torch.strided and x.dim() in (4, 5):
        order = (1, *range(x.dim() - 1, 1, -1), 0)
        least = 0
        for i in order if x.stride()[1] else ():
            n, stride = x.shape[i], x.stride()[i]
            if n == 0 or stride < least or i == 0 and least == x.stride()[1]:
                return torch.contiguous_format
            least = stride * max(n, 1)
        return (torch.channels_last if x.dim() == 4 else torch.channels_last_3d) if x.stride()[1] else torch.contiguous_format
    return torch.contiguous_format


def compute_required_storage_length(shape, strides, storage_offset):
    """How many elements a storage must have for this geometry."""
    return 0 if 0 in shape else 1 + storage_offset + sum((n - 1) * s for n, s in zip(shape, strides))


def check_in_bounds_for_storage(a, shape, strides, storage_offset):
    """ValueError where a storage has too few elements for a geometry."""
    needed = compute_required_storage_length(shape, strides, storage_offset)
    has = a.nbytes() // a._element_size() if hasattr(a, "_element_size") else a.size()
    if needed > has:
        raise ValueError(
            f"Can't view a storage of size {has} with an offset of {storage_offset}, shape of {shape!s}, and strides of {strides!s}, "
            f"which requires a storage of size {needed}"
        )


def compute_elementwise_output_strides(*tensors):
    """The strides of an elementwise operator's result."""
    tensors = [t for t in tensors if isinstance(t, torch.Tensor) and not is_cpu_scalar_tensor(t)]
    if not tensors:
        return ()
    return torch.empty_like(_together(tensors), device="meta").stride()


def _together(tensors):
    return functools.reduce(operator.add, (torch.empty_strided(t.shape, t.stride(), device="meta") for t in tensors))


def _first_difference(pairs):
    return next((i for i, (x, y) in enumerate(pairs) if x != y), None)


def check_all_strides(a, b, *, only_cuda=True):
    """(whether all strides are equal, the first dimension where they are not)"""
    if only_cuda and a.device.type not in ("cuda", "xpu") and b.device.type not in ("cuda", "xpu") or a.numel() == 0:
        return True, None
    at = _first_difference(zip(a.stride(), b.stride()))
    return at is None, at


def check_significant_strides(a, b, *, only_cuda=True, allow_rhs_unbacked=False):
    """The same, of the dimensions that have more than one place."""
    if only_cuda and a.device.type not in ("cuda", "xpu") and b.device.type not in ("cuda", "xpu") or a.numel() == 0:
        return True, None
    at = _first_difference((x, y) if n > 1 else (0, 0) for x, y, n in zip(a.stride(), b.stride(), a.shape))
    return at is None, at


def compare_tensor_meta(a, b, check_sizes=True, check_strides=False, *, allow_rhs_unbacked=False, check_conj=True):
    """MetadataMismatchError where two tensors differ in shape, dtype, device, and what else is asked for."""
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


# ---------------------------------------------------------------------------------------------- arguments
def is_cpu_scalar_tensor(a):
    """Whether it is a tensor without dimensions on the CPU, which may meet any device."""
    return isinstance(a, torch.Tensor) and a.dim() == 0 and a.device.type == "cpu"


def canonicalize_device(device):
    return torch.device(device)


def device_or_default(device):
    return torch.device("cpu") if device is None else device


def layout_or_default(layout):
    return torch.strided if layout is None else layout


def check_layout(layout):
    torch._check_not_implemented(layout == torch.strided, lambda: f"PrimTorch doesn't support layout={layout}")


def check_pin_memory(pin_memory):
    torch._check_not_implemented(not pin_memory, lambda: "PrimTorch does not support pinned memory")


def check_same_device(*args, allow_cpu_scalar_tensors):
    """RuntimeError where tensors are on several devices."""
    devices = {a.device for a in args if isinstance(a, torch.Tensor) and not (allow_cpu_scalar_tensors and is_cpu_scalar_tensor(a))}
    if len(devices) > 1:
        raise RuntimeError(f"Tensor on device {devices.pop()} is not on the expected device {devices.pop()}!")


def check_same_shape(*args, allow_cpu_scalar_tensors):
    """RuntimeError where tensors have several shapes."""
    shapes = {tuple(a.shape) for a in args if isinstance(a, torch.Tensor) and not (allow_cpu_scalar_tensors and is_cpu_scalar_tensor(a))}
    if len(shapes) > 1:
        raise RuntimeError(f"Shape {torch.Size(shapes.pop())} is not the expected shape {torch.Size(shapes.pop())}!")


def check_same_dtype(*args):
    """RuntimeError where tensors have several dtypes, or numbers several types."""
    dtypes = {a.dtype for a in args if isinstance(a, torch.Tensor)}
    if len(dtypes) > 1:
        raise RuntimeError(f"Tensor with dtype {dtypes.pop()} is not the expected dtype of {dtypes.pop()}!")
    types = {type(a) for a in args if isinstance(a, Number)}
    if len(types) > 1:
        raise RuntimeError(f"Scalar of type {types.pop()} is not the expected type of {types.pop()}!")


def check_fp_or_complex(dtype, fn_name, allow_low_precision_dtypes=True):
    """RuntimeError for integers, and for halves where they are not allowed."""
    torch._check(is_grad_dtype(dtype), lambda: f"{fn_name}: Expected a floating point or complex tensor as input. Got {dtype}")
    torch._check(allow_low_precision_dtypes or not is_low_precision_dtype(dtype), lambda: f"{fn_name}: Half precision dtypes not supported. Got {dtype}")


def check_is_matrix(A, f_name, arg_name="A"):
    torch._check(A.dim() >= 2, lambda: f"{f_name}: The input tensor {arg_name} must have at least 2 dimensions.")


def set_correction(unbiased=None, correction=None):
    """The correction of a variance from either of its two arguments."""
    if correction is not None and unbiased is not None:
        raise RuntimeError("cannot specify both correction and unbiased arguments")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    if not isinstance(correction, (int, float)):
        raise ValueError("correction argument should be integer or float")
    return float(correction)


def mask_tensor(mask, t):
    """The tensor where the mask is True, else 0."""
    return mask.logical_and(t) if t.dtype is torch.bool else torch.where(mask, t, 0)


def clone_preserve_strides(x):
    """A copy with the same strides, gaps and overlaps included."""
    needed = compute_required_storage_length(x.size(), x.stride(), x.storage_offset())
    return torch.as_strided(x, (needed,), (1,), 0).clone().as_strided(x.size(), x.stride(), x.storage_offset())


def alert_not_deterministic(caller):
    """RuntimeError, or a warning, where only deterministic algorithms are allowed."""
    if torch.are_deterministic_algorithms_enabled():
        text = f"{caller} does not have a deterministic implementation"
        if not torch.is_deterministic_algorithms_warn_only_enabled():
            raise RuntimeError(f"{text}, but you set 'torch.use_deterministic_algorithms(True)'.")
        import warnings

        warnings.warn(f"{text}, but you set 'torch.use_deterministic_algorithms(True, warn_only=True)'.", stacklevel=2)
