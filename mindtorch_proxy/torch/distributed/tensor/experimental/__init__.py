"""Experimental features of DTensor."""

from contextlib import contextmanager

from .._call import STATE
from ._attention import context_parallel
from ._func_map import local_map

__all__ = ["context_parallel", "implicit_replication", "local_map"]


@contextmanager
def implicit_replication():
    """Context manager in which plain tensors in operators with DTensors are treated as replicated."""
    held, STATE.replicate_plain = STATE.replicate_plain, True
    try:
        yield
    finally:
        STATE.replicate_plain = held
