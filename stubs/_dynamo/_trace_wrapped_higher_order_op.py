"""Indexing inside vmap."""

from torch.overrides import TorchFunctionMode


class TransformGetItemToIndex(TorchFunctionMode):
    """Lets batched tensors index within ``torch.vmap``, which here they always may."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
