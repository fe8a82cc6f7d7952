"""The errors of a build without MPS."""


def lacking(function):
    """Return the error of a function that needs the MPS backend."""
    return RuntimeError(f"Cannot execute {function}() without MPS backend.")
