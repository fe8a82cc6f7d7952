"""Elementwise operators of one tensor, which keep the mask."""

import torch

from .core import OPERATORS, MaskedTensor, mapped, on
from .operators import on_values

UNARY_NAMES = (
    "abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil "
    "clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 "
    "log1p log2 logit i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn "
    "signbit sin sinc sinh sqrt square tan tanh trunc"
).split()
INPLACE_UNARY_NAMES = [name + "_" for name in UNARY_NAMES if name not in ("angle", "positive", "signbit", "isnan")]
NATIVE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in UNARY_NAMES]
NATIVE_INPLACE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_UNARY_NAMES]


def _result(fn, args, kwargs):
    if any(torch.is_tensor(a) for a in args[1:]):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    args, kwargs = mapped(args, MaskedTensor.get_data), mapped(kwargs, MaskedTensor.get_data)
    return on_values(fn, args[0], args[1:], kwargs)


@on(OPERATORS, *NATIVE_UNARY_FNS)
def _unary(fn, *args, **kwargs):
    return MaskedTensor(_result(fn, args, kwargs), args[0].get_mask())


@on(OPERATORS, *NATIVE_INPLACE_UNARY_FNS)
def _unary_(fn, *args, **kwargs):
    args[0]._set_data_mask(_result(fn, args, kwargs), args[0].get_mask())
    return args[0]
