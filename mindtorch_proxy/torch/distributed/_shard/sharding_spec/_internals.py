"""Checks that shards form a tensor: they must lie inside it, cover it and not overlap."""

import math

__all__ = []


def _check_shard_metadata_pair_overlap(shard1, shard2):
    """Whether two shards have an element in common, by their offsets and sizes."""
    spans = zip(shard1.shard_offsets, shard1.shard_sizes, shard2.shard_offsets, shard2.shard_sizes)
    return all(a < b + m and b < a + n for a, n, b, m in spans)


def _first_overlap(shards):
    """Return the indices of two shards that overlap, or None.

    The shards are swept along one dimension, and a shard is only compared with those that extend past its start.
    """
    dims = range(len(shards[0].shard_offsets))
    along = max(dims, key=lambda d: len({s.shard_offsets[d] for s in shards}), default=None)
    if along is None:
        return 0, 1
    live = []
    for i in sorted(range(len(shards)), key=lambda i: shards[i].shard_offsets[along]):
        start = shards[i].shard_offsets[along]
        live = [j for j in live if shards[j].shard_offsets[along] + shards[j].shard_sizes[along] > start]
        for j in live:
            if _check_shard_metadata_pair_overlap(shards[i], shards[j]):
                return j, i
        live.append(i)
    return None


def validate_non_overlapping_shards_metadata(shards):
    """Raise ValueError if two shards overlap."""
    pair = _first_overlap(shards) if len(shards) > 1 else None
    if pair is not None:
        raise ValueError(f"Shards {shards[pair[0]]} and {shards[pair[1]]} overlap")


def check_tensor(shards_metadata, tensor_dims):
    """Raise ValueError if shards, which must not overlap, do not form a tensor of these sizes."""
    rank = len(shards_metadata[0].shard_offsets)
    if len(tensor_dims) != rank:
        raise ValueError(f"Rank of tensor is {len(tensor_dims)}, but shards rank is {rank}")
    for shard in shards_metadata:
        for offset, size, whole in zip(shard.shard_offsets, shard.shard_sizes, tensor_dims):
            if offset + size > whole:
                raise ValueError(
                    f"Shard offset {offset} and length {size} exceeds tensor dim: {whole} for shard {shard}"
                )
    total, volume = sum(math.prod(s.shard_sizes) for s in shards_metadata), math.prod(tensor_dims)
    if total != volume:
        raise ValueError(
            f"Total volume of shards: {total} does not match tensor volume: {volume}, "
            "in other words all the individual shards do not cover the entire tensor"
        )


def get_split_size(dim_size, chunks):
    """Return the size of every chunk except possibly the last ones."""
    return -(-dim_size // chunks)


def get_chunked_dim_size(dim_size, split_size, idx):
    """Return the size of chunk ``idx``."""
    return max(min(dim_size, split_size * (idx + 1)) - split_size * idx, 0)


def get_chunk_sharding_params(sharding_dim_size, world_size, spec, rank):
    """Return (start, size) of a rank's chunk; the spec gives the order of ranks."""
    split = get_split_size(sharding_dim_size, world_size)
    start = 0
    for i, placement in enumerate(spec.placements):
        size = get_chunked_dim_size(sharding_dim_size, split, i)
        if placement.rank() == rank:
            return start, size
        start += size
    raise ValueError(f"rank {rank} has no chunk under {spec}")
