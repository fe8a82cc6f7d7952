"""Checkpoints as files of safetensors: a length, a header in JSON, and the tensors' bytes."""

import json
import struct
from pathlib import Path

import torch

from ...futures import Future
from ._pieces import narrowed
from .filesystem import FileSystemReader, FileSystemWriter, _StorageInfo
from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties, TensorStorageMetadata
from .planner import WriteItemType
from .storage import WriteResult

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_NAMES = {d: n for n, d in _DTYPES.items()}
_INDEX = "model.safetensors.index.json"


def _done(value=None):
    future = Future()
    future.set_result(value)
    return future


def _header(path):
    """(header, where the bytes begin)."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length)), 8 + length


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes whole tensors into ``model-0000K-of-0000N.safetensors`` with an index; ``fqn_to_index_mapping`` says which K each name goes to."""

    def __init__(self, path, fqn_to_index_mapping=None, thread_count=1, save_distributed=False, enable_consolidation=False, thread_count_consolidation=1):
        super().__init__(path)
        if save_distributed:
            raise NotImplementedError("HuggingFaceStorageWriter(save_distributed=True): parts of tensors in safetensors files, on any device and dtype")
        self.mapping = fqn_to_index_mapping

    def prepare_global_plan(self, plans):
        return plans

    def write_data(self, plan, planner):
        files = {}
        for item in plan.items:
            if item.type is WriteItemType.BYTE_IO:
                raise NotImplementedError(f"HuggingFaceStorageWriter: {item.index.fqn} is no tensor")
            data = item.tensor_data
            if data.chunk.sizes != torch.Size(data.size):
                raise NotImplementedError(f"HuggingFaceStorageWriter: {item.index.fqn} is in parts; use full state dicts")
            files.setdefault((self.mapping or {}).get(item.index.fqn, 1), []).append(item)
        count, results = max([*(self.mapping or {}).values(), 1]), []
        for number, items in files.items():
            name = f"model-{number:05}-of-{count:05}.safetensors"
            header, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
            for item in items:
                t = planner.resolve_data(item).detach().cpu().contiguous()
                blob = t.reshape(-1).view(torch.uint8).numpy().tobytes()
                header[item.index.fqn] = {"dtype": _NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + len(blob)]}
                results.append(WriteResult(item.index, len(blob), _StorageInfo(name, at, len(blob))))
                blobs.append(blob)
                at += len(blob)
            text = json.dumps(header).encode()
            text += b" " * (-len(text) % 8)
            (self.path / name).write_bytes(b"".join([struct.pack("<Q", len(text)), text, *blobs]))
        return _done(results)

    def finish(self, metadata, results):
        places = {r.index.fqn: r for rank in results for r in rank}
        index = {
            "metadata": {"total_size": sum(r.size_in_bytes for r in places.values())},
            "weight_map": {n: r.storage_data.relative_path for n, r in places.items()},
        }
        (self.path / _INDEX).write_text(json.dumps(index, indent=2))


class HuggingFaceStorageReader(FileSystemReader):
    """Reads all ``*.safetensors`` of a folder."""

    def __init__(self, path, thread_count=1):
        super().__init__(path)

    def read_metadata(self):
        stored, places = {}, {}
        for path in sorted(Path(self.path).glob("*.safetensors")):
            header, begin = _header(path)
            for name, entry in header.items():
                if name == "__metadata__":
                    continue
                shape, (start, stop) = torch.Size(entry["shape"]), entry["data_offsets"]
                zero = torch.Size([0] * len(shape))
                properties = TensorProperties(dtype=_DTYPES[entry["dtype"]])
                stored[name] = TensorStorageMetadata(properties, shape, [ChunkStorageMetadata(zero, shape)])
                places[MetadataIndex(name, zero)] = _StorageInfo(path.name, begin + start, stop - start)
        return Metadata(stored, storage_data=places, storage_meta=StorageMeta(load_id=self.load_id))

    def read_data(self, plan, planner):
        metadata = self.read_metadata().state_dict_metadata
        for item in plan.items:
            name, place = item.storage_index.fqn, self.storage_data[item.storage_index]
            with open(self.path / place.relative_path, "rb") as file:
                file.seek(place.offset)
                content = bytearray(file.read(place.length))
            entry = metadata[name]
            stored = torch.frombuffer(content, dtype=entry.properties.dtype).reshape(entry.size) if content else torch.empty(entry.size)
            target = planner.resolve_tensor(item)
            target.copy_(narrowed(stored, item.storage_offsets, item.lengths))
            planner.commit_tensor(item, target)
        return _done()
