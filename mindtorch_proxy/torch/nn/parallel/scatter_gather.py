"""Splitting nested arguments over devices, and joining nested results."""

import torch

from . import comm

__all__ = ["scatter", "scatter_kwargs", "gather"]


def is_namedtuple(obj):
    """Whether the object is an instance of a class created by namedtuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


_is_namedtuple = is_namedtuple


def scatter(inputs, target_gpus, dim=0):
    """Return the same structure for each device: tensors are split along `dim`, other objects are shared."""
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
    """Scatter positional and keyword arguments, and pad both results to the same length."""
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    n = max(len(args), len(named))
    return tuple([*args, *[()] * (n - len(args))]), tuple([*named, *[{}] * (n - len(named))])


def gather(outputs, target_device, dim=0):
    """Join the results of all devices into one nested structure on target_device.

    Tensors are concatenated along `dim`, and 0-D tensors into a vector. Tensors on the CPU raise AssertionError.
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
