"""Options of fully_shard."""

from dataclasses import dataclass

import torch

__all__ = ["MixedPrecisionPolicy", "OffloadPolicy", "CPUOffloadPolicy", "DataParallelMeshDims"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of parameters in computation, of gradients in reductions, and of outputs.

    It also sets whether floating-point inputs are cast.
    """

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    output_dtype: torch.dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """The policy that offloads nothing."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Keeps sharded parameters, gradients and optimizer state in host memory."""

    pin_memory: bool = True


@dataclass
class DataParallelMeshDims:
    """The names of the mesh dimensions over which parameters are sharded and replicated."""

    shard: str | tuple | None = None
    replicate: str | tuple | None = None

    def __post_init__(self):
        if self.shard is None and self.replicate is None:
            raise ValueError("At least one of shard or replicate must be set")

    @property
    def shard_names(self):
        """The shard dimensions as a tuple."""
        return () if self.shard is None else (self.shard,) if isinstance(self.shard, str) else tuple(self.shard)

    @property
    def replicate_names(self):
        """The replicate dimensions as a tuple."""
        return (
            ()
            if self.replicate is None
            else (self.replicate,)
            if isinstance(self.replicate, str)
            else tuple(self.replicate)
        )
