"""Helpers shared by layers."""

import torch

from .._arguments import (
    _list_with_default,
    _ntuple,
    _pair,
    _parse_to,
    _quadruple,
    _reverse_repeat_tuple,
    _single,
    _triple,
)  # noqa: F401  their public place
from ..parameter import Parameter

__all__ = ["consume_prefix_in_state_dict_if_present"]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Remove the prefix from the keys of state_dict and of its metadata, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)


def _optional_parameters(module, kwargs, **shapes):
    """Register an uninitialized parameter for each shape, or None where the shape is None."""
    for name, shape in shapes.items():
        module.register_parameter(name, None if shape is None else Parameter(torch.empty(shape, **kwargs)))
