"""torch.export: exports programs as graphs of operators. Sizes are those of the example; none is symbolic."""

import enum
import sys

from ._archive import load, save
from .exported_program import ExportedProgram, _export
from .graph_signature import ExportBackwardSignature, ExportGraphSignature

__all__ = [
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "export",
    "load",
    "save",
    "register_dataclass",
]


class _DimHint(enum.Enum):
    AUTO = enum.auto()
    STATIC = enum.auto()
    DYNAMIC = enum.auto()


class Dim:
    """A named size with bounds."""

    AUTO, STATIC, DYNAMIC = _DimHint.AUTO, _DimHint.STATIC, _DimHint.DYNAMIC

    def __init__(self, name, *, min=None, max=None):
        self.min, self.max = 0 if min is None else min, sys.maxsize - 1 if max is None else max
        if self.max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name

    def __repr__(self):
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"


def export(
    mod,
    args,
    kwargs=None,
    *,
    dynamic_shapes=None,
    strict=False,
    preserve_module_call_signature=(),
    prefer_deferred_runtime_asserts_over_guards=False,
):
    """Export a module, with example arguments, as an ExportedProgram.

    Control flow that depends on values raises, as in PyTorch; ``dynamic_shapes`` with dynamic sizes raise
    NotImplementedError.
    """
    from ..utils._pytree import tree_leaves

    if any(d not in (None, Dim.AUTO, Dim.STATIC) for d in tree_leaves(dynamic_shapes)):
        raise NotImplementedError("torch.export.export: dynamic_shapes; sizes are those of the example arguments")
    return _export(mod, args, kwargs)


def register_dataclass(cls, *, serialized_type_name=None):
    """Register a dataclass as a pytree container."""
    from ..utils._pytree import register_dataclass

    register_dataclass(cls, serialized_type_name=serialized_type_name)
