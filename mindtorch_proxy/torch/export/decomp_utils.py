"""The table of decompositions that run_decompositions uses, which programs may change."""

from torch._decomp import core_aten_decompositions
from torch._ops import OpOverload

__all__ = ["CustomDecompTable"]


class CustomDecompTable(dict):
    """PyTorch's decompositions into its core operators, as a dict that programs may change."""

    def __init__(self):
        super().__init__(core_aten_decompositions())

    def pop(self, key, *default):
        """Remove an operator from the table, so that it stays in the graph, and return its decomposition."""
        if not isinstance(key, OpOverload):
            raise AssertionError(f"only overloads of operators are in the table, not {key}")
        return super().pop(key, *(default or (None,)))

    def copy(self):
        """Return a copy of the table."""
        new = dict.__new__(type(self))
        new.update(self)
        return new

    def materialize(self):
        """Return the table as a plain dict."""
        return dict(self)
