"""Save and load plans, and the base classes of planners."""

import abc
import operator
from dataclasses import dataclass
from enum import Enum, auto
from functools import reduce
from typing import Any

import torch

from .metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties

__all__ = [
    "WriteItemType",
    "LoadItemType",
    "BytesIOWriteData",
    "TensorWriteData",
    "WriteItem",
    "ReadItem",
    "SavePlan",
    "LoadPlan",
    "SavePlanner",
    "LoadPlanner",
]


class WriteItemType(Enum):
    """The kinds of items to write."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """The kinds of items to read."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """The size of a non-tensor item in bytes."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """The block to write, and the size and properties of its tensor."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: torch.Size


@dataclass(frozen=True)
class WriteItem:
    """An item to write."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self):
        """Return the size of the full tensor in bytes, or None if this is not a tensor."""
        if self.tensor_data is None:
            return None
        return reduce(operator.mul, self.tensor_data.size, 1) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """A block to read, with its source and destination."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: torch.Size
    storage_index: MetadataIndex
    storage_offsets: torch.Size
    lengths: torch.Size


@dataclass(frozen=True)
class SavePlan:
    """The items that a rank writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """The items that a rank reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Plans a save: each rank makes a local plan, and the coordinator makes the global plan."""

    @abc.abstractmethod
    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        """Store the state dict to save."""

    @abc.abstractmethod
    def create_local_plan(self):
        """Return this rank's plan."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans):
        """Return (the adjusted plans of all ranks, the checkpoint's metadata)."""

    @abc.abstractmethod
    def finish_plan(self, new_plan):
        """Return this rank's final plan from its part of the global plan."""

    @abc.abstractmethod
    def resolve_data(self, write_item):
        """Return the data of an item: a tensor or a BytesIO."""


class LoadPlanner:
    """Plans a load: each rank makes a local plan, and the coordinator makes the global plan."""

    @abc.abstractmethod
    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        """Store the state dict to fill."""

    @abc.abstractmethod
    def create_local_plan(self):
        """Return this rank's plan."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan):
        """Return the adjusted plans of all ranks."""

    @abc.abstractmethod
    def finish_plan(self, central_plan):
        """Return this rank's final plan from its part of the global plan."""

    @abc.abstractmethod
    def load_bytes(self, read_item, value):
        """Store a non-tensor value that was read."""

    def resolve_bytes(self, read_item):
        """Return a BytesIO to read into."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item):
        """Return the tensor to read into."""

    @abc.abstractmethod
    def commit_tensor(self, read_item, tensor):
        """Called when a tensor has been read."""
