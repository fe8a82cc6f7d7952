"""Selects the error handler."""

from .error_handler import ErrorHandler

__all__ = ["get_error_handler"]


def get_error_handler():
    """Return the error handler of this process."""
    return ErrorHandler()
