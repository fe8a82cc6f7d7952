"""ShardedTensor, the predecessor of DTensor."""

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
    """Return a sharded tensor with uninitialized shards."""
    return _filled(lambda t: t, sharding_spec, size, kwargs)


def ones(sharding_spec, *size, **kwargs):
    """Return a sharded tensor filled with ones."""
    return full(sharding_spec, size, 1, **kwargs)


def zeros(sharding_spec, *size, **kwargs):
    """Return a sharded tensor filled with zeros."""
    return full(sharding_spec, size, 0, **kwargs)


def full(sharding_spec, size, fill_value, **kwargs):
    """Return a sharded tensor filled with one value."""
    return _filled(lambda t: t.fill_(fill_value), sharding_spec, size, kwargs)


def rand(sharding_spec, *size, **kwargs):
    """Return a sharded tensor of uniform random numbers in [0, 1). Each rank uses its own generator."""
    return _filled(lambda t: t.uniform_(), sharding_spec, size, kwargs)


def randn(sharding_spec, *size, **kwargs):
    """Return a sharded tensor of normal random numbers. Each rank uses its own generator."""
    return _filled(lambda t: t.normal_(), sharding_spec, size, kwargs)


def init_from_local_shards(local_shards, *global_size, process_group=None, init_rrefs=False):
    """Return the sharded tensor made of the local shards of all ranks."""
    return ShardedTensor._init_from_local_shards(
        local_shards, *global_size, process_group=process_group, init_rrefs=init_rrefs
    )


def _places(module, prefix):
    """Yield (state dict key, submodule, name) for all attributes of a module and its submodules."""
    for path, inner in module.named_modules():
        whole = prefix + path
        for name in list(inner.__dict__):
            yield f"{whole}.{name}" if whole else name, inner, name


def state_dict_hook(module, destination, prefix, local_metadata):
    """Add attributes that are ShardedTensors to the state dict.

    For use with Module._register_state_dict_hook.
    """
    for key, inner, name in _places(module, prefix):
        if isinstance(inner.__dict__[name], ShardedTensor):
            destination[key] = inner.__dict__[name]


def pre_load_state_dict_hook(
    module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
):
    """Set attributes from the ShardedTensors of a state dict.

    For use with Module._register_load_state_dict_pre_hook.
    """
    for key, inner, name in _places(module, prefix):
        if isinstance(state_dict.get(key), ShardedTensor):
            setattr(inner, name, state_dict[key])
