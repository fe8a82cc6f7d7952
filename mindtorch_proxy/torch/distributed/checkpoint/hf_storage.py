"""Checkpoints as safetensors files, with full tensors or blocks."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from ...futures import Future
from ._consolidate_hf_safetensors import consolidate_safetensors_files
from ._hf_utils import DTYPES, INDEX, SHARDED, SUFFIX, file_name, read_header, read_tensor, write_file, write_index
from ._pieces import narrowed
from .filesystem import FileSystemReader, FileSystemWriter, _StorageInfo
from .metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import WriteItemType
from .storage import WriteResult

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


def _done(value=None):
    future = Future()
    future.set_result(value)
    return future


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes tensors into ``model-0000K-of-0000N.safetensors`` with an index.

    Args:
        path: the folder.
        fqn_to_index_mapping: ``{name: K}``, counted from 1; None puts all tensors of a rank into one file.
        thread_count: how many files a rank writes at once.
        save_distributed: whether every rank writes its own blocks, into ``shard-0000R-model-...``, without an index. If
            not, tensors must not be sharded.
        enable_consolidation: whether the blocks, written into ``path/sharded``, are consolidated into full tensors in
            `path`.
        thread_count_consolidation: how many consolidated files are written at once.

    Raises:
        NotImplementedError: when writing a value that is not a tensor, or a sharded tensor without `save_distributed`.
    """

    def __init__(
        self,
        path,
        fqn_to_index_mapping=None,
        thread_count=1,
        save_distributed=False,
        enable_consolidation=False,
        thread_count_consolidation=1,
    ):
        super().__init__(path, thread_count=thread_count)
        self.fqn_to_index_mapping, self.save_distributed = fqn_to_index_mapping, save_distributed
        self.enable_consolidation, self.thread_count_consolidation = enable_consolidation, thread_count_consolidation
        self.consolidated_output_path = None
        if enable_consolidation:
            self.consolidated_output_path = str(self.path)
            self.path = self.path / SHARDED

    def prepare_global_plan(self, plans):
        of_rank = lambda i: {"shard_index": i} if self.save_distributed else {}
        return [dataclasses.replace(plan, storage_data=of_rank(i)) for i, plan in enumerate(plans, start=1)]

    def write_data(self, plan, planner):
        mapping, files = self.fqn_to_index_mapping or {}, {}
        for item in plan.items:
            files.setdefault(mapping.get(item.index.fqn, 1), []).append(item)
        shard, largest = plan.storage_data.get("shard_index"), max([*mapping.values(), 1])
        with ThreadPoolExecutor(max(self.thread_count, 1)) as pool:
            results = list(
                pool.map(
                    lambda entry: self._write(file_name(entry[0], largest, shard), entry[1], planner), files.items()
                )
            )
        return _done([result for found in results for result in found])

    def _write(self, name, items, planner):
        tensors, offsets = {}, {}
        for item in items:
            fqn = item.index.fqn
            if item.type is WriteItemType.BYTE_IO:
                raise NotImplementedError(f"HuggingFaceStorageWriter: {fqn} is no tensor")
            chunk = item.tensor_data.chunk
            if not self.save_distributed and chunk.sizes != torch.Size(item.tensor_data.size):
                raise NotImplementedError(
                    f"HuggingFaceStorageWriter: {fqn} is in blocks; save_distributed=True writes those"
                )
            tensors[fqn], offsets[fqn] = planner.resolve_data(item), chunk.offsets
        lengths = write_file(self.path / name, tensors, offsets)
        return [WriteResult(i.index, lengths[i.index.fqn], _StorageInfo(name, 0, lengths[i.index.fqn])) for i in items]

    def finish(self, metadata, results):
        if self.save_distributed:
            if self.enable_consolidation:
                mapping = self.fqn_to_index_mapping or dict.fromkeys(metadata.state_dict_metadata, 1)
                consolidate_safetensors_files(
                    self.path, self.consolidated_output_path, mapping, self.thread_count_consolidation
                )
            return
        written = {r.index.fqn: r for rank in results for r in rank}
        places = {name: r.storage_data.relative_path for name, r in written.items()}
        write_index(self.path, places, sum(r.size_in_bytes for r in written.values()))

    @property
    def metadata_path(self):
        """The file name of the index."""
        return INDEX


class HuggingFaceStorageReader(FileSystemReader):
    """Reads all ``*.safetensors`` files of a folder, with full tensors or blocks.

    Args:
        path: the folder.
        thread_count: how many files are read at once.
    """

    def __init__(self, path, thread_count=1):
        super().__init__(path)
        self.thread_count = thread_count

    def read_metadata(self):
        stored, places = {}, {}
        for path in sorted(Path(self.path).glob(f"*{SUFFIX}")):
            for name, block in read_header(path).items():
                offsets, sizes = torch.Size(block.offsets or [0] * len(block.shape)), torch.Size(block.shape)
                end = [offset + size for offset, size in zip(offsets, sizes)]
                tensor = stored.setdefault(
                    name, TensorStorageMetadata(TensorProperties(dtype=DTYPES[block.dtype]), torch.Size(end), [])
                )
                tensor.size = torch.Size(map(max, tensor.size, end))
                tensor.chunks.append(ChunkStorageMetadata(offsets, sizes))
                places[MetadataIndex(name, offsets)] = path, block
        return Metadata(stored, storage_data=places, storage_meta=StorageMeta(load_id=self.load_id))

    def read_data(self, plan, planner):
        def read(item):
            whole = read_tensor(*self.storage_data[item.storage_index])
            target = planner.resolve_tensor(item).detach()
            found = narrowed(whole, item.storage_offsets, item.lengths)
            if target.size() != found.size():
                raise AssertionError(f"req {item.storage_index} mismatch sizes {target.size()} vs {found.size()}")
            target.copy_(found)
            planner.commit_tensor(item, target)

        if self.thread_count > 1:
            with ThreadPoolExecutor(self.thread_count) as pool:
                list(pool.map(read, plan.items))
        else:
            for item in plan.items:
                read(item)
        return _done()
