"""Functions that create plain tensors internally, which must be treated as replicated or local.

Each one gets the DTensor class and the function that it replaces.
"""

import torch
import torch.nn.functional as F

from ._call import STATE
from ._spec import contiguous_strides
from .placement_types import Replicate


def _with_whole_masks(func, *args, **kwargs):
    """Call a function that creates a mask; the mask is the same on all ranks, so treat it as replicated."""
    held, STATE.replicate_plain = STATE.replicate_plain, True
    try:
        return func(*args, **kwargs)
    finally:
        STATE.replicate_plain = held


def _attention(DTensor, func, query, key, value, attn_mask=None, *args, **kwargs):
    """Compute attention locally if query, key and value are sharded alike on batch or heads only."""
    three = query, key, value = [_added_up(t) if isinstance(t, DTensor) else t for t in (query, key, value)]
    if attn_mask is None and all(isinstance(t, DTensor) for t in three) and _alike(three):
        local = func(*(t.to_local() for t in three), None, *args, **kwargs)
        shape = torch.Size((*query.shape[:-1], value.shape[-1]))
        return DTensor.from_local(
            local, query.device_mesh, query.placements, shape=shape, stride=contiguous_strides(shape)
        )
    return _with_whole_masks(func, query, key, value, attn_mask, *args, **kwargs)


def _added_up(t):
    """Replace Partial placements by Replicate."""
    return (
        t.redistribute(placements=[Replicate() if p.is_partial() else p for p in t.placements])
        if any(p.is_partial() for p in t.placements)
        else t
    )


def _alike(tensors):
    first = tensors[0]
    allowed = all(p.is_replicate() or p.is_shard(0) or p.is_shard(1) and first.ndim == 4 for p in first.placements)
    even = all(
        t.shape[p.dim] % t.device_mesh.size(i) == 0 for t in tensors for i, p in enumerate(t.placements) if p.is_shard()
    )
    return allowed and all(t.placements == first.placements and t.ndim == first.ndim for t in tensors) and even


def _dropout(DTensor, func, input, p=0.5, training=True, inplace=False):
    """Apply dropout with local random numbers on each rank, as PyTorch does on CPUs."""
    if not training or p == 0:
        return input
    input = _added_up(input)
    with torch.no_grad():
        noise = F.dropout(torch.ones_like(input._local_tensor), p, True)
    out = input * DTensor(noise, input._spec)
    return input.copy_(out) if inplace else out


FUNCTIONS = {F.scaled_dot_product_attention: _attention, F.dropout: _dropout, torch.dropout: _dropout}
