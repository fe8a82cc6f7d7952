"""Loads state dicts."""

import warnings

from ._together import Together, storage_of, without_ranks
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader
from .stateful import Stateful

__all__ = ["load_state_dict", "load"]


def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None, no_dist=False):
    """Load a checkpoint into a state dict: tensors in place, and other values by replacement.

    Each rank reads the saved blocks that overlap its own, whatever the saved layout was.
    """
    alone = without_ranks(no_dist)
    if alone:
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to load in a single "
            "process.",
            stacklevel=2,
        )
    reader = storage_of(FileSystemReader, storage_reader, checkpoint_id)
    stateful = {key: value for key, value in state_dict.items() if isinstance(value, Stateful)}
    states = {key: value.state_dict() if key in stateful else value for key, value in state_dict.items()}
    _load(states, reader, planner, process_group, alone)
    for key in states:
        if key in stateful:
            stateful[key].load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """Older form of load()."""
    storage_reader.reset()
    _load(state_dict, storage_reader, planner, process_group, no_dist, coordinator_rank)


def _load(state_dict, reader, planner, group, alone, coordinator=0):
    ranks, planner = Together(group, alone, coordinator), planner or DefaultLoadPlanner()

    def local():
        metadata = reader.read_metadata()
        planner.set_up_planner(state_dict, metadata, ranks.is_coordinator)
        reader.set_up_storage_reader(metadata, ranks.is_coordinator)
        return reader.prepare_local_plan(planner.create_local_plan())

    plans = ranks.each("plan", local)
    plan = ranks.one("plan", lambda: reader.prepare_global_plan(planner.create_global_plan(plans)))[ranks.rank]
    ranks.each("read", lambda: reader.read_data(planner.finish_plan(plan), planner).wait())


def _load_state_dict_from_keys(keys=None, *, checkpoint_id=None, storage_reader=None, process_group=None):
    """Return a new state dict with all values of a checkpoint, or those with some names."""
    state, reader = {}, storage_of(FileSystemReader, storage_reader, checkpoint_id)
    keys = {keys} if isinstance(keys, str) else keys
    _load(state, reader, _EmptyStateDictLoadPlanner(keys=keys), process_group, without_ranks(False))
    return state


def _load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """Load into a state dict without Stateful objects."""
    _load(state_dict, storage_reader, planner, process_group, no_dist, coordinator_rank)
