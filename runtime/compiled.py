"""The optional modules in C, compiled at installation where there is a compiler, and otherwise done without."""

import importlib

FOUND: set = set()  # names of the modules that are there


def optional(name, package):
    """Return the extension module of a name relative to a package, or None if it was not compiled."""
    try:
        module = importlib.import_module(name, package)
    except ImportError:
        return None
    FOUND.add(name.rpartition(".")[2])
    return module
