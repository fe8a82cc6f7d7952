"""Finds the tensor blocks and objects that an index refers to."""

import torch

from ._pieces import block_of
from .api import CheckpointException  # noqa: F401

__all__ = ["find_tensor_shard", "find_state_dict_object"]


def find_tensor_shard(tensor, index):
    """Return this rank's block of a tensor at the offset given by an index."""
    return block_of(tensor, index)


def find_state_dict_object(state_dict, index):
    """Return the tensor block or object that an index refers to."""
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    value = state_dict[index.fqn]
    if isinstance(value, torch.Tensor):
        return block_of(value, index)
    if index.offset is not None:
        raise ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'")
    return value
