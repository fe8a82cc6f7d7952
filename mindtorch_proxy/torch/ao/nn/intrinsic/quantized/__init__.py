"""torch.ao.nn.intrinsic.quantized: quantized layers followed by ReLU."""

from torch.ao.nn.quantized import ConvReLU1d, ConvReLU2d, ConvReLU3d, LinearReLU

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]
