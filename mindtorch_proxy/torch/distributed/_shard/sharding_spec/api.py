"""Sharding specs: how a tensor is split into shards, and which rank has each shard."""

from abc import ABC
from dataclasses import dataclass

from ...remote_device import _remote_device
from ..metadata import ShardMetadata
from ._base import ShardingSpec
from ._internals import check_tensor, get_chunked_dim_size, get_split_size, validate_non_overlapping_shards_metadata
from .chunk_sharding_spec import ChunkShardingSpec

__all__ = []


class PlacementSpec(ABC):  # noqa: B024 (as PyTorch's: there is nothing to define)
    """Base class of placements."""


@dataclass
class DevicePlacementSpec(PlacementSpec):
    """A placement on one device."""

    device: _remote_device

    def __post_init__(self):
        if not isinstance(self.device, _remote_device):
            self.device = _remote_device(self.device)


@dataclass
class EnumerableShardingSpec(ShardingSpec):
    """A sharding spec that lists every shard."""

    shards: list[ShardMetadata]

    def __post_init__(self):
        if not self.shards:
            raise ValueError(f"Empty shard list provided: {self.shards}")
        first = len(self.shards[0].shard_offsets)
        for shard in self.shards:
            if len(shard.shard_offsets) != first:
                raise ValueError(f"Found inconsistent ranks for shards: {first} and {len(shard.shard_offsets)}")
        validate_non_overlapping_shards_metadata(self.shards)

    def build_metadata(self, tensor_sizes, tensor_properties):
        """Return the listed shards, after a check that they form a tensor of these sizes."""
        from ..sharded_tensor.metadata import ShardedTensorMetadata

        check_tensor(self.shards, tensor_sizes)
        return ShardedTensorMetadata(self.shards, tensor_sizes, tensor_properties)

    def shard(self, tensor, src_rank=0, process_group=None):
        """Raise NotImplementedError, as in PyTorch."""
        raise NotImplementedError("EnumerableShardingSpec.shard not implemented yet!")


def _infer_sharding_spec_from_shards_metadata(shards_metadata):
    """Return a ChunkShardingSpec if shards are equal chunks of one dimension.

    Otherwise return an EnumerableShardingSpec.
    """
    cut = {tuple(d for d, n in enumerate(s.shard_offsets) if n) for s in shards_metadata} - {()}
    if len(cut) == 1 and len(dims := cut.pop()) == 1:
        (dim,) = dims
        placed = sorted(shards_metadata, key=lambda s: s.shard_offsets[dim])
        total = sum(s.shard_sizes[dim] for s in placed)
        split = get_split_size(total, len(placed))
        sizes = [get_chunked_dim_size(total, split, i) for i in range(len(placed))]
        if sorted(s.shard_sizes[dim] for s in placed) == sorted(sizes) and [s.shard_offsets[dim] for s in placed] == [
            split * i for i in range(len(placed))
        ]:
            return ChunkShardingSpec(dim, [s.placement for s in placed])
    return EnumerableShardingSpec(shards_metadata)
