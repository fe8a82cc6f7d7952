"""Helpers that create write and read items."""

import torch

from .._shard.sharded_tensor import ShardedTensor
from ._pieces import chunks_of, in_pieces, overlaps, properties_of
from .metadata import ChunkStorageMetadata, MetadataIndex
from .planner import TensorWriteData, WriteItem, WriteItemType

__all__ = ["create_read_items_for_chunk_list"]


def create_read_items_for_chunk_list(fqn, checkpoint_md, local_chunks):
    """Return the items to read for this rank's blocks of a tensor."""
    return overlaps(fqn, checkpoint_md.chunks, local_chunks)


def _write_item(fqn, value, chunk):
    kind = WriteItemType.SHARD if in_pieces(value) else WriteItemType.TENSOR
    return WriteItem(
        MetadataIndex(fqn, chunk.offsets),
        kind,
        tensor_data=TensorWriteData(chunk, properties_of(value), torch.Size(value.shape)),
    )


def _create_write_item_for_tensor(fqn, tensor):
    return _write_item(fqn, tensor, ChunkStorageMetadata(torch.Size([0] * tensor.ndim), torch.Size(tensor.shape)))


def _create_write_items(fqn, object):
    """Return the items that this rank writes for a value: its blocks, or the whole value."""
    if not isinstance(object, torch.Tensor):
        return [WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO)]
    return [_write_item(fqn, object, chunk) for chunk, _ in chunks_of(object)]


def _all_write_items(fqn, object):
    """Return the items that all ranks together write for a value, as far as this rank knows."""
    if not isinstance(object, ShardedTensor):
        return _create_write_items(fqn, object)
    blocks = [(torch.Size(s.shard_offsets), torch.Size(s.shard_sizes)) for s in object.metadata().shards_metadata]
    return [_write_item(fqn, object, ChunkStorageMetadata(*block)) for block in blocks]
