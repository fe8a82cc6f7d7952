"""Helpers of the transforms."""

import contextlib

import torch

__all__ = ["argnums_t", "enable_single_level_autograd_function", "exposed_in", "unwrap_dead_wrappers"]
argnums_t = int | tuple[int, ...]


def argument(args, kwargs, position, name, default=None):
    """An argument that a call gives by place or by name."""
    return args[position] if len(args) > position else kwargs.get(name, default)


def exposed_in(module):
    """A decorator: the function says that it is of another module."""

    def wrapper(fn):
        fn.__module__ = module
        return fn

    return wrapper


def enable_single_level_autograd_function():
    """Inside, a custom function may be applied to one level's tensors alone.

    All are, since transforms of gradients wrap nothing.
    """
    return contextlib.nullcontext()


def unwrap_dead_wrappers(args):
    """Arguments without wrappers of transforms that have ended."""
    return tuple(
        torch.func.debug_unwrap(a)
        if isinstance(a, torch.Tensor) and torch._C._functorch.maybe_get_level(a) > _depth()
        else a
        for a in args
    )


def _depth():
    return torch._C._functorch.maybe_current_level() or 0
