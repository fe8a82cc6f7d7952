"""Where checkpoints are: who writes and reads plans."""

import abc
from dataclasses import dataclass
from typing import Any

from .metadata import MetadataIndex, StorageMeta

__all__ = ["WriteResult", "StorageWriter", "StorageReader"]


@dataclass(frozen=True)
class WriteResult:
    """Where an item was written."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes checkpoints."""

    @abc.abstractmethod
    def reset(self, checkpoint_id=None):
        """Begin a checkpoint."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        """Get ready."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan):
        """Add what the storage needs to know to this rank's plan."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans):
        """The same for all."""

    @abc.abstractmethod
    def write_data(self, plan, planner):
        """Write: a future of a list of WriteResult."""

    @abc.abstractmethod
    def finish(self, metadata, results):
        """Write the metadata, on the coordinator."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether this storage has such checkpoints."""

    def storage_meta(self):
        """What the metadata says of the storage."""
        return StorageMeta()


class StorageReader(abc.ABC):
    """Reads checkpoints."""

    @abc.abstractmethod
    def reset(self, checkpoint_id=None):
        """Begin with a checkpoint."""

    @abc.abstractmethod
    def read_metadata(self, *args, **kwargs):
        """The metadata."""

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        """Get ready."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan):
        """Add what the storage needs to know to this rank's plan."""

    @abc.abstractmethod
    def prepare_global_plan(self, global_plan):
        """The same for all."""

    @abc.abstractmethod
    def read_data(self, plan, planner):
        """Read: a future."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether this storage has such checkpoints."""
