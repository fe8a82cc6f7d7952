"""What every way to cut a tensor has."""

from abc import ABC, abstractmethod


class ShardingSpec(ABC):
    """How tensors are sharded."""

    __module__ = "torch.distributed._shard.sharding_spec.api"
    _assembled = None  # makes a ShardedTensor of this rank's pieces: the package of that class sets it

    @abstractmethod
    def build_metadata(self, tensor_sizes, tensor_properties):
        """The pieces of a tensor of some sizes."""

    @abstractmethod
    def shard(self, tensor, src_rank=0, process_group=None):
        """A rank's whole tensor as a ShardedTensor."""
