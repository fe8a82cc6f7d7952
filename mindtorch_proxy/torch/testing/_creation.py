"""make_tensor: creates random tensors for tests."""

import math
import warnings
from collections.abc import Sequence

import torch


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """Return a tensor with values drawn uniformly from [low, high), by default [-9, 9), clamped to the dtype."""
    shape = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    real = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not real:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    if real:
        smallest, end = torch.finfo(dtype).min, torch.finfo(dtype).max
    elif dtype is torch.bool:
        smallest, end = 0, 2
    else:
        smallest, end = torch.iinfo(dtype).min, torch.iinfo(dtype).max + (dtype is not torch.int64)
    low = (0 if dtype in (torch.bool, torch.uint8) else -9) if low is None else low
    high = (2 if dtype is torch.bool else 10 if not real else 9) if high is None else high
    if any(isinstance(v, float) and math.isnan(v) for v in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and real:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < smallest or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{smallest}, {end})"
        )
    low, high = (min(max(v, smallest), end) for v in (low, high))
    noncontiguous = noncontiguous and math.prod(shape) > 1
    full = (*shape[:-1], 2 * shape[-1]) if noncontiguous else shape
    if real:
        small = dtype.is_floating_point and dtype.itemsize == 1
        result = torch.empty(full, device=device, dtype=torch.float32 if small else dtype)
        parts = torch.view_as_real(result) if dtype.is_complex else result
        wide = high - low >= torch.finfo(parts.dtype).max
        parts.uniform_(low / 2, high / 2).mul_(2) if wide else parts.uniform_(low, high)
        result = result.to(dtype)
    else:
        result = torch.randint(math.ceil(low), math.ceil(high), full, device=device, dtype=dtype)
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = torch.finfo(dtype).tiny if real else 1
    return result.requires_grad_(requires_grad) if real else result
