"""Nested arguments split over devices, and nested results put together again."""

import torch

from . import comm

__all__ = ["scatter", "scatter_kwargs", "gather"]


def is_namedtuple(obj):
    """Whether an object is of a class that namedtuple made."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


_is_namedtuple = is_namedtuple


def scatter(inputs, target_gpus, dim=0):
    """For each device the same structure: tensors in pieces along dim, everything else as it is."""
    n = len(target_gpus)

    def split(obj):
        if isinstance(obj, torch.Tensor):
            return comm.scatter(obj, target_gpus, dim=dim)
        if is_namedtuple(obj):
            return [type(obj)(*parts) for parts in zip(*map(split, obj))]
        if isinstance(obj, (tuple, list)) and obj:
            return [type(obj)(parts) if isinstance(obj, tuple) else list(parts) for parts in zip(*map(split, obj))]
        if isinstance(obj, dict) and obj:
            return [type(obj)(parts) for parts in zip(*map(split, obj.items()))]
        return [obj] * n

    return split(inputs)


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """scatter of positional and of named arguments: as many of the one as of the other."""
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    n = max(len(args), len(named))
    return tuple([*args, *[()] * (n - len(args))]), tuple([*named, *[{}] * (n - len(named))])


def gather(outputs, target_device, dim=0):
    """The devices' results as one: tensors one after the other along dim, numbers as a tensor of them, in their
    structure.
    """

    def join(parts):
        first = parts[0]
        if isinstance(first, torch.Tensor):
            if any(t.device.type == "cpu" for t in parts):
                raise AssertionError("Gather function not implemented for CPU tensors")
            parts = [t.reshape(1) for t in parts] if first.dim() == 0 else parts
            return comm.gather(parts, dim, target_device)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(part) != len(first) for part in parts):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((k, join([part[k] for part in parts])) for k in first)
        if is_namedtuple(first):
            return type(first)._make(map(join, zip(*parts)))
        return type(first)(map(join, zip(*parts)))

    return join(outputs)
