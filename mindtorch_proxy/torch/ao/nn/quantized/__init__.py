"""torch.ao.nn.quantized: quantized modules."""

from importlib import import_module as _import_module

from torch.nn import MaxPool2d  # PyTorch also exports the floating point module under this name

from ._functional import FloatFunctional, QFunctional
from ._layers import (
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvReLU1d,
    ConvReLU2d,
    ConvReLU3d,
    DeQuantize,
    Linear,
    LinearReLU,
    Quantize,
)  # noqa: F401

__all__ = [
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "DeQuantize",
    "FloatFunctional",
    "Linear",
    "MaxPool2d",
    "QFunctional",
    "Quantize",
]


def __getattr__(name):
    if name in ("dynamic", "functional"):
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
