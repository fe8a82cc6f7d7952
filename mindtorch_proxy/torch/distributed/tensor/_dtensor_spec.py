"""DTensorSpec and TensorMeta under the names that PyTorch has them by."""

from ._spec import DTensorSpec, TensorMeta

__all__ = ["DTensorSpec", "TensorMeta"]
