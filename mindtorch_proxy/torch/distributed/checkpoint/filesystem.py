"""Checkpoints in a folder.

The folder has the file ``.metadata``, and for each rank files of concatenated tensors, in PyTorch's format.
"""

import io
import os
import pickle
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ...futures import Future
from ._pieces import narrowed
from .metadata import StorageMeta
from .planner import LoadItemType, WriteItemType
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemWriter", "FileSystemReader"]
_METADATA, _SUFFIX, _VERSION = ".metadata", ".distcp", "1.0.0"


@dataclass
class _StorageInfo:
    """The location of an item: file, offset and length."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if v is not None}


@dataclass
class _StoragePrefix:
    prefix: str


def _is_path(checkpoint_id):
    return isinstance(checkpoint_id, Path) or "://" not in str(checkpoint_id)


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint to a folder."""

    def __init__(
        self,
        path,
        single_file_per_rank=True,
        sync_files=True,
        thread_count=1,
        per_thread_copy_ahead=10_000_000,
        cache_staged_state_dict=False,
        overwrite=True,
        _extensions=None,
        serialization_format=None,
    ):
        if (
            _extensions is not None
            or serialization_format is not None
            and getattr(serialization_format, "value", "") != "torch_save"
        ):
            raise NotImplementedError("extensions and formats other than torch.save's are not supported")
        self.path, self.single_file_per_rank, self.sync_files, self.thread_count = (
            Path(path),
            single_file_per_rank,
            sync_files,
            thread_count,
        )
        self.overwrite, self.save_id = overwrite, str(uuid.uuid4())

    def reset(self, checkpoint_id=None):
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        """Do nothing, because the folder is created in prepare_local_plan."""

    @property
    def checkpoint_id(self):
        """The path of the folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        return _is_path(checkpoint_id)

    def storage_meta(self):
        return StorageMeta(self.path, self.save_id)

    def prepare_local_plan(self, plan):
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _METADATA).exists() and not self.overwrite:
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
        return plan

    def prepare_global_plan(self, plans):
        return [replace(plan, storage_data=_StoragePrefix(f"__{i}_")) for i, plan in enumerate(plans)]

    def write_data(self, plan, planner):
        groups = (
            _spread(plan.items, self.thread_count) if self.single_file_per_rank else [[item] for item in plan.items]
        )
        named = [(f"{plan.storage_data.prefix}{i}{_SUFFIX}", items) for i, items in enumerate(groups)]
        with ThreadPoolExecutor(max(self.thread_count, 1)) as pool:
            results = [r for found in pool.map(lambda entry: self._write_file(*entry, planner), named) for r in found]
        future = Future()
        future.set_result(results)
        return future

    def _write_file(self, name, items, planner):
        results = []
        with open(self.path / name, "wb") as file:
            for item in items:
                start, data = file.tell(), planner.resolve_data(item)
                if item.type is WriteItemType.BYTE_IO:
                    file.write(data.getbuffer())
                else:
                    stream = io.BytesIO()
                    torch.save(data.detach().cpu().clone(memory_format=torch.contiguous_format), stream)
                    file.write(stream.getbuffer())
                length = file.tell() - start
                results.append(WriteResult(item.index, length, _StorageInfo(name, start, length)))
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        return results

    def finish(self, metadata, results):
        metadata.storage_data = {r.index: r.storage_data for found in results for r in found}
        metadata.storage_meta, metadata.version = self.storage_meta(), _VERSION
        temporary = self.path / f"{_METADATA}.tmp"
        with open(temporary, "wb") as file:
            pickle.dump(metadata, file)
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, self.path / _METADATA)


def _spread(items, count):
    """Distribute items among ``count`` groups of about equal size."""
    if count <= 1:
        return [list(items)] if items else []
    groups, sizes = [[] for _ in range(count)], [0] * count
    for item in sorted(items, key=lambda i: -(i.tensor_storage_size() or 0)):
        at = sizes.index(min(sizes))
        groups[at].append(item)
        sizes[at] += item.tensor_storage_size() or 1
    return [g for g in groups if g]


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder.

    The metadata is a pickle, so only read checkpoints that you trust.
    """

    def __init__(self, path, _extension_registry=None):
        self.path, self.storage_data, self.load_id = Path(path), {}, str(uuid.uuid4())

    def reset(self, checkpoint_id=None):
        self.storage_data, self.load_id = {}, str(uuid.uuid4())
        if checkpoint_id:
            self.path = Path(checkpoint_id)

    @property
    def checkpoint_id(self):
        """The path of the folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        return _is_path(checkpoint_id)

    def read_metadata(self, *args, **kwargs):
        with open(self.path / _METADATA, "rb") as file:
            metadata = pickle.load(file)
        if getattr(metadata, "storage_meta", None) is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan):
        return plan

    def prepare_global_plan(self, global_plan):
        return global_plan

    def read_data(self, plan, planner):
        by_file = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        for name, items in by_file.items():
            with open(self.path / name, "rb") as file:
                for item in sorted(items, key=lambda i: self.storage_data[i.storage_index].offset):
                    self._read(file, item, planner)
        future = Future()
        future.set_result(None)
        return future

    def _read(self, file, item, planner):
        info = self.storage_data[item.storage_index]
        if getattr(info, "transform_descriptors", None):
            raise NotImplementedError(
                f"the transforms {info.transform_descriptors} of a checkpoint's files are not supported"
            )
        file.seek(info.offset)
        stream = io.BytesIO(file.read(info.length))
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, stream)
            return
        tensor = narrowed(torch.load(stream, map_location="cpu", weights_only=True), item.storage_offsets, item.lengths)
        target = planner.resolve_tensor(item).detach()
        if target.size() != tensor.size():
            raise AssertionError(f"req {item.storage_index} mismatch sizes {target.size()} vs {tensor.size()}")
        target.copy_(tensor)
        planner.commit_tensor(item, target)
