"""Operators that are applied to the mask in the same way as to the data."""

import torch

from .core import OPERATORS, MaskedTensor, mapped, on

_NAMES = (
    "select transpose split t slice slice_backward select_backward index expand view _unsafe_view _reshape_alias cat "
    "unsqueeze unfold unfold_backward"
)
PASSTHROUGH_FNS = [getattr(torch.ops.aten, name) for name in f"{_NAMES} im2col col2im stack".split()]


def wrapped(data, mask):
    """Combine the results for the data with those for the mask into masked tensors."""
    return type(data)(map(wrapped, data, mask)) if isinstance(data, (list, tuple)) else MaskedTensor(data, mask)


@on(OPERATORS, *PASSTHROUGH_FNS)
def _pass(fn, *args, **kwargs):
    data, mask = (
        fn(*mapped(args, part), **mapped(kwargs, part)) for part in (MaskedTensor.get_data, MaskedTensor.get_mask)
    )
    return wrapped(data, mask)
