"""Data parallelism over processes."""

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Not supported: there is no communication between processes here."""

    def __init__(self, module, *args, **kwargs):
        raise NotImplementedError("DistributedDataParallel needs torch.distributed, which is not supported")
