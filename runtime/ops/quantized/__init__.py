"""Quantized tensors: the tensor class (tensors.py), quantization and dequantization (values.py), functions."""

from . import functions, make  # noqa: F401  (declarations)
from .make import quantized
from .tensors import QuantizedTensor
from .values import STORED, PerChannel, PerTensor

__all__ = ["STORED", "PerChannel", "PerTensor", "QuantizedTensor", "quantized"]
