"""ShardedTensor, which distributed tensors have replaced."""

import torch

from ..metadata import ShardMetadata

__all__ = ["ShardedTensor", "ShardMetadata"]


class ShardedTensor(torch.Tensor):
    """A tensor in pieces of the older kind: none can be made here, state dicts hold distributed tensors."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError("ShardedTensor is not supported: use torch.distributed.tensor.DTensor, or keep whole tensors")
