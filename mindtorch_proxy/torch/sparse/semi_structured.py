"""Matrices of which two in four elements are zero, as the units for matrices of NVIDIA's GPUs compute with them: known,
and not supported.

The classes are here so that programs can ask whether a tensor is of one; none can be made.
"""

import torch

__all__ = [
    "SparseSemiStructuredTensor",
    "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS",
    "to_sparse_semi_structured",
]


def _refused(name, tensor=None):
    what = f"{tensor.dtype}, {tensor.device}" if isinstance(tensor, torch.Tensor) else "any dtype, any device"
    return NotImplementedError(f"torch.sparse.{name}: semi-structured sparse tensors ({what}) are not supported")


class SparseSemiStructuredTensor(torch.Tensor):
    """The base of both. Raises NotImplementedError when it is made."""

    def __new__(cls, *args, **kwargs):
        raise _refused(cls.__name__)

    @classmethod
    def from_dense(cls, original_tensor):
        """Raises NotImplementedError."""
        raise _refused(cls.__name__, original_tensor)


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """By CUTLASS. Raises NotImplementedError when it is made."""


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """By cuSPARSELt. Raises NotImplementedError when it is made."""


def to_sparse_semi_structured(original_tensor, transposed=False):
    """Raises NotImplementedError."""
    raise _refused("to_sparse_semi_structured", original_tensor)
