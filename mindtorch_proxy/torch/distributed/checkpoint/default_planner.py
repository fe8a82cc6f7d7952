"""Default planners for saving and loading state dicts of tensors, DTensors and picklable objects."""

import dataclasses
import io

import torch

from ._nested_dict import flatten_state_dict
from ._pieces import block_of, chunks_of, narrowed, overlaps
from ._traverse import set_element
from .metadata import BytesStorageMetadata, Metadata, MetadataIndex, TensorStorageMetadata
from .planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItemType
from .planner_helpers import _all_write_items, _create_write_items

__all__ = [
    "DefaultSavePlanner",
    "DefaultLoadPlanner",
    "create_default_local_load_plan",
    "create_default_global_load_plan",
]
__all__ += ["create_default_local_save_plan", "create_default_global_save_plan"]


class DefaultSavePlanner(SavePlanner):
    """Plans that each rank writes its own blocks; an item held by several ranks is written by one of them."""

    def __init__(
        self,
        flatten_state_dict=True,
        flatten_sharded_tensors=True,
        dedup_replicated_tensors=None,
        dedup_save_to_lowest_rank=False,
    ):
        self.flatten_state_dict, self.dedup_save_to_lowest_rank = flatten_state_dict, dedup_save_to_lowest_rank
        self.mappings = {}

    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self):
        items = create_default_local_save_plan(self.state_dict, self.is_coordinator).items
        self.plan = SavePlan(items, planner_data=self.mappings or None)
        return self.plan

    def create_global_plan(self, all_plans):
        numbered, self.metadata = create_default_global_save_plan(
            _without_duplicates(all_plans, self.dedup_save_to_lowest_rank)
        )
        self.global_plan = numbered
        _check(self.metadata)
        if self.flatten_state_dict:
            self.metadata.planner_data = {
                name: path for plan in all_plans for name, path in (plan.planner_data or {}).items()
            }
        return numbered, self.metadata

    def finish_plan(self, new_plan):
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item):
        value = self.lookup_object(write_item.index)
        return self.transform_object(write_item, value)

    def lookup_object(self, index):
        """Return the value or the tensor block that an index refers to."""
        value = self.state_dict[index.fqn]
        return block_of(value, index) if isinstance(value, torch.Tensor) else value

    def transform_object(self, write_item, object):
        """Serialize an object to bytes unless it is a tensor."""
        if write_item.type is WriteItemType.BYTE_IO:
            stream = io.BytesIO()
            torch.save(object, stream)
            return stream
        return object


def _without_duplicates(plans, lowest):
    """Keep each item on one rank only: the lowest, or the one with the least to write so far."""
    holders = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            holders.setdefault(item.index, []).append((rank, item))
    load, kept = [0] * len(plans), [set() for _ in plans]
    for index, found in sorted(holders.items(), key=lambda entry: len(entry[1])):
        rank, item = found[0] if lowest else min(found, key=lambda f: load[f[0]])
        size = 1
        for n in item.tensor_data.chunk.sizes if item.tensor_data else ():
            size *= n
        load[rank] += size
        kept[rank].add(index)
    return [
        dataclasses.replace(plan, items=[i for i in plan.items if i.index in kept[rank]])
        for rank, plan in enumerate(plans)
    ]


def _check(metadata):
    """Raise ValueError unless the blocks fill each tensor."""
    for name, found in metadata.state_dict_metadata.items():
        if isinstance(found, TensorStorageMetadata):
            count = lambda sizes: torch.Size(sizes).numel()
            if sum(count(c.sizes) for c in found.chunks) != count(found.size):
                raise ValueError(
                    f"Failed to validate global plan: the blocks of {name} do not fill a tensor of {found.size}"
                )


