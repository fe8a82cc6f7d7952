"""Helpers of the transforms."""

import contextlib

import torch

__all__ = ["argnums_t", "enable_single_level_autograd_function", "exposed_in", "unwrap_dead_wrappers"]
argnums_t = int | tuple[int, ...]


def argument(args, kwargs, position, name, default=None):
    """Return an argument given by position or by name."""
    return args[position] if len(args) > position else kwargs.get(name, default)


def exposed_in(module):
    """Return a decorator that sets a function's ``__module__``."""

    def wrapper(fn):
        fn.__module__ = module
        return fn

    return wrapper


def enable_single_level_autograd_function():
    """Context manager that allows custom functions on the tensors of one level.

    It does nothing, because gradient transforms do not wrap tensors.
    """
    return contextlib.nullcontext()


def unwrap_dead_wrappers(args):
    """Unwrap arguments whose transforms have ended."""
    return tuple(
        torch.func.debug_unwrap(a)
        if isinstance(a, torch.Tensor) and torch._C._functorch.maybe_get_level(a) > _depth()
        else a
        for a in args
    )


def _depth():
    return torch._C._functorch.maybe_current_level() or 0
