"""Functions that create quantized tensors from numbers or integers, and those that return their parts."""

from ...declare import composite
from ...device import contiguous_format
from ...warn import warn_once
from ..common import T, dt
from ..memory import suggested_format
from ..sparse.tensors import could_not_run
from .tensors import QuantizedTensor, on_quantized, over, stored
from .values import LIMITS, STORED, PerChannel, PerTensor, choose

_PER_CHANNEL = (
    "Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams to be "
    "true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to "
    "PyTorch.)"
)


def quantized(values, dtype, quantizer):
    """Return a quantized tensor over existing integers, for loading from files."""
    return over(values, dtype, quantizer)


_DEPRECATED = (
    "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions that produce "
    "tensors with dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be removed in a future "
    "PyTorch release. Please see https://github.com/pytorch/pytorch/issues/184982 for more information."
)


def _made(values, dtype, quantizer):
    """Return a quantized tensor that a program creates, with PyTorch's warning for the first one."""
    warn_once(_DEPRECATED)
    return over(values, dtype, quantizer)


def _check(input, dtype):
    if dtype not in STORED:
        raise RuntimeError(f"ScalarType {dt.scalar_name(dtype)} is not supported in new_qtensor.")
    kept = stored(dtype)
    if input.dtype is not dt.float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {dt.scalar_name(input.dtype)}")
    return kept


def _check_zero(kernel, zero_point, kept):
    lowest, highest = LIMITS[kept]
    if zero_point < lowest:
        raise RuntimeError(f"{kernel} zero_point {zero_point} is below lower bound.")
    if zero_point > highest:
        raise RuntimeError(f"{kernel} zero_point {zero_point} is above upper bound.")


def _per_tensor(input, scale, zero_point, dtype):
    kept = _check(input, dtype)
    _check_zero("quantize_tensor_per_tensor_affine", zero_point, kept)
    q = PerTensor(scale, zero_point)
    return _made(q.integers(input.detach(), kept), dtype, q)


@composite(
    "quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> Tensor",
    method=False,
    out=False,
)
def quantize_by_tensors(input, scale, zero_point, dtype):
    return _per_tensor(input, float(scale.item()), int(zero_point.item()), dtype)


@composite(
    "quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor", method=False, out=False
)
def quantize_per_tensor(input, scale, zero_point, dtype):
    return _per_tensor(input, float(scale), zero_point, dtype)


@composite(
    "quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) -> Tensor[]",
    out=False,
)
def quantize_tensors(tensors, scales, zero_points, dtype):
    return tuple(
        _per_tensor(t, float(s), int(z), dtype) for t, s, z in zip(tensors, scales.tolist(), zero_points.tolist())
    )


@composite(
    "quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor", method=False, out=False
)
def quantize_dynamic(input, dtype, reduce_range):
    if dtype is dt.float16:
        return input.to(dt.float16)
    kept = _check(input, dtype)
    scale, zero_point = (
        choose(*(float(x) for x in T.aminmax(input)), *LIMITS[kept], reduce_range) if input.numel() else (0.1, 0)
    )
    return _per_tensor(input, scale, zero_point, dtype)


@composite(
    "quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor",
    method=False,
    out=False,
)
def quantize_per_channel(input, scales, zero_points, axis, dtype):
    kept = _check(input, dtype)
    q = _channels(input._shape, scales, zero_points, axis)
    if not q.floating:
        for zero in q.zero_points.tolist():
            _check_zero("quantize_tensor_per_channel_affine", zero, kept)
    return _made(q.integers(input.detach(), kept), dtype, q)


def _channels(shape, scales, zero_points, axis):
    if len(scales._shape) != 1:
        raise RuntimeError("scale tensor must have dimension 1")
    if len(zero_points._shape) != 1:
        raise RuntimeError("zero_points tensor must have dimension 1")
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    if not 0 <= axis < len(shape):
        raise RuntimeError(
            f"Channel axis out of range in per channel affine quantization. Got: {axis}Expected: [0, {len(shape)})"
        )
    if shape[axis] != scales.numel():
        raise RuntimeError(f"length of scales must equal to channel, expected {shape[axis]} got, {scales.numel()}")
    return PerChannel(scales, zero_points, axis)


# ------------------------------------------------------------------------------------------------ from integers
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


