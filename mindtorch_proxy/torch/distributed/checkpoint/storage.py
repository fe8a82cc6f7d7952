"""Base classes of checkpoint storage: readers and writers."""

import abc
from dataclasses import dataclass
from typing import Any

from .metadata import MetadataIndex, StorageMeta

__all__ = ["WriteResult", "StorageWriter", "StorageReader"]


@dataclass(frozen=True)
class WriteResult:
    """The result of writing an item: its size and location."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes checkpoints."""

    @abc.abstractmethod
    def reset(self, checkpoint_id=None):
        """Start a new checkpoint."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        """Prepare for writing."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan):
        """Add storage data to this rank's plan."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans):
        """Add storage data to the plans of all ranks."""

    @abc.abstractmethod
    def write_data(self, plan, planner):
        """Write the items of a plan and return a future of a list of WriteResult."""

    @abc.abstractmethod
    def finish(self, metadata, results):
        """Write the metadata, on the coordinator only."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether this storage supports the checkpoint id."""

    def storage_meta(self):
        """Return the storage part of the metadata."""
        return StorageMeta()


class StorageReader(abc.ABC):
    """Reads checkpoints."""

    @abc.abstractmethod
    def reset(self, checkpoint_id=None):
        """Start reading a checkpoint."""

    @abc.abstractmethod
    def read_metadata(self, *args, **kwargs):
        """Read the metadata."""

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        """Prepare for reading."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan):
        """Add storage data to this rank's plan."""

    @abc.abstractmethod
    def prepare_global_plan(self, global_plan):
        """Add storage data to the plans of all ranks."""

    @abc.abstractmethod
    def read_data(self, plan, planner):
        """Read the items of a plan and return a future."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether this storage supports the checkpoint id."""
