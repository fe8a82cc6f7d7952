"""DTensor: tensors that are sharded, replicated or partial over the ranks of a mesh."""

from ..device_mesh import DeviceMesh, init_device_mesh
from ._api import DTensor, distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "distribute_tensor",
    "distribute_module",
    "Shard",
    "Replicate",
    "Partial",
    "Placement",
    "ones",
    "empty",
    "full",
    "rand",
    "randn",
    "zeros",
]
for _object in (DTensor, distribute_tensor, distribute_module, ones, empty, full, rand, randn, zeros):
    _object.__module__ = "torch.distributed.tensor"
