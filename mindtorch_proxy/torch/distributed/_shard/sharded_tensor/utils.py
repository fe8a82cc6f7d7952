"""Validation of shards and of their metadata."""

import copy

import torch

from ... import distributed_c10d as c10d
from ..sharding_spec._internals import check_tensor, validate_non_overlapping_shards_metadata
from .metadata import ShardedTensorMetadata, TensorProperties

__all__ = []


def _parse_and_validate_remote_device(pg, remote_device):
    """Return (rank, device) of a placement; the rank must belong to the group."""
    if remote_device is None:
        raise ValueError("remote device is None")
    rank = remote_device.rank()
    if remote_device.worker_name() is not None:
        raise RuntimeError(
            f"RPC framework needs to be initialized for using worker names: {remote_device.worker_name()}"
        )
    if rank is not None and not c10d._rank_not_in_group(pg) and rank not in (ranks := c10d.get_process_group_ranks(pg)):
        raise ValueError(f"Global rank {rank} does not exist in input process group: {ranks}")
    return rank, remote_device.device()


def _flatten_tensor_size(size):
    """Return a size given as one sequence or as several integers."""
    dims = list(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else list(size)
    if not all(isinstance(n, int) for n in dims):
        raise TypeError(f"size has to be a sequence of ints, found: {dims}")
    return torch.Size(dims)


def build_metadata_from_local_shards(local_shards, global_size, current_rank, pg):
    """Build a rank's metadata from its local shards."""
    first = local_shards[0].tensor
    for shard in local_shards:
        rank, device = _parse_and_validate_remote_device(pg, shard.metadata.placement)
        t = shard.tensor
        if t.layout != torch.strided:
            raise ValueError(
                f"Only torch.strided layout is currently supported, but found {t.layout} on rank:{current_rank}!"
            )
        if not t.is_contiguous():
            raise ValueError("Only torch.contiguous_format memory_format is currently supported!")
        if rank != current_rank:
            raise ValueError(
                "Local shard metadata's rank does not match with the rank in its process group! Found current rank in "
                f"the process group: {current_rank}, local ShardMetadata placement's rank: {rank}"
            )
        if t.device != device:
            raise ValueError(
                "Local shard tensor device does not match with local Shard's placement! Found local shard tensor "
                f"device: {t.device}, local shard metadata placement device: {device}"
            )
        same = {
            "size": (shard.metadata.shard_sizes, list(t.size())),
            "dtype": (t.dtype, first.dtype),
            "requires_grad": (t.requires_grad, first.requires_grad),
        }
        for name, (a, b) in same.items():
            if a != b:
                raise ValueError(
                    f"Local shards' tensor {name} property need to be the same on rank:{current_rank}! Found one local "
                    f"shard tensor {name}={a}, the other local shard tensor {name}={b}."
                )
    return ShardedTensorMetadata(
        [s.metadata for s in local_shards], global_size, TensorProperties.create_from_tensor(first)
    )


def build_global_metadata(gathered_metadatas):
    """Merge the metadata of all ranks, which must be consistent."""
    known = [(rank, m) for rank, m in enumerate(gathered_metadatas) if m is not None]
    if not known:
        raise ValueError("ShardedTensor have no local shards on all ranks!")
    first, whole = known[0][0], copy.deepcopy(known[0][1])
    for rank, other in known[1:]:
        mine, its = whole.tensor_properties, other.tensor_properties
        same = {
            "global_size": (whole.size, other.size),
            "dtype": (mine.dtype, its.dtype),
            "requires_grad": (mine.requires_grad, its.requires_grad),
        }
        for name, (a, b) in same.items():
            if a != b:
                raise ValueError(
                    f"ShardedTensor {name} property does not match from different ranks! Found {name}={a} on "
                    f"rank:{first}, and {name}={b} on rank:{rank}."
                )
        whole.shards_metadata.extend(other.shards_metadata)
    validate_non_overlapping_shards_metadata(whole.shards_metadata)
    check_tensor(whole.shards_metadata, whole.size)
    return whole
