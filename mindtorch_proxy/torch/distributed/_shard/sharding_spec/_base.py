"""The base class of sharding specs."""

from abc import ABC, abstractmethod


class ShardingSpec(ABC):
    """Base class that describes how tensors are sharded."""

    __module__ = "torch.distributed._shard.sharding_spec.api"
    _assembled = None  # builds a ShardedTensor from this rank's shards; set by the package of that class

    @abstractmethod
    def build_metadata(self, tensor_sizes, tensor_properties):
        """Return the metadata of the shards of a tensor with these sizes."""

    @abstractmethod
    def shard(self, tensor, src_rank=0, process_group=None):
        """Shard the full tensor of rank ``src_rank`` and return a ShardedTensor."""
