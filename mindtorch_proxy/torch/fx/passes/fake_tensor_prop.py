"""Propagation of fake tensors through a graph."""

import torch

from ..interpreter import Interpreter

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a GraphModule on fake tensors and stores each node's result in ``meta["val"]``."""

    def __init__(self, module, mode=None):
        super().__init__(module)
        from torch._subclasses.fake_tensor import FakeTensorMode

        self._mode = mode if mode is not None else FakeTensorMode()

    def run_node(self, n):
        """Return the node's fake value and store it in ``meta["val"]``."""
        result = super().run_node(n)
        leaves = torch.utils._pytree.tree_leaves(result)
        if any(isinstance(x, torch.Tensor) for x in leaves):
            n.meta["val"] = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.detach(), result)
        return result

    def propagate(self, *args):
        """Run on fake copies of the arguments."""
        return self.propagate_dont_convert_inputs(
            *(self._mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in args)
        )

    def propagate_dont_convert_inputs(self, *args):
        """Run on arguments that are already fake."""
        with self._mode:
            return super().run(*args)
