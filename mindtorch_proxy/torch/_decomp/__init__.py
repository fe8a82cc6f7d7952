"""Tables of decompositions, {overload: function}; a function computes the operator with other operators.

`make_fx(f, decomposition_table=...)` uses them. The tables contain those of decompositions.py, and what programs
register. Source: ``torch/_decomp`` of PyTorch 2.13.
"""

from . import composed, decompositions
from ._tables import decomposition_table as decomposition_table
from ._tables import get_decompositions as get_decompositions
from ._tables import global_decomposition_table as global_decomposition_table
from ._tables import meta_table as meta_table
from ._tables import pre_autograd_decomposition_table as pre_autograd_decomposition_table
from ._tables import register_decomposition as register_decomposition
from ._tables import remove_decompositions as remove_decompositions

__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "meta_table",
    "pre_autograd_decomposition_table",
    "register_decomposition",
    "remove_decompositions",
]


def core_aten_decompositions():
    """Return the table of decompositions into PyTorch's core operators, those of its own that are written here."""
    ours = {composed.__name__, decompositions.__name__}
    return {
        op: fn
        for op, fn in decomposition_table.items()
        if op not in composed.KEPT and getattr(fn, "__module__", "") in ours
    }
