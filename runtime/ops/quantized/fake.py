"""Numbers rounded to what a quantized tensor could hold, with a gradient that passes where nothing was cut off."""

from ...declare import composite, op
from ...registry import decomposition
from ..common import T, Tensor, dt, has_values, only
from .values import to_float32


def _check(self, quant_min, quant_max):
    only("fake_quantize_tensor_cachemask_kernel_type_handling", self, dt.FLOAT)
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")


def _check_zero(zero_point, quant_min, quant_max):
    if not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


_SAME = dict(meta=lambda self, *args: [(self._shape, self.dtype), (self._shape, dt.bool_)], non_differentiable=(1,), out=False, method=False, function=False)
_PASSED = {"self": lambda g0, out1: g0 * out1}
_MASKED = "int quant_min, int quant_max) -> (Tensor, Tensor)"
_BY_NUMBERS = op(f"fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, {_MASKED}", derivative=_PASSED, **_SAME)
_TENSORS = "Tensor scale, Tensor zero_point, Tensor fake_quant_enabled"
_WITH_TENSORS = op(f"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, {_TENSORS}, {_MASKED}", derivative=_PASSED, **_SAME)
_PER_CHANNEL = op(f"fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, {_MASKED}", derivative=_PASSED, **_SAME)


def _rounded(self, scale, zero_point, quant_min, quant_max):
    inverse = 1 / scale
    if isinstance(zero_point, Tensor) and zero_point.dtype.is_floating_point:
        q = T.round(self * inverse + zero_point)
    else:
        q = T.round(self * inverse) + zero_point
    return ((q.clamp(quant_min, quant_max) - zero_point) * scale).to(self.dtype), (q >= quant_min) & (q <= quant_max)


@decomposition("fake_quantize_per_tensor_affine_cachemask")
def _per_tensor(self, scale, zero_point, quant_min, quant_max):
    return _rounded(self, to_float32(scale), zero_point, quant_min, quant_max)


@decomposition("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def _by_tensors(self, scale, zero_point, enabled, quant_min, quant_max):
    values, mask = _rounded(self, scale, zero_point, quant_min, quant_max)
    on = enabled != 0
    return T.where(on, values, self), mask | ~on


@decomposition("fake_quantize_per_channel_affine_cachemask")
def _per_channel(self, scale, zero_point, axis, quant_min, quant_max):
    size = [-1 if i == axis else 1 for i in range(len(self._shape))]
    return _rounded(self, scale.reshape(size), zero_point.reshape(size), quant_min, quant_max)


_FAKE = dict(out=False, method=False)


@composite("fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor", **_FAKE)
def fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max):
    _check(self, quant_min, quant_max)
    _check_zero(zero_point, quant_min, quant_max)
    return _BY_NUMBERS.call(self, scale, zero_point, quant_min, quant_max)[0]


_BY_TENSORS = "Tensor self, Tensor scale, Tensor zero_point"


@composite(f"fake_quantize_per_tensor_affine.tensor_qparams({_BY_TENSORS}, int quant_min, int quant_max) -> Tensor", **_FAKE)
def fake_quantize_by_tensors(self, scale, zero_point, quant_min, quant_max):
    _check(self, quant_min, quant_max)
    enabled = T.ones((1,), dtype=dt.int64, device=self.device)
    return _WITH_TENSORS.call(self, scale, zero_point, enabled, quant_min, quant_max)[0]


@composite(f"fake_quantize_per_channel_affine({_BY_TENSORS}, int axis, int quant_min, int quant_max) -> Tensor", **_FAKE)
def fake_quantize_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max):
    if scale.dtype is not dt.float32:
        raise RuntimeError(f"Scale must be Float, found {dt.scalar_name(scale.dtype)}")
    if zero_point.dtype not in (dt.int32, dt.float32, dt.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {dt.scalar_name(zero_point.dtype)}")
    if len(scale._shape) != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if len(zero_point._shape) != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.numel() != self._shape[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check(self, quant_min, quant_max)
    if not zero_point.dtype.is_floating_point and has_values(zero_point):
        lowest, highest = T.aminmax(zero_point)
        if lowest < quant_min or highest > quant_max:
            raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    if not 0 <= axis <= len(self._shape):
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    return _PER_CHANNEL.call(self, scale, zero_point, axis, quant_min, quant_max)[0]