class DefaultLoadPlanner(LoadPlanner):
    """Plans that each rank reads the saved blocks that overlap its own."""

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True, allow_partial_load=False):
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load
        self.original_state_dict, self.mappings = {}, {}

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self):
        if self.metadata is None:
            raise AssertionError("metadata must be set")
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan):
        return global_plan

    def finish_plan(self, central_plan):
        return central_plan

    def load_bytes(self, read_item, value):
        loaded = torch.load(value, weights_only=False)
        self.state_dict[read_item.dest_index.fqn] = loaded
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[read_item.dest_index.fqn], loaded)

    def resolve_tensor(self, read_item):
        return narrowed(self.lookup_tensor(read_item.dest_index), read_item.dest_offsets, read_item.lengths)

    def commit_tensor(self, read_item, tensor):
        """Do nothing, because the tensor was read in place."""

    def lookup_tensor(self, index):
        """Return the block that an index refers to."""
        return block_of(self.state_dict[index.fqn], index).detach()


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads all values of a checkpoint, or those with some names, into new tensors."""

    def __init__(self, keys=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.keys = keys

    def _wanted(self, name, metadata):
        if self.keys is None:
            return True
        path = (metadata.planner_data or {}).get(name, (name,))
        prefixes = {".".join(map(str, path[: i + 1])) for i in range(len(path))}
        return bool(prefixes & set(self.keys)) or name in self.keys

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        if state_dict:
            raise AssertionError("the state dict must be empty")
        for name, found in metadata.state_dict_metadata.items():
            if self._wanted(name, metadata):
                tensor = isinstance(found, TensorStorageMetadata)
                value = torch.empty(found.size, dtype=found.properties.dtype) if tensor else None
                set_element(state_dict, (metadata.planner_data or {}).get(name, (name,)), value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


def create_default_local_save_plan(state_dict, is_coordinator):
    """Plan to save all that this rank holds of a flat state dict: its blocks of tensors, and all other values."""
    return SavePlan([item for name, value in state_dict.items() for item in _create_write_items(name, value)])


def _create_default_local_metadata(state_dict):
    """Return the metadata of a checkpoint of a flat state dict, as far as this rank knows it."""
    return create_default_global_save_plan(
        [SavePlan([item for name, value in state_dict.items() for item in _all_write_items(name, value)])]
    )[1]


def create_default_global_save_plan(all_plans, rewrite_index_hints=True):
    """Return (plans in which the blocks of each tensor are numbered, the checkpoint's metadata)."""
    found, numbered = {}, []
    for plan in all_plans:
        items = []
        for item in plan.items:
            if item.type is WriteItemType.BYTE_IO:
                found.setdefault(item.index.fqn, BytesStorageMetadata())
                items.append(item)
                continue
            data = item.tensor_data
            known = found.setdefault(item.index.fqn, TensorStorageMetadata(data.properties, data.size, []))
            items.append(
                dataclasses.replace(item, index=dataclasses.replace(item.index, index=len(known.chunks)))
                if rewrite_index_hints
                else item
            )
            known.chunks.append(data.chunk)
        numbered.append(dataclasses.replace(plan, items=items))
    return numbered, Metadata(found)


def create_default_local_load_plan(state_dict, metadata, strict=True):
    """Plan what to read for a flat state dict."""
    items = []
    for name, value in state_dict.items():
        found = metadata.state_dict_metadata.get(name)
        if found is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if isinstance(found, BytesStorageMetadata):
            index, none = MetadataIndex(name), torch.Size((0,))
            items.append(ReadItem(LoadItemType.BYTE_IO, index, none, index, none, none))
            continue
        if not isinstance(value, torch.Tensor):
            raise ValueError(
                f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found {type(found)}"
            )
        if found.size != torch.Size(value.shape):
            raise ValueError(f"Size mismatch between saved {found.size} and current: {value.size()} for {name}")
        items += overlaps(name, found.chunks, [chunk for chunk, _ in chunks_of(value)])
    return LoadPlan(items)


def create_default_global_load_plan(all_plans):
    """Return all plans unchanged."""
    return all_plans
