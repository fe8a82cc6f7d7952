"""Who writes and reads what: plans, and those who make them."""

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
    """What is written."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """Which block of what tensor."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: torch.Size


@dataclass(frozen=True)
class WriteItem:
    """One thing to write."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self):
        """Its size in bytes, or None."""
        if self.tensor_data is None:
            return None
        return reduce(operator.mul, self.tensor_data.size, 1) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """One block to read, from where and to where."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: torch.Size
    storage_index: MetadataIndex
    storage_offsets: torch.Size
    lengths: torch.Size


@dataclass(frozen=True)
class SavePlan:
    """What a rank writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a rank reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Plans a save: each rank its own, the coordinator all together."""

    @abc.abstractmethod
    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        """Take the state."""

    @abc.abstractmethod
    def create_local_plan(self):
        """This rank's plan."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans):
        """(all plans, made to fit each other; the checkpoint's metadata)."""

    @abc.abstractmethod
    def finish_plan(self, new_plan):
        """This rank's plan, of the fitted one."""

    @abc.abstractmethod
    def resolve_data(self, write_item):
        """The tensor, or a BytesIO."""


class LoadPlanner:
    """Plans a load."""

    @abc.abstractmethod
    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        """Take the state to fill."""

    @abc.abstractmethod
    def create_local_plan(self):
        """This rank's plan."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan):
        """All plans, made to fit each other."""

    @abc.abstractmethod
    def finish_plan(self, central_plan):
        """This rank's plan, of the fitted one."""

    @abc.abstractmethod
    def load_bytes(self, read_item, value):
        """Take what was read."""

    def resolve_bytes(self, read_item):
        """A BytesIO to read into."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item):
        """The tensor to read into."""

    @abc.abstractmethod
    def commit_tensor(self, read_item, tensor):
        """The tensor has been read."""
