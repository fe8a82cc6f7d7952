"""torch.ao.nn.intrinsic.qat: layers with ReLU and fake-quantized weights, for quantization aware training."""

import torch
from torch.ao.nn import qat

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]


class _ReLU:
    def forward(self, input):
        return torch.nn.functional.relu(super().forward(input))


class LinearReLU(_ReLU, qat.Linear):
    """Linear with a fake-quantized weight, followed by ReLU."""


class ConvReLU1d(_ReLU, qat.Conv1d):
    """Conv1d with a fake-quantized weight, followed by ReLU."""


class ConvReLU2d(_ReLU, qat.Conv2d):
    """Conv2d with a fake-quantized weight, followed by ReLU."""


class ConvReLU3d(_ReLU, qat.Conv3d):
    """Conv3d with a fake-quantized weight, followed by ReLU."""
