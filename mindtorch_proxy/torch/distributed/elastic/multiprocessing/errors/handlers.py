"""Which error handler is used."""

from .error_handler import ErrorHandler

__all__ = ["get_error_handler"]


def get_error_handler():
    """The error handler of this process."""
    return ErrorHandler()
