"""The base class of passes, and the result of a pass."""

import abc
from typing import NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module after a pass, and whether the pass changed it."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """Base class of passes: ``call`` changes a GraphModule, ``requires`` and ``ensures`` check it before and after."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """Run the pass and return a PassResult or None."""

    def requires(self, graph_module):  # noqa: B027  nothing, unless a pass says more
        """Raise an error if the pass cannot run on the module."""

    def ensures(self, graph_module):  # noqa: B027
        """Raise an error if the pass has not produced a valid module."""
