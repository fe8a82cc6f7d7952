"""A sharding spec of equal chunks along one dimension."""

from dataclasses import dataclass

import torch

from ... import distributed_c10d as c10d
from ...remote_device import _remote_device
from ..metadata import ShardMetadata
from ._base import ShardingSpec
from ._internals import get_chunked_dim_size, get_split_size

__all__ = ["ChunkShardingSpec"]


def narrow_tensor(tensor, metadata):
    """Return a shard of a full tensor, as a view."""
    for dim, (offset, size) in enumerate(zip(metadata.shard_offsets, metadata.shard_sizes)):
        tensor = tensor.narrow(dim, offset, size)
    return tensor


@dataclass
class ChunkShardingSpec(ShardingSpec):
    """Shards a dimension into the chunks of torch.chunk; ``placements`` gives the device of each chunk."""

    ShardingDim = int | str

    dim: ShardingDim
    placements: list[_remote_device | str]

    def __post_init__(self):
        self._verify_dim(self.dim)
        for i, place in enumerate(self.placements):
            if not isinstance(place, _remote_device):
                self.placements[i] = _remote_device(place)

    @staticmethod
    def _verify_dim(dim):
        if isinstance(dim, str):
            raise NotImplementedError("ChunkShardingSpec does not support named dimension yet!")
        if not isinstance(dim, int):
            raise ValueError(f"Sharding dim needs to be an integer, found: {dim}")

    def build_metadata(self, tensor_sizes, tensor_properties):
        """Return the metadata of the chunks of a tensor with these sizes."""
        from ..sharded_tensor.metadata import ShardedTensorMetadata

        self._verify_dim(self.dim)
        if not -len(tensor_sizes) <= self.dim < len(tensor_sizes):
            raise ValueError(f"Invalid sharding dim: {self.dim}")
        whole, made = tensor_sizes[self.dim], []
        split = get_split_size(whole, len(self.placements))
        for i, place in enumerate(self.placements):
            offsets, sizes = [0] * len(tensor_sizes), list(tensor_sizes)
            offsets[self.dim], sizes[self.dim] = split * i, get_chunked_dim_size(whole, split, i)
            made.append(ShardMetadata(offsets, sizes, place))
        return ShardedTensorMetadata(made, tensor_sizes, tensor_properties)

    def shard(self, tensor, src_rank=0, process_group=None):
        """Shard the full tensor of rank ``src_rank`` of the group, which sends each rank its chunk."""
        from ..sharded_tensor.metadata import TensorProperties
        from ..sharded_tensor.shard import Shard

        rank, here = c10d.get_rank(process_group), c10d.get_rank()
        metadata = self.build_metadata(tensor.size(), TensorProperties.create_from_tensor(tensor))
        shape = list(tensor.size())
        shape[self.dim] = get_split_size(shape[self.dim], len(self.placements))
        chunks, local, mine = [None] * c10d.get_world_size(process_group), None, None
        for piece in metadata.shards_metadata:
            if rank == src_rank:  # padded to equal sizes, as scatter requires
                chunk = tensor.detach().new_zeros(shape)
                chunk.narrow(self.dim, 0, piece.shard_sizes[self.dim]).copy_(narrow_tensor(tensor.detach(), piece))
                chunks[c10d.get_group_rank(process_group or c10d._get_default_group(), piece.placement.rank())] = chunk
            if piece.placement.rank() == here:
                local, mine = torch.empty(shape, dtype=tensor.dtype, device=piece.placement.device()), piece
        if local is None:
            raise AssertionError(f"rank {here} has no chunk under {self}")
        source = src_rank if process_group is None else c10d.get_global_rank(process_group, src_rank)
        c10d.scatter(local, chunks if rank == src_rank else None, src=source, group=process_group)
        local = (
            narrow_tensor(local, ShardMetadata([0] * local.ndim, mine.shard_sizes))
            .contiguous()
            .requires_grad_(tensor.requires_grad)
        )
        made = self._assembled([Shard(local, mine)], metadata, process_group=process_group)
        made._sharding_spec = self
        return made
