"""Support for indexing inside vmap."""

from torch.overrides import TorchFunctionMode


class TransformGetItemToIndex(TorchFunctionMode):
    """Allow batched tensors as indices within ``torch.vmap``, which is always possible here."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
