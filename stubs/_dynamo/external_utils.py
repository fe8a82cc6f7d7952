"""Queries about compilation."""

import contextlib
import threading


class _Tracing(threading.local):
    active = False


_tracing = _Tracing()


def is_compiling():
    """Whether this run of a compiled function is being recorded as a graph."""
    return _tracing.active


@contextlib.contextmanager
def compiling():
    """Context manager in which a graph is recorded."""
    before, _tracing.active = _tracing.active, True
    try:
        yield
    finally:
        _tracing.active = before
