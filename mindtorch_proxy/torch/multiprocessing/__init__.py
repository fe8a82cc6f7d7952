"""Python's multiprocessing with support for tensors: their memory is shared with the process that receives them."""

import multiprocessing
from multiprocessing import *  # noqa: F403

import torch

from . import reductions
from .spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,  # noqa: F401
    spawn,
    start_processes,
)

__all__ = ["set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies", "spawn", "start_processes"]
__all__ += multiprocessing.__all__
reductions.init_reductions()


def get_all_sharing_strategies():
    """Return the names of PyTorch's strategies to share tensors.

    Both do the same here: they send the file descriptor of anonymous memory, so that no file can be left behind.
    """
    return {"file_descriptor", "file_system"}


def _set_thread_name(name):
    """Set the name of the current thread in the operating system; it is cut to 15 bytes."""
    torch._C._set_thread_name(name)


def _get_thread_name():
    """Return the name of the current thread in the operating system."""
    return torch._C._get_thread_name()


_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Set the sharing strategy by name."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
    _strategy = new_strategy


def get_sharing_strategy():
    """Return the name of the sharing strategy."""
    return _strategy
