"""ONNX functions of what onnxscript's torch_lib leaves to PyTorch: numbers that stand for sizes, and branches."""

import onnx_ir as ir
import torch
from onnxscript.onnx_opset import opset18 as op


def sym_float(x):
    """Return a size as a floating-point number."""
    return op.Cast(x, to=ir.DataType.FLOAT)


def sym_not(x):
    """Return the opposite of a condition."""
    return op.Not(x)


def sym_max(a, b):
    """Return the greater of two numbers."""
    return op.Max(a, b)


def sym_min(a, b):
    """Return the lesser of two numbers."""
    return op.Min(a, b)


def sym_sum(numbers):
    """Return the sum of numbers."""
    total = numbers[0]
    for number in numbers[1:]:
        total = op.Add(total, number)
    return total


def sym_ite(condition, a, b):
    """Return one of two numbers."""
    return op.Where(condition, a, b)


FUNCTIONS = {
    getattr(torch, f.__name__): f
    for f in (sym_float, sym_not, sym_max, sym_min, sym_sum, sym_ite)
    if hasattr(torch, f.__name__)
}
