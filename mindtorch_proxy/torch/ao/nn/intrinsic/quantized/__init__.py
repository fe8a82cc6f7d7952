"""torch.ao.nn.intrinsic.quantized: layers of integers with ReLU."""

from torch.ao.nn.quantized import ConvReLU1d, ConvReLU2d, ConvReLU3d, LinearReLU

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]
