"""Metadata of a shard."""

from dataclasses import dataclass, field

import torch

from ..remote_device import _remote_device

__all__ = ["ShardMetadata"]


@dataclass
class ShardMetadata:
    """The offsets, sizes and device of a shard."""

    shard_offsets: list[int]
    shard_sizes: list[int]
    placement: _remote_device | None

    def __init__(self, shard_offsets, shard_sizes, placement=None):
        self.shard_offsets, self.shard_sizes = shard_offsets, shard_sizes
        self.placement = _remote_device(placement) if isinstance(placement, str) else placement
        if len(shard_offsets) != len(shard_sizes):
            raise ValueError(
                f"shard_offsets and shard_sizes should have the same number of elements, found {len(shard_offsets)} "
                f"and {len(shard_sizes)} respectively"
            )
        if any(n < 0 for n in shard_offsets):
            raise ValueError("shard_offsets should be >=0")
        if any(n < 0 for n in shard_sizes):
            raise ValueError("shard_sizes should be >= 0")

    def __hash__(self):
        return hash((*self.shard_offsets, *self.shard_sizes))


_FORMATS = [torch.contiguous_format, torch.channels_last, torch.preserve_format]


@dataclass
class _TensorProperties:
    """Tensor properties apart from sizes.

    Memory formats cannot be pickled, so they are encoded by the class's ``_encoding`` enum.
    """

    dtype: torch.dtype = field(default_factory=torch.get_default_dtype)
    layout: torch.layout = field(default=torch.strided)
    requires_grad: bool = False
    memory_format: torch.memory_format = field(default=torch.contiguous_format)
    pin_memory: bool = False

    def __getstate__(self):
        return (
            self.dtype,
            self.layout,
            self.requires_grad,
            self._encoding(_FORMATS.index(self.memory_format)),
            self.pin_memory,
        )

    def __setstate__(self, state):
        self.dtype, self.layout, self.requires_grad, encoding, self.pin_memory = state
        self.memory_format = _FORMATS[encoding.value]

    @classmethod
    def create_from_tensor(cls, tensor):
        """Return the properties of a tensor."""
        return cls(tensor.dtype, tensor.layout, tensor.requires_grad, torch.contiguous_format, False)
