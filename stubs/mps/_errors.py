"""The errors of a build without MPS."""


def lacking(function):
    """The error of a function that the backend has not."""
    return RuntimeError(f"Cannot execute {function}() without MPS backend.")
