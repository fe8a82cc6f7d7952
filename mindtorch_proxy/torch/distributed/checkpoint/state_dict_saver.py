"""Saves state dicts."""

import copy
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum

import torch

from .. import distributed_c10d as c10d
from .._shard.sharded_tensor import ShardedTensor
from ..tensor import DTensor
from ._together import Together, storage_of, without_ranks
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .stateful import Stateful

__all__ = ["save_state_dict", "save", "async_save", "AsyncCheckpointerType", "AsyncSaveResponse"]


class AsyncCheckpointerType(Enum):
    """Whether an asynchronous save runs in a thread or a process."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """The futures of the staging and of the upload."""

    staging_completion: object
    upload_completion: object


def _states(state_dict):
    return {
        key: value.state_dict() if isinstance(value, Stateful) and not isinstance(value, torch.Tensor) else value
        for key, value in state_dict.items()
    }


def save(
    state_dict,
    *,
    checkpoint_id=None,
    storage_writer=None,
    planner=None,
    process_group=None,
    no_dist=False,
    use_collectives=True,
):
    """Save a state dict.

    Each rank writes its own blocks of DTensors; other values are written by one rank only.
    """
    alone = without_ranks(no_dist)
    if alone:
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to save in a single "
            "process.",
            stacklevel=2,
        )
    if not use_collectives:
        raise NotImplementedError("save without collectives is not supported")
    return _save(
        _states(state_dict), storage_of(FileSystemWriter, storage_writer, checkpoint_id), planner, process_group, alone
    )


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """Older form of save()."""
    storage_writer.reset()
    return _save(state_dict, storage_writer, planner, process_group, no_dist, coordinator_rank)


def _save(state_dict, writer, planner, group, alone, coordinator=0):
    ranks, planner = Together(group, alone, coordinator), planner or DefaultSavePlanner()

    def local():
        planner.set_up_planner(state_dict, writer.storage_meta(), ranks.is_coordinator)
        writer.set_up_storage_writer(ranks.is_coordinator)
        return writer.prepare_local_plan(planner.create_local_plan())

    plans = ranks.each("plan", local)
    known = []

    def together():
        fitted, metadata = planner.create_global_plan(plans)
        known.append(metadata)
        return writer.prepare_global_plan(fitted)

    plan = ranks.one("plan", together)[ranks.rank]
    results = ranks.each("write", lambda: writer.write_data(planner.finish_plan(plan), planner).wait())
    return ranks.one("write", lambda: (writer.finish(known[0], results), known[0])[1])


_ASYNC: dict = {}  # default group: (a separate group for background saves, the thread that runs them)


def _copied(value):
    """Copy a state, so that later steps do not change it."""
    if isinstance(value, DTensor):
        return DTensor(value._local_tensor.detach().clone(), value._spec)
    if isinstance(value, torch.Tensor) and not isinstance(value, ShardedTensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return type(value)(map(_copied, value)) if type(value) in (list, tuple) else copy.deepcopy(value)


def async_save(
    state_dict,
    *,
    checkpoint_id=None,
    storage_writer=None,
    planner=None,
    process_group=None,
    async_checkpointer_type=AsyncCheckpointerType.THREAD,
    async_stager=None,
    no_dist=False,
    use_collectives=True,
):
    """Copy a state dict, save the copy in the background and return a future.

    Saves run one after another.
    """
    if async_checkpointer_type is AsyncCheckpointerType.PROCESS or async_stager is not None or not use_collectives:
        raise NotImplementedError(
            "async_save in a process of its own, with a stager or without collectives is not supported"
        )
    alone = without_ranks(no_dist)
    default = None if alone else c10d._get_default_group()
    if default not in _ASYNC:
        _ASYNC[default] = None if alone else c10d.new_group(group_desc="async_save"), ThreadPoolExecutor(1)
    group, pool = _ASYNC[default]
    state, writer = _copied(_states(state_dict)), storage_of(FileSystemWriter, storage_writer, checkpoint_id)
    return pool.submit(_save, state, writer, planner, process_group or group, alone)
