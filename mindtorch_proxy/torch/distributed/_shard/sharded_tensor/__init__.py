"""Tensors in pieces: ShardedTensor, which distributed tensors have replaced."""

import torch

from ..metadata import ShardMetadata
from .api import ShardedTensor, ShardedTensorBase
from .metadata import ShardedTensorMetadata, TensorProperties
from .shard import Shard

__all__ = [
    "Shard",
    "ShardMetadata",
    "ShardedTensor",
    "ShardedTensorMetadata",
    "TensorProperties",
    "empty",
    "full",
    "init_from_local_shards",
    "ones",
]
__all__ += ["pre_load_state_dict_hook", "rand", "randn", "state_dict_hook", "zeros"]


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
    return ShardedTensor._init_from_local_shards(
        local_shards, *global_size, process_group=process_group, init_rrefs=init_rrefs
    )


def _places(module, prefix):
    """(key in a state dict, submodule, name) of the attributes of a module and of those in it."""
    for path, inner in module.named_modules():
        whole = prefix + path
        for name in list(inner.__dict__):
            yield f"{whole}.{name}" if whole else name, inner, name


def state_dict_hook(module, destination, prefix, local_metadata):
    """For Module._register_state_dict_hook: attributes that are ShardedTensors stand in the state dict."""
    for key, inner, name in _places(module, prefix):
        if isinstance(inner.__dict__[name], ShardedTensor):
            destination[key] = inner.__dict__[name]


def pre_load_state_dict_hook(
    module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
):
    """For Module._register_load_state_dict_pre_hook: ShardedTensors of the state dict become attributes."""
    for key, inner, name in _places(module, prefix):
        if isinstance(state_dict.get(key), ShardedTensor):
            setattr(inner, name, state_dict[key])
