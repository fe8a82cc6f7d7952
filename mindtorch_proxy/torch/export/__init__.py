"""torch.export: exports programs as graphs of operators, with symbols for dynamic sizes."""

from . import dynamic_shapes as dynamic_shapes
from ._archive import load, save
from . import _decompose as _decompose
from .decomp_utils import CustomDecompTable
from ._trace import export
from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature, default_decompositions
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

__all__ = [
    "AdditionalInputs",
    "CustomDecompTable",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "export",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]


def register_dataclass(cls, *, serialized_type_name=None):
    """Register a dataclass as a pytree container."""
    from ..utils._pytree import register_dataclass

    register_dataclass(cls, serialized_type_name=serialized_type_name)
