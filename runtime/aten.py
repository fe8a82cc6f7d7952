"""PyTorch's ATen operators: their schemas, read from aten.txt, which tools/aten_schemas.py writes."""

import functools
import os

from .schema import FunctionSchema


@functools.cache
def _lines():
    found = {}
    with open(os.path.join(os.path.dirname(__file__), "aten.txt"), encoding="ascii") as f:
        for line in f:
            flags, text = line.rstrip("\n").split("\t")
            found.setdefault(text[: min(text.index("("), text.find(".") % 10**6)], []).append((text, flags))
    return found


@functools.cache
def schemas(name):
    """Return PyTorch's overloads of an operator in PyTorch's order; empty where it has no such operator."""
    return tuple(FunctionSchema(text, flags, "aten") for text, flags in _lines().get(name, ()))


def names():
    """Return the names of PyTorch's operators."""
    return _lines().keys()
