"""Nested tensors of layout torch.strided (strided.py) and torch.jagged (jagged.py, functions.py).

make.py constructs both.
"""

from . import functions, make  # noqa: F401  (tables)
from .jagged import JaggedTensor
from .make import as_nested_tensor, masked_select, narrow, nested_tensor, nested_tensor_from_jagged, to_padded_tensor
from .strided import NestedTensor

__all__ = [
    "JaggedTensor",
    "NestedTensor",
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]
