"""Static checks of which primitives the installed wheel has for Ascend, and with how many arguments.

No kernel is launched.
"""

import functools
import importlib.util
import inspect
import mmap
import os
import re
from contextlib import suppress

from ...runtime import pyboost


@functools.cache
def _library():
    """Return the wheel's Ascend operator library, memory-mapped, or None where the wheel has none."""
    spec = importlib.util.find_spec("mindspore")
    path = os.path.join(os.path.dirname(spec.origin), "lib", "plugin", "libmindspore_ops_ascend.so")
    if not os.path.exists(path):
        return None
    with open(path, "rb") as f:
        return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)


# view primitives: from MindSpore 2.8 on one class serves all devices, before it is one class per device
VIEWS = frozenset(("AsStrided", "Transpose", "Reshape"))


@functools.cache
def exists(primitive):
    """Whether the wheel has a PyBoost class of the primitive for Ascend."""
    lib = _library()
    if lib is None:
        return False
    name = primitive + "Ascend"
    return lib.find(f"{len(name)}{name}4CallE".encode()) >= 0 or primitive in VIEWS


@functools.cache
def gradients():
    """Return the names of the wheel's PyBoost classes for Ascend that compute gradients."""
    found = re.findall(rb"\d([A-Z][A-Za-z0-9]*)Ascend4CallE", _library() or b"")
    return frozenset(name for name in map(bytes.decode, found) if "Grad" in name or "Backward" in name)


def arity(primitive):
    """Return (least, most) positional arguments of the primitive's call.

    The result is None where the primitive is unknown, takes attributes in its constructor or takes any number of
    arguments.
    """
    cls = pyboost.primitive_class(primitive)
    if cls is None:
        return None
    init = [p for p in inspect.signature(cls.__init__).parameters.values() if p.name != "self"]
    if init:
        return None
    ps = [p for p in inspect.signature(cls.__call__).parameters.values() if p.name != "self"]
    if any(p.kind is p.VAR_POSITIONAL for p in ps):
        return None
    return sum(p.default is p.empty for p in ps), len(ps)


def used(op):
    """Return how many arguments the operator's binding passes to its primitive, or None if not countable."""
    seen = []

    def recorder(*args):
        seen.append(len(args))

    args = (
        [_Any() for _ in op.schema.arguments]
        if op.promote is None
        else [_Any() for _ in (*op.operands, *op.attributes)]
    )
    with suppress(Exception):  # a mapping that inspects its arguments before the call fails on placeholders
        op.prim_call(recorder, *args) if op.prim_call else recorder(*args)
    return seen[0] if seen else None


class _Any:
    """A placeholder argument for counting."""

    shape = ()

    def __iter__(self):
        return iter(())
