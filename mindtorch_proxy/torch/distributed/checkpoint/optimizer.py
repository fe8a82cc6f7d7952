"""Loads sharded optimizer state from a checkpoint."""

from torch.distributed.tensor import Shard, zeros

from ..device_mesh import init_device_mesh
from ..distributed_c10d import get_world_size
from ._nested_dict import set_element
from .default_planner import DefaultLoadPlanner
from .metadata import BytesStorageMetadata
from .state_dict_loader import _load

__all__ = ["load_sharded_optimizer_state_dict"]


def load_sharded_optimizer_state_dict(model_state_dict, optimizer_key, storage_reader, planner=None):
    """Load the optimizer state of a checkpoint, sharded over all ranks as new DTensors."""
    metadata, mesh = storage_reader.read_metadata(), init_device_mesh("cpu", (get_world_size(),))
    state = {}
    for name, found in metadata.state_dict_metadata.items():
        path = (metadata.planner_data or {}).get(name, (name,))
        if path[0] != optimizer_key:
            continue
        if isinstance(found, BytesStorageMetadata):
            set_element(state, path, "<bytes_io>")
        else:
            whole = not found.size
            made = zeros(
                found.size, dtype=found.properties.dtype, device_mesh=mesh, placements=None if whole else [Shard(0)]
            )
            set_element(state, path, made.to_local() if whole else made)
    _load(state, storage_reader, planner or DefaultLoadPlanner(), None, False)
    return state
