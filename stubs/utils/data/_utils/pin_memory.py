"""Pinned memory: host memory from which an accelerator can copy by itself."""

import torch

from .collate import _like_mapping, _like_sequence


def pin_memory(data, device=None):
    """The tensors in ``data`` (and objects with a method pin_memory) in pinned memory."""
    if isinstance(data, torch.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, dict):
        return _like_mapping(data, {k: pin_memory(v, device) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(v, device) for v in data))
    if isinstance(data, (list, tuple)):
        return _like_sequence(data, [pin_memory(v, device) for v in data])
    return data
