"""What is known of a tensor in pieces without its data."""

from dataclasses import dataclass, field
from enum import Enum

import torch

from ..metadata import ShardMetadata, _TensorProperties

__all__ = []


class MEM_FORMAT_ENCODING(Enum):
    """Memory formats, as they are pickled."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties(_TensorProperties):
    """What else makes a tensor."""

    _encoding = MEM_FORMAT_ENCODING


@dataclass
class ShardedTensorMetadata:
    """All pieces, the whole's sizes and properties."""

    shards_metadata: list[ShardMetadata] = field(default_factory=list)
    size: torch.Size = field(default=torch.Size([]))
    tensor_properties: TensorProperties = field(default_factory=TensorProperties)
