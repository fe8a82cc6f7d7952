"""Functions that create masked tensors.

masked_tensor creates a leaf, like torch.tensor; as_masked_tensor is differentiable, like torch.as_tensor.
"""

from .core import MaskedTensor


def masked_tensor(data, mask, requires_grad=False):
    """Create a leaf from copies of data and mask."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask):
    """Create a masked tensor through which gradients flow to `data`."""
    return MaskedTensor._from_values(data, mask)


__all__ = ["as_masked_tensor", "masked_tensor"]
