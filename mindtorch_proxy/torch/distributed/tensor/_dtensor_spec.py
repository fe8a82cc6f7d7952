"""PyTorch's import path of DTensorSpec and TensorMeta."""

from ._spec import DTensorSpec, TensorMeta

__all__ = ["DTensorSpec", "TensorMeta"]
