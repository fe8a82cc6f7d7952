"""Fake quantization, and products of int8 matrices."""

from .. import dtypes as dt
from ..registry import T, decomposition


def _rounded(q, scale, zero_point, quant_min, quant_max, dtype):
    """Return the values of integers q clamped to their range, and a mask of those inside it; NaN counts as least."""
    low = q >= quant_min
    clamped = T.clamp(T.where(low, q, quant_min), max=quant_max)
    return ((clamped - zero_point) * scale).to(dtype), low & (q <= quant_max)


@decomposition("fake_quantize_per_tensor_affine_cachemask")
def per_tensor(x, scale, zero_point, quant_min, quant_max):
    wide = x.to(dt.float32) if x.dtype in dt.OPMATH else x
    scale = T.full((), scale, dtype=dt.float32, device=x.device)
    return _rounded(T.round(wide * T.reciprocal(scale)) + zero_point, scale, zero_point, quant_min, quant_max, x.dtype)


@decomposition("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def per_tensor_qparams(x, scale, zero_point, enabled, quant_min, quant_max):
    if not bool(enabled):
        return x.clone(), T.ones(x._shape, dtype=dt.bool_, device=x.device)
    wide = x.to(dt.float32) if x.dtype in dt.OPMATH else x
    scale, zero_point = scale.reshape(()), zero_point.reshape(())
    return _rounded(T.round(wide * T.reciprocal(scale)) + zero_point, scale, zero_point, quant_min, quant_max, x.dtype)


@decomposition("fake_quantize_per_channel_affine_cachemask")
def per_channel(x, scale, zero_point, axis, quant_min, quant_max):
    shape = [1] * len(x._shape)
    shape[axis] = -1
    scale, zero_point = scale.reshape(shape), zero_point.reshape(shape)
    wide = x.to(dt.float32) if x.dtype in dt.OPMATH else x
    q = wide * T.reciprocal(scale)
    q = T.round(q + zero_point) if zero_point.dtype.is_floating_point else T.round(q) + zero_point
    return _rounded(q, scale, zero_point, quant_min, quant_max, x.dtype)


@decomposition("_int_mm")
def int_mm(a, b):
    return T.mm(a.to(dt.int32), b.to(dt.int32))
