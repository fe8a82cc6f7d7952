"""Experimental: plain tensors beside distributed ones."""

from contextlib import contextmanager

__all__ = ["implicit_replication"]


@contextmanager
def implicit_replication():
    """Inside, plain tensors beside distributed ones count as replicated."""
    from .._dispatch import STATE

    held, STATE.replicate_plain = STATE.replicate_plain, True
    try:
        yield
    finally:
        STATE.replicate_plain = held
