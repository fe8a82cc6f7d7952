"""Blocks of tensors: those that a rank holds, and how they overlap the blocks of another layout."""

import torch

from .._shard.sharded_tensor import ShardedTensor
from ..tensor import DTensor
from .metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties
from .planner import LoadItemType, ReadItem


def chunks_of(value):
    """Return [(block, local tensor)] for the blocks of a tensor that this rank holds."""
    if isinstance(value, ShardedTensor):
        return [
            (ChunkStorageMetadata(torch.Size(s.metadata.shard_offsets), torch.Size(s.metadata.shard_sizes)), s.tensor)
            for s in value.local_shards()
        ]
    if not isinstance(value, DTensor):
        return [(ChunkStorageMetadata(torch.Size([0] * value.ndim), torch.Size(value.shape)), value)]
    return [(chunk, value._local_tensor) for chunk in value.__create_chunk_list__()]


def in_pieces(value):
    """Whether ranks may hold different blocks of a value."""
    return isinstance(value, (DTensor, ShardedTensor))


def block_of(value, index):
    """Return this rank's block of a tensor at the offset given by an index."""
    if isinstance(value, DTensor):
        return chunks_of(value)[0][1]
    if index.offset is None:
        if isinstance(value, ShardedTensor):
            raise ValueError(f"Cannot lookup {index.fqn} since its a ShardedTensor and no offset was provided")
        return value
    for chunk, local in chunks_of(value):
        if chunk.offsets == index.offset:
            return local
    if isinstance(value, ShardedTensor):
        raise ValueError(f"Could not find shard at '{index.offset}' for FQN: '{index.fqn}'")
    raise ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'")


def properties_of(value):
    """Return the properties of a tensor."""
    return TensorProperties(value.dtype, torch.strided, bool(value.requires_grad))


def overlaps(name, saved, mine):
    """Return the items to read for this rank's blocks from the saved blocks that overlap them."""
    items = []
    for at, block in enumerate(mine):
        for i, chunk in enumerate(saved):
            starts = [max(a, b) for a, b in zip(block.offsets, chunk.offsets)]
            ends = [min(a + m, b + n) for a, m, b, n in zip(block.offsets, block.sizes, chunk.offsets, chunk.sizes)]
            if any(e <= s for s, e in zip(starts, ends)):
                continue
            items.append(
                ReadItem(
                    type=LoadItemType.TENSOR,
                    dest_index=MetadataIndex(name, block.offsets, at),
                    dest_offsets=torch.Size(s - o for s, o in zip(starts, block.offsets)),
                    storage_index=MetadataIndex(name, chunk.offsets, i),
                    storage_offsets=torch.Size(s - o for s, o in zip(starts, chunk.offsets)),
                    lengths=torch.Size(e - s for s, e in zip(starts, ends)),
                )
            )
    return items


def narrowed(tensor, offsets, sizes):
    """Return a block of a tensor as a view."""
    for dim, (offset, size) in enumerate(zip(offsets, sizes)):
        tensor = tensor.narrow(dim, offset, size)
    return tensor
