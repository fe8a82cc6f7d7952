"""Matrices in which two of four elements are zero, as NVIDIA's tensor cores use them; not supported.

The classes exist so that isinstance checks work, but no instance can be created.
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
    """Base of the semi-structured tensors; creating one raises NotImplementedError."""

    def __new__(cls, *args, **kwargs):
        raise _refused(cls.__name__)

    @classmethod
    def from_dense(cls, original_tensor):
        """Raise NotImplementedError."""
        raise _refused(cls.__name__, original_tensor)


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """The tensor for CUTLASS; creating one raises NotImplementedError."""


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """The tensor for cuSPARSELt; creating one raises NotImplementedError."""


def to_sparse_semi_structured(original_tensor, transposed=False):
    """Raise NotImplementedError."""
    raise _refused("to_sparse_semi_structured", original_tensor)
