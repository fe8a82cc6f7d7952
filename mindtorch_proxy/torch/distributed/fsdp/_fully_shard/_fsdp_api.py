"""Options of fully_shard."""

from dataclasses import dataclass

import torch

__all__ = ["MixedPrecisionPolicy", "OffloadPolicy", "CPUOffloadPolicy", "DataParallelMeshDims"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes in which parameters compute, gradients are reduced and results come out.

    Whether floating-point inputs are cast.
    """

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    output_dtype: torch.dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Nothing is offloaded."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Sharded parameters, gradients and state lie in the host's memory."""

    pin_memory: bool = True


@dataclass
class DataParallelMeshDims:
    """The names of the dimensions of a mesh over which parameters are sharded, and replicated."""

    shard: str | tuple | None = None
    replicate: str | tuple | None = None

    def __post_init__(self):
        if self.shard is None and self.replicate is None:
            raise ValueError("At least one of shard or replicate must be set")

    @property
    def shard_names(self):
        """As a tuple."""
        return () if self.shard is None else (self.shard,) if isinstance(self.shard, str) else tuple(self.shard)

    @property
    def replicate_names(self):
        """As a tuple."""
        return (
            ()
            if self.replicate is None
            else (self.replicate,)
            if isinstance(self.replicate, str)
            else tuple(self.replicate)
        )
