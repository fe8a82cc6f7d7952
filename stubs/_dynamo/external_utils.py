"""Queries about compilation."""

import contextlib
import threading


class _Tracing(threading.local):
    active = exporting = False


_tracing = _Tracing()


def is_compiling():
    """Whether this run of a compiled or exported function is being recorded as a graph."""
    return _tracing.active


def is_exporting():
    """Whether torch.export is recording a graph."""
    return _tracing.exporting


@contextlib.contextmanager
def compiling(exporting=False):
    """Context manager in which a graph is recorded, by torch.export if it is exporting."""
    before = _tracing.active, _tracing.exporting
    _tracing.active, _tracing.exporting = True, exporting
    try:
        yield
    finally:
        _tracing.active, _tracing.exporting = before
