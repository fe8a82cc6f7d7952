"""Metadata of sharded tensors."""

from dataclasses import dataclass, field
from enum import Enum

import torch

from ..metadata import ShardMetadata, _TensorProperties

__all__ = []


class MEM_FORMAT_ENCODING(Enum):
    """The pickled form of memory formats."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties(_TensorProperties):
    """Tensor properties apart from sizes."""

    _encoding = MEM_FORMAT_ENCODING


@dataclass
class ShardedTensorMetadata:
    """The metadata of all shards, and the size and properties of the full tensor."""

    shards_metadata: list[ShardMetadata] = field(default_factory=list)
    size: torch.Size = field(default=torch.Size([]))
    tensor_properties: TensorProperties = field(default_factory=TensorProperties)
