"""Padding layers.

A padding is one number for all sides, or two numbers for each dimension, starting with the last dimension.
"""

from collections.abc import Sequence

from torch import Tensor

from .. import functional as F
from ..common_types import _size_2_t, _size_4_t, _size_6_t
from .module import Module
from .utils import _ntuple, _pair, _quadruple

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

_sextuple = _ntuple(6, "_sextuple")


def _check_dims(input, n):
    """Raise ValueError unless the input has n dimensions and a channel dimension, with or without a batch."""
    if input.dim() not in (n + 1, n + 2):
        raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")


class _PadNd(Module):
    """Base of the layers whose only argument is the padding."""

    __constants__ = ["padding"]
    padding: Sequence[int]

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    def _check_input_dim(self, input):
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Pad an input (N, C, W) or (C, W) with values from the opposite end."""

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)

    def _check_input_dim(self, input):
        _check_dims(input, 1)


class CircularPad2d(_CircularPadNd):
    """Pad an input (N, C, H, W) or (C, H, W) with values from the opposite ends."""

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)

    def _check_input_dim(self, input):
        _check_dims(input, 2)


class CircularPad3d(_CircularPadNd):
    """Pad an input (N, C, D, H, W) or (C, D, H, W) with values from the opposite ends."""

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)

    def _check_input_dim(self, input):
        _check_dims(input, 3)


class _ConstantPadNd(Module):
    __constants__ = ["padding", "value"]
    padding: Sequence[int]

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pad an input (N, C, W) or (C, W) with a constant value."""

    def __init__(self, padding: _size_2_t, value: float) -> None:
        super().__init__(value)
        self.padding = _pair(padding)


class ConstantPad2d(_ConstantPadNd):
    """Pad an input (N, C, H, W) or (C, H, W) with a constant value."""

    def __init__(self, padding: _size_4_t, value: float) -> None:
        super().__init__(value)
        self.padding = _quadruple(padding)


class ConstantPad3d(_ConstantPadNd):
    """Pad an input (N, C, D, H, W) or (C, D, H, W) with a constant value."""

    def __init__(self, padding: _size_6_t, value: float) -> None:
        super().__init__(value)
        self.padding = _sextuple(padding)


class _ReflectionPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReflectionPad1d(_ReflectionPadNd):
    """Pad an input (N, C, W) or (C, W) with its mirror image, without repeating the edge value."""

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReflectionPad2d(_ReflectionPadNd):
    """Pad an input (N, C, H, W) or (C, H, W) with its mirror images, without repeating the edge values."""

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReflectionPad3d(_ReflectionPadNd):
    """Pad an input (N, C, D, H, W) or (C, D, H, W) with its mirror images, without repeating the edge values."""

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ReplicationPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ReplicationPad1d(_ReplicationPadNd):
    """Pad an input (N, C, W) or (C, W) with its edge values."""

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReplicationPad2d(_ReplicationPadNd):
    """Pad an input (N, C, H, W) or (C, H, W) with its edge values."""

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReplicationPad3d(_ReplicationPadNd):
    """Pad an input (N, C, D, H, W) or (C, D, H, W) with its edge values."""

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class ZeroPad1d(ConstantPad1d):
    """Pad an input (N, C, W) or (C, W) with zeros."""

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pad an input (N, C, H, W) or (C, H, W) with zeros."""

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pad an input (N, C, D, H, W) or (C, D, H, W) with zeros."""

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
