"""Tensors in pieces: ShardedTensor, which distributed tensors have replaced."""

import torch

from ..metadata import ShardMetadata
from .api import ShardedTensor, ShardedTensorBase
from .metadata import ShardedTensorMetadata, TensorProperties
from .shard import Shard

__all__ = ["Shard", "ShardMetadata", "ShardedTensor", "ShardedTensorMetadata", "TensorProperties", "empty", "full", "init_from_local_shards", "ones"]
__all__ += ["rand", "randn", "zeros"]


def _filled(fill, sharding_spec, size, kwargs):
    made = ShardedTensor(sharding_spec, *size, **kwargs)
    with torch.no_grad():
        for shard in made.local_shards():
            fill(shard.tensor)
    return made


def empty(sharding_spec, *size, **kwargs):
    """Pieces that nobody has written."""
    return _filled(lambda t: t, sharding_spec, size, kwargs)


def ones(sharding_spec, *size, **kwargs):
    """Ones."""
    return full(sharding_spec, size, 1, **kwargs)


def zeros(sharding_spec, *size, **kwargs):
    """Zeros."""
    return full(sharding_spec, size, 0, **kwargs)


def full(sharding_spec, size, fill_value, **kwargs):
    """One number everywhere."""
    return _filled(lambda t: t.fill_(fill_value), sharding_spec, size, kwargs)


def rand(sharding_spec, *size, **kwargs):
    """Random numbers between 0 and 1, each rank's by its own generator."""
    return _filled(lambda t: t.uniform_(), sharding_spec, size, kwargs)


def randn(sharding_spec, *size, **kwargs):
    """Normal random numbers, each rank's by its own generator."""
    return _filled(lambda t: t.normal_(), sharding_spec, size, kwargs)


def init_from_local_shards(local_shards, *global_size, process_group=None, init_rrefs=False):
    """The tensor of all ranks' pieces."""
    return ShardedTensor._init_from_local_shards(local_shards, *global_size, process_group=process_group, init_rrefs=init_rrefs)
