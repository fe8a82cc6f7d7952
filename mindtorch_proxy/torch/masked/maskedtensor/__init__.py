"""torch.masked.maskedtensor: tensors whose elements may be masked out.

`core` defines the class; the other modules define its operators.
"""

from . import binary, operators, passthrough, reductions, unary  # noqa: F401  (each enters its operators in core's tables)
from .core import MaskedTensor, is_masked_tensor
from .creation import as_masked_tensor, masked_tensor

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]
