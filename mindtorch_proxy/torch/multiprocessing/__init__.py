"""Python's multiprocessing with tensors: the memory of one that goes to another process is shared with it."""

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
    """The ways to hand over a tensor, by PyTorch's names.

    Here both send the file descriptor of memory without a name, which nothing can leave behind.
    """
    return {"file_descriptor", "file_system"}


def _set_thread_name(name):
    """Name the thread that runs, for the system's lists of threads: the first 15 bytes count."""
    torch._C._set_thread_name(name)


def _get_thread_name():
    """The name of the thread that runs."""
    return torch._C._get_thread_name()


_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Choose a strategy by name."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
    _strategy = new_strategy


def get_sharing_strategy():
    """The strategy that was chosen."""
    return _strategy
