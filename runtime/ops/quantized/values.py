"""Conversion between numbers and the integers of a quantized tensor, and the choice of scale and zero point."""

import math
import struct

from ...device import QSCHEMES
from ..common import T, dt

STORED = {dt.ALL["quint8"]: dt.uint8, dt.ALL["qint8"]: dt.int8, dt.ALL["qint32"]: dt.int32}
LIMITS = {dt.uint8: (0, 255), dt.int8: (-128, 127), dt.int32: (-(2**31), 2**31 - 1)}
_ONLY_PER_TENSOR = (
    "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.  (Could this error message be "
    "improved?  If so, please report an enhancement request to PyTorch.)"
)


def to_float32(x):
    """Round a number to float32, the precision in which scales are multiplied."""
    return struct.unpack("f", struct.pack("f", x))[0]


def rounded(x, inverse, zero_point, stored):
    """Return the integers for numbers: x / scale + zero_point, rounded half to even and clamped to the type's limits.

    For 8 bits PyTorch adds the zero point to the exact product, in one step, and only then rounds to float32.
    """
    lowest, highest = LIMITS[stored]
    if stored is dt.int32:
        return T.round(x * inverse + zero_point).to(dt.float64).clamp(lowest, highest).to(stored)
    return T.round((x.to(dt.float64) * inverse + zero_point).to(dt.float32)).clamp(lowest, highest).to(stored)


class PerTensor:
    """Quantizer with one scale and zero point for all elements."""

    scheme = QSCHEMES["per_tensor_affine"]

    def __init__(self, scale, zero_point):
        self.scale, self.zero_point = scale, zero_point

    def integers(self, x, stored):
        return rounded(x, to_float32(1 / to_float32(self.scale)), float(self.zero_point), stored)

    def numbers(self, v):
        return (v.to(dt.int32) - self.zero_point).to(dt.float32) * to_float32(self.scale)

    def spoken(self):
        """Return what repr() shows of the quantizer."""
        return f"scale={self.scale}", f"zero_point={self.zero_point}"

    def saved(self):
        return self.scheme, self.scale, self.zero_point

    def same(self, other):
        return isinstance(other, PerTensor) and (self.scale, self.zero_point) == (other.scale, other.zero_point)

    def checked(self):
        return self

    def of(self, shape):
        return self


class PerChannel:
    """Quantizer with a scale and a zero point for each index of one dimension; zero points may be floats."""

    def __init__(self, scales, zero_points, axis, floating=None):
        self.floating = zero_points.dtype.is_floating_point if floating is None else floating
        wanted = (dt.float32, dt.float32) if self.floating else (dt.float64, dt.int64)
        self.scales, self.zero_points = (t.detach().reshape(-1).to(d) for t, d in zip((scales, zero_points), wanted))
        self.axis = axis
        self.scheme = QSCHEMES["per_channel_affine_float_qparams" if self.floating else "per_channel_affine"]

    def _spread(self, t, ndim):
        return t.reshape([-1 if i == self.axis else 1 for i in range(ndim)])

    def integers(self, x, stored):
        n = len(x._shape)
        inverse, zero = (
            self._spread(1 / self.scales.to(dt.float32), n),
            self._spread(self.zero_points, n).to(dt.float32),
        )
        if self.floating:
            return T.round(x * inverse + zero).clamp(*LIMITS[stored]).to(stored)
        return rounded(x, inverse, zero, stored)

    def numbers(self, v):
        n = len(v._shape)
        if not 0 <= self.axis < n:
            raise RuntimeError(
                f"Channel axis out of range in per channel affine dequantization. Got:{self.axis} Expected: [0, {n})"
            )
        v = v.to(dt.float32 if self.floating else dt.float64)
        return ((v - self._spread(self.zero_points, n)) * self._spread(self.scales, n)).to(dt.float32)

    def spoken(self):
        return f"scale={self.scales}", f"zero_point={self.zero_points}", f"axis={self.axis}"

    def saved(self):
        return self.scheme, self.scales, self.zero_points, self.axis

    def same(self, other):
        same = isinstance(other, PerChannel) and self.axis == other.axis and self.floating == other.floating
        return same and self.scales.equal(other.scales) and self.zero_points.equal(other.zero_points)

    def checked(self):
        raise RuntimeError(_ONLY_PER_TENSOR)

    def of(self, shape):
        """Return the quantizer for a tensor of this shape, or raise PyTorch's error."""
        if self.axis < len(shape) and shape[self.axis] != self.scales._shape[0]:
            raise RuntimeError(
                f"length of scales must equal to channel, expected {shape[self.axis]} got, {self.scales._shape[0]}"
            )
        return self

    def at(self, index):
        """Return the quantizer of one channel."""
        return PerTensor(float(self.scales[index].item()), int(self.zero_points[index].item()))

    def among(self, channels):
        """Return the quantizer of these channels. As in PyTorch, that of a single channel is per tensor."""
        if len(channels) == 1:
            return self.at(channels[0])
        kept = slice(channels.start, channels.stop, channels.step)
        return PerChannel(self.scales[kept], self.zero_points[kept], self.axis, self.floating)

    def moved(self, axis):
        return PerChannel(self.scales, self.zero_points, axis, self.floating)


def choose(lowest, highest, qmin, qmax, reduce_range=False):
    """Return (scale, zero point) such that zero and both limits of the data are in the range of the quantized type."""
    if reduce_range:
        qmin, qmax = int(qmin / 2), int(qmax / 2)
    lowest, highest = min(lowest, 0.0), max(highest, 0.0)
    scale = (highest - lowest) / (qmax - qmin)
    if to_float32(scale) == 0.0 or math.isinf(to_float32(1.0 / to_float32(scale))):
        scale = 0.1
    smallest = 6.1e-5  # a smaller scale has no inverse in half precision
    if scale < smallest:
        scale, before = smallest, scale
        if lowest == 0.0:
            highest = smallest * (qmax - qmin)
        elif highest == 0.0:
            lowest = -smallest * (qmax - qmin)
        else:
            lowest, highest = lowest * smallest / before, highest * smallest / before
    from_lowest, from_highest = qmin - lowest / scale, qmax - highest / scale
    error_lowest, error_highest = abs(qmin) + abs(lowest / scale), abs(qmax) + abs(highest / scale)
    zero = from_lowest if error_lowest < error_highest else from_highest
    return scale, qmin if zero < qmin else qmax if zero > qmax else round(zero)
