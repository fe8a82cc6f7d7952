"""Padding layers."""

from .. import functional as F
from .module import Module
from .utils import _family, _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """F.pad with this class's mode; a padding of one number is for both sides of all `_n` dimensions."""

    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._n)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input):
        n = self._n
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        return super().forward(input)


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


CircularPad1d, CircularPad2d, CircularPad3d = _family("CircularPad", _CircularPadNd, "Pads {} dimensions, wrapping around.")
ConstantPad1d, ConstantPad2d, ConstantPad3d = _family("ConstantPad", _ConstantPadNd, "Pads {} dimensions with one value.")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _family("ReflectionPad", _ReflectionPadNd, "Pads {} dimensions by reflection.")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _family("ReplicationPad", _ReplicationPadNd, "Pads {} dimensions with the values at the edges.")
ZeroPad1d, ZeroPad2d, ZeroPad3d = _family("ZeroPad", _ZeroPadNd, "Pads {} dimensions with zeros.", (ConstantPad1d, ConstantPad2d, ConstantPad3d))
