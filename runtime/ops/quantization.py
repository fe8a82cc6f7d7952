"""Fake quantization (floats rounded as integers would be) and products of int8 matrices."""

from .. import dtypes as dt
from ..call.geometry import preserved_strides
from ..declare import composite, op
from ..registry import T, implicit
from .common import has_values, only, wrap_dim


def _masked(self):
    st = preserved_strides(self)
    return [(self._shape, self.dtype, st), (self._shape, dt.bool_, st)]


def _check_range(self, quant_min, quant_max, kernel="fake_quantize_tensor_cachemask_kernel_type_handling"):
    only(kernel, self, dt.FLOAT)
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")


def _tensor_meta(self, scale, zero_point, quant_min, quant_max):
    _check_range(self, quant_min, quant_max)
    if not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    return _masked(self)


def _qparams_meta(self, scale, zero_point, fake_quant_enabled, quant_min, quant_max):
    _check_range(self, quant_min, quant_max)
    return _masked(self)


_ZERO_POINTS = (dt.int32, dt.float32, dt.float16)


def _channel_meta(self, scale, zero_point, axis, quant_min, quant_max):
    if scale.dtype is not dt.float32:
        raise RuntimeError(f"Scale must be Float or BFloat16, found {dt.scalar_name(scale.dtype)}")
    if zero_point.dtype not in _ZERO_POINTS:
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {dt.scalar_name(zero_point.dtype)}")
    if len(scale._shape) != 1 or len(zero_point._shape) != 1:
        raise RuntimeError(
            "scale should be a 1-D tensor" if len(scale._shape) != 1 else "zero point should be a 1-D tensor"
        )
    if scale._shape != zero_point._shape:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    _check_range(self, quant_min, quant_max, "fake_quantize_channel_cachemask_cpu_type_handling")
    if not zero_point.dtype.is_floating_point and has_values(zero_point) and zero_point.numel():
        lowest, highest = T.aminmax(zero_point)
        if lowest < quant_min or highest > quant_max:
            raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    if not 0 <= axis <= len(self._shape):
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if scale._shape[0] != self._shape[wrap_dim(axis, len(self._shape))]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    return _masked(self)


# Straight-through gradient: that of the identity where nothing was clamped.
_STRAIGHT = dict(derivative={"self": lambda g0, out1: g0 * out1}, non_differentiable=(1,), method=False, out=False)
tensor_op = op(
    "fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, "
    "int quant_max) -> (Tensor, Tensor)",
    meta=_tensor_meta,
    function=False,
    **_STRAIGHT,
)
qparams_op = op(
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
    "Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor, Tensor)",
    meta=_qparams_meta,
    **_STRAIGHT,
)
channel_op = op(
    "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, "
    "int quant_max) -> (Tensor, Tensor)",
    meta=_channel_meta,
    function=False,
    **_STRAIGHT,
)


@implicit("fake_quantize_per_tensor_affine")
@composite(
    "fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor",
    method=False,
    out=False,
)
def fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max):
    return tensor_op.call(self, scale, zero_point, quant_min, quant_max)[0]


@implicit("fake_quantize_per_tensor_affine.tensor_qparams")
@composite(
    "fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, "
    "int quant_max) -> Tensor",
    method=False,
    out=False,
)
def _with_tensors(self, scale, zero_point, quant_min, quant_max):
    return qparams_op.call(
        self, scale, zero_point, T.ones(1, dtype=dt.int64, device=self.device), quant_min, quant_max
    )[0]


@implicit("fake_quantize_per_channel_affine")
@composite(
    "fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, "
    "int quant_max) -> Tensor",
    method=False,
    out=False,
)
def fake_quantize_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max):
    return channel_op.call(self, scale, zero_point, axis, quant_min, quant_max)[0]


def _int_mm_meta(self, mat2):
    def need(ok, what):
        if not ok:
            raise RuntimeError(f"int_mm_out_cpu: {what}")

    need(len(self._shape) == 2, f"Expected self to be of dimension 2 but got {len(self._shape)}")
    need(len(mat2._shape) == 2, f"Expected mat2 to be of dimension 2 but got {len(mat2._shape)}")
    need(
        self._shape[1] == mat2._shape[0],
        f"self.size(1) needs to match mat2.size(0) but got {self._shape[1]} and {mat2._shape[0]}",
    )
    need(self.dtype in (dt.int8, dt.uint8), f"Expected self dtype to be int8 or uint8 but got {dt.c_name(self.dtype)}")
    need(mat2.dtype is dt.int8, f"Expected mat2 dtype to be of type int8 but got {dt.c_name(mat2.dtype)}")
    return (self._shape[0], mat2._shape[1]), dt.int32


op("_int_mm(Tensor self, Tensor mat2) -> Tensor", meta=_int_mm_meta, method=False)
