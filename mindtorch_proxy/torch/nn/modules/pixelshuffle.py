"""Moving channels to pixels and back."""

from .. import functional as F
from .utils import _layer

__all__ = ["PixelShuffle", "PixelUnshuffle"]

PixelShuffle = _layer("PixelShuffle(upscale_factor)", lambda self, input: F.pixel_shuffle(input, self.upscale_factor), "upscale_factor=")
PixelUnshuffle = _layer("PixelUnshuffle(downscale_factor)", lambda self, input: F.pixel_unshuffle(input, self.downscale_factor), "downscale_factor=")
