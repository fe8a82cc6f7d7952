"""Traversal of nested state dicts."""

from collections.abc import Mapping

import torch

__all__ = ["traverse_state_dict", "set_element", "get_element", "print_tensor"]


def _is_tensor(value):
    return isinstance(value, torch.Tensor)


def _is_leaf(value, keep_traversing):
    """Whether a value is visited as a whole.

    A list is, unless it has values for which ``keep_traversing`` is true, or mappings, at any depth.
    """
    if isinstance(value, Mapping):
        return False
    if not isinstance(value, list):
        return True
    return not any(
        keep_traversing(v) or isinstance(v, (Mapping, list)) and not _is_leaf(v, keep_traversing) for v in value
    )


def traverse_state_dict(state_dict, visitor, keep_traversing=_is_tensor):
    """Call ``visitor(path, value)`` for each leaf of a state dict.

    Mappings are always traversed; lists only if they contain mappings or values for which ``keep_traversing`` is true.
    """

    def walk(path, value):
        if isinstance(value, Mapping):
            for k, v in value.items():
                walk((*path, str(k)), v)
        elif _is_leaf(value, keep_traversing):
            visitor(path, value)
        else:
            for i, v in enumerate(value):
                walk((*path, i), v)

    walk((), state_dict)


def set_element(root_dict, path, value):
    """Set the value at a path, and create missing dicts and lists on the way."""
    at = root_dict
    for key, following in zip(path, path[1:]):
        new = [] if isinstance(following, int) else {}
        if isinstance(at, list):
            at.extend([None] * (key + 1 - len(at)))
            if at[key] is None:
                at[key] = new
        else:
            at.setdefault(key, new)
        at = at[key]
    if isinstance(at, list):
        at.extend([None] * (path[-1] + 1 - len(at)))
    at[path[-1]] = value


def get_element(root_dict, path, default_value=None):
    """Return the value at a path, or the default."""
    at = root_dict
    for key in path:
        there = (
            isinstance(at, list) and key < len(at) if isinstance(key, int) else isinstance(at, Mapping) and key in at
        )
        if not there:
            return default_value
        at = at[key]
    return at


def print_tensor(path, value, print_fun=print):
    """Print tensors with their sizes and other values with their types, as a visitor."""
    from .._shard.sharded_tensor import ShardedTensor
    from ..tensor import DTensor

    if isinstance(value, ShardedTensor):
        print_fun(f"{path} ShardedTensor size: {value.size()}")
        for shard in value.local_shards():
            print_tensor(f"{shard.metadata.shard_offsets} ", shard.tensor, print_fun)
    elif isinstance(value, DTensor):
        print_fun(f"{path} DistributedTensor size: {value.size()}")
        print_tensor("", value._local_tensor, print_fun)
    elif isinstance(value, torch.Tensor):
        print_fun(f"{path} Tensor size: {value.size()}")
    else:
        print_fun(f"{path} Type: {type(value)}")
