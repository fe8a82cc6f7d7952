"""The kinds of quantization."""

import enum

__all__ = ["QuantType"]


class QuantType(enum.IntEnum):
    """When tensors are quantized: at each call, in advance, in training, or only the weights."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


def _get_quant_type_to_str(quant_type):
    return quant_type.name.lower()


def _quant_type_from_str(name):
    if name not in (said := {_get_quant_type_to_str(kind): kind for kind in QuantType}):
        raise ValueError(f"Unknown QuantType name '{name}'")
    return said[name]
