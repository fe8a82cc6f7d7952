"""Quantized tensors: integers under a class of their own (tensors.py), how numbers become integers and back
(values.py), what functions do with them.
"""

from . import functions, make  # noqa: F401  (declarations)
from .make import quantized
from .tensors import QuantizedTensor
from .values import STORED, PerChannel, PerTensor

__all__ = ["STORED", "PerChannel", "PerTensor", "QuantizedTensor", "quantized"]
