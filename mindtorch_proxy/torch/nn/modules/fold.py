"""Sliding blocks of images."""

from .. import functional as F
from .utils import _layer

__all__ = ["Fold", "Unfold"]

Fold = _layer(
    "Fold(output_size, kernel_size, dilation=1, padding=0, stride=1)",
    lambda self, input: F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride),
    "output_size=, kernel_size=, dilation=, padding=, stride=",
)
Unfold = _layer(
    "Unfold(kernel_size, dilation=1, padding=0, stride=1)",
    lambda self, input: F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride),
    "kernel_size=, dilation=, padding=, stride=",
)
