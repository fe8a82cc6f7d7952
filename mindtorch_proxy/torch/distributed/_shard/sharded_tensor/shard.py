"""A shard of a tensor."""

from dataclasses import dataclass

import torch

from ...remote_device import _remote_device
from ..metadata import ShardMetadata

__all__ = []


@dataclass
class Shard:
    """The data of a shard and its metadata."""

    __slots__ = ["tensor", "metadata"]
    tensor: torch.Tensor
    metadata: ShardMetadata

    def __post_init__(self):
        sizes, place = list(self.tensor.size()), self.metadata.placement
        if sizes != self.metadata.shard_sizes:
            raise ValueError(
                f"Shard tensor size does not match with metadata.shard_lengths! Found shard tensor size: {sizes}, "
                f"metadata.shard_lengths: {self.metadata.shard_sizes}, "
            )
        if place is not None and place.device() != self.tensor.device:
            raise ValueError(
                "Local shard tensor device does not match with local Shard's placement! Found local shard tensor "
                f"device: {self.tensor.device}, local shard metadata placement device: {place.device()}"
            )

    @classmethod
    def from_tensor_and_offsets(cls, tensor, shard_offsets, rank):
        """Return the shard of ``rank`` that starts at the given offsets."""
        return Shard(
            tensor, ShardMetadata(shard_offsets, list(tensor.size()), _remote_device(f"rank:{rank}/{tensor.device}"))
        )
