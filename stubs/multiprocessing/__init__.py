"""Python's multiprocessing with tensors: the memory of one that goes to another process is shared with it."""

import multiprocessing
from multiprocessing import *  # noqa: F403

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
    """The ways to hand over a tensor, by PyTorch's names; here both send the file descriptor of memory without a name, which nothing can leave behind."""
    return {"file_descriptor", "file_system"}


_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Choose a strategy by name."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}")
    _strategy = new_strategy


def get_sharing_strategy():
    """The strategy that was chosen."""
    return _strategy
