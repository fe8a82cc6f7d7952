"""Experimental: plain tensors beside distributed ones."""

from contextlib import contextmanager

from .._call import STATE
from ._attention import context_parallel
from ._func_map import local_map

__all__ = ["context_parallel", "implicit_replication", "local_map"]


@contextmanager
def implicit_replication():
    """Inside, plain tensors beside distributed ones count as replicated."""
    held, STATE.replicate_plain = STATE.replicate_plain, True
    try:
        yield
    finally:
        STATE.replicate_plain = held
