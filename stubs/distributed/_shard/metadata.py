"""Where a piece of a tensor is."""

from dataclasses import dataclass

from ..remote_device import _remote_device

__all__ = ["ShardMetadata"]


@dataclass
class ShardMetadata:
    """Offsets and sizes of a piece, and the device that it is on."""

    shard_offsets: list[int]
    shard_sizes: list[int]
    placement: _remote_device | None

    def __init__(self, shard_offsets, shard_sizes, placement=None):
        self.shard_offsets, self.shard_sizes = shard_offsets, shard_sizes
        self.placement = _remote_device(placement) if isinstance(placement, str) else placement
        if len(shard_offsets) != len(shard_sizes):
            raise ValueError(
                f"shard_offsets and shard_sizes should have the same number of elements, found {len(shard_offsets)} and {len(shard_sizes)} respectively"
            )
        if any(n < 0 for n in shard_offsets):
            raise ValueError("shard_offsets should be >=0")
        if any(n < 0 for n in shard_sizes):
            raise ValueError("shard_sizes should be >= 0")

    def __hash__(self):
        return hash((*self.shard_offsets, *self.shard_sizes))
