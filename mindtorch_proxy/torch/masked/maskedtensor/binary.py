"""Elementwise operators of two tensors; if both are masked, their masks must be equal."""

import torch

from .core import OPERATORS, MaskedTensor, _masks_match, _parts, _tensors_match, is_masked_tensor, mapped, on
from .operators import on_values

BINARY_NAMES = (
    "add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide "
    "floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge "
    "greater greater_equal gt less_equal lt less maximum minimum fmax fmin not_equal"
).split()
INPLACE_BINARY_NAMES = [
    name + "_" for name in BINARY_NAMES if name not in ("logaddexp", "logaddexp2", "fmin", "minimum", "maximum", "fmax")
]
NATIVE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in BINARY_NAMES]
NATIVE_INPLACE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_BINARY_NAMES]


def _second(a, b):
    """Return the values of the second operand if both are sparse and specify the same elements.

    Different indices or sizes raise ValueError; if one operand is not sparse, `b` is returned unchanged.
    """
    if a.layout is torch.strided or not torch.is_tensor(b) or b.layout is not a.layout:
        return b
    layout = str(a.layout).removeprefix("torch.")
    if not all(map(_tensors_match, _parts(a)[:-1], _parts(b)[:-1])):
        raise ValueError(f"{layout} indices must match. If you need support for this, please open an issue on Github.")
    if a.size() != b.size():
        raise ValueError("input1 and input2 must have the same size for binary functions.")
    return b.values()


def _result(fn, args, kwargs):
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if any(torch.is_tensor(a) for a in args[2:]):
        raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
    if not _masks_match(*args[:2]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    a, b, *others = mapped(args, MaskedTensor.get_data)
    return on_values(fn, a, (_second(a, b), *others), {})


@on(OPERATORS, *NATIVE_BINARY_FNS)
def _binary(fn, *args, **kwargs):
    data = _result(fn, args, kwargs)
    mask = next(a for a in args[:2] if is_masked_tensor(a)).get_mask()
    return MaskedTensor(data, mask.expand_as(data) if data.layout is torch.strided else mask)


@on(OPERATORS, *NATIVE_INPLACE_BINARY_FNS)
def _binary_(fn, *args, **kwargs):
    data = _result(fn, args, kwargs)
    args[0]._set_data_mask(data, args[0].get_mask())
    return args[0]