@composite(
    f"_empty_affine_quantized(int[] size, *, {_OPTIONS}, float scale=1, int zero_point=0, "
    "MemoryFormat? memory_format=None) -> Tensor",
    out=False,
)
def empty_affine_quantized(size, dtype, layout, device, pin_memory, scale, zero_point, memory_format):
    return _made(
        T.empty(size, dtype=stored(dtype), device=device, **_format(memory_format)),
        dtype,
        PerTensor(float(scale), zero_point),
    )


_CHANNELS = "Tensor scales, Tensor zero_points, int axis"


@composite(
    f"_empty_per_channel_affine_quantized(int[] size, *, {_CHANNELS}, {_OPTIONS}, MemoryFormat? memory_format=None) "
    f"-> Tensor",
    out=False,
)
def empty_per_channel_affine_quantized(
    size, scales, zero_points, axis, dtype, layout, device, pin_memory, memory_format
):
    values = T.empty(size, dtype=stored(dtype), device=device, **_format(memory_format))
    return _made(values, dtype, _channels(values._shape, scales, zero_points, axis))


def _format(memory_format):
    return {} if memory_format is None else {"memory_format": memory_format}


@on_quantized("empty_quantized")
def empty_quantized(size, qtensor, **kwargs):
    return _made(
        T.empty(size, dtype=qtensor._v.dtype, device=qtensor.device, **_format(kwargs.get("memory_format"))),
        qtensor.dtype,
        qtensor._q,
    )


@composite(
    f"empty_quantized(int[] size, Tensor qtensor, *, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor", out=False
)
def _(size, qtensor, *options):
    raise could_not_run("empty_quantized", qtensor)


_QUANTIZED = {dt.uint8: dt.ALL["quint8"], dt.int8: dt.ALL["qint8"], dt.int32: dt.ALL["qint32"]}


@composite("_make_per_tensor_quantized_tensor(Tensor input, float scale, int zero_point) -> Tensor", out=False)
def make_per_tensor(input, scale, zero_point):
    return _made(
        input.clone(memory_format=suggested_format(input) or contiguous_format),
        _quantized_of(input),
        PerTensor(float(scale), zero_point),
    )


@composite(
    "_make_per_channel_quantized_tensor(Tensor input, Tensor scale, Tensor zero_point, int axis) -> Tensor", out=False
)
def make_per_channel(input, scale, zero_point, axis):
    return _made(input.contiguous().clone(), _quantized_of(input), _channels(input._shape, scale, zero_point, axis))


def _quantized_of(input):
    if input.dtype not in _QUANTIZED:
        raise RuntimeError(f"Quantized tensors are made from uint8, int8 and int32, got {input.dtype}")
    return _QUANTIZED[input.dtype]


# ------------------------------------------------------------------------------------------------ parts
def _part(name, get, per_channel=False):
    """Declare a function that returns a part of the quantizer; tensors that are not quantized have none."""

    @composite(f"{name}(Tensor self) -> Any", out=False, method=True)
    def of_strided(self):
        raise could_not_run(name, self)

    @on_quantized(name)
    def part(self):
        if per_channel and not isinstance(self._q, PerChannel):
            raise RuntimeError(_PER_CHANNEL)
        return get(self if per_channel or name == "int_repr" else self._q.checked())


_part("q_scale", lambda q: q.scale)
_part("q_zero_point", lambda q: q.zero_point)
_part("q_per_channel_scales", lambda self: self._q.scales.clone(), True)
_part("q_per_channel_zero_points", lambda self: self._q.zero_points.clone(), True)
_part("q_per_channel_axis", lambda self: self._q.axis, True)
_part("int_repr", lambda self: self._v.clone())


@composite("Tensor.qscheme(Tensor self) -> Any", out=False)
def qscheme(self):
    raise could_not_run("qscheme", self)


@on_quantized("qscheme")
def _of_quantized(self):
    return self._q.scheme


@on_quantized("dequantize")
def dequantize(self):
    if isinstance(self, (list, tuple)):
        return tuple(t.dequantize() for t in self)
    return self.dequantized()


composite("dequantize.tensors(Tensor[] tensors) -> Tensor[]", out=False, method=False)(
    lambda tensors: tuple(t.dequantize() for t in tensors)
)

__all__ = ["PerChannel", "PerTensor", "QuantizedTensor", "quantized"]
