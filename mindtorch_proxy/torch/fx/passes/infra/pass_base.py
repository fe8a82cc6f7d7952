"""A pass over a graph, and what it gives."""

import abc
from typing import NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module after a pass, and whether the pass changed it."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass: ``call`` changes a GraphModule, ``requires`` and ``ensures`` look at it before and after."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """The pass itself: a PassResult, or None."""

    def requires(self, graph_module):  # noqa: B027  nothing, unless a pass says more
        """Raises where the pass cannot run on a module."""

    def ensures(self, graph_module):  # noqa: B027
        """Raises where the pass has not left a module as it promises."""
