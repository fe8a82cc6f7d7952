"""The two makers of masked tensors: a leaf, as torch.tensor makes one, and a differentiable one, as torch.as_tensor
does.
"""

from .core import MaskedTensor


def masked_tensor(data, mask, requires_grad=False):
    """A leaf over copies of data and mask."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask):
    """A masked tensor whose gradient reaches `data`."""
    return MaskedTensor._from_values(data, mask)


__all__ = ["as_masked_tensor", "masked_tensor"]
