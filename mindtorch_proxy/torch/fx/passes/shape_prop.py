"""Shape propagation: record the shapes and dtypes of a graph's values by running it."""

import traceback
from typing import NamedTuple

import torch

from ...utils._pytree import tree_leaves
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The metadata of a tensor."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple
    memory_format: object
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    """Return the TensorMetadata of a tensor."""
    formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
    fits = (f for f in formats if include_contiguity and result.is_contiguous(memory_format=f))
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), next(fits, None), False, {}
    )


class ShapeProp(Interpreter):
    """Runs a GraphModule and records metadata for each node.

    ``meta["tensor_meta"]`` is a TensorMetadata, nested like the result; ``meta["type"]`` is the result's class.
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        if fake_mode is None:
            fake_mode = next(
                (x.fake_mode for x in tree_leaves((*gm.parameters(), *gm.buffers())) if hasattr(x, "fake_mode")), None
            )
        self.fake_mode = fake_mode
        self.real_module = self.module
        if fake_mode is not None:
            from torch._dynamo.utils import deepcopy_to_fake_tensor

            self.fake_module = deepcopy_to_fake_tensor(self.module, fake_mode)

    def run_node(self, n):
        """Return the node's value and record its metadata."""
        try:
            if self.fake_mode is not None:
                self.module = self.fake_module
                with self.fake_mode:
                    result = super().run_node(n)
            else:
                result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = []

        def metadata(x):
            if not isinstance(x, torch.Tensor):
                return x
            found.append(x)
            return _extract_tensor_metadata(x)

        meta = map_aggregate(result, metadata)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Run the module and return its result."""
        if self.fake_mode is not None:
            args = [self.fake_mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in args]
        return super().run(*args)
