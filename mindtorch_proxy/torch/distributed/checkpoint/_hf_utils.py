"""Reading and writing safetensors files: the length of the header, the header in JSON, then the tensors' bytes.

A tensor of such a file may be a block of a larger tensor; the file's metadata then has the offsets of each block. The
format: https://huggingface.co/docs/safetensors/index#format
"""

import json
import math
import struct
from dataclasses import dataclass

import torch

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "C64": torch.complex64,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U64": torch.uint64,
    "U32": torch.uint32,
    "U16": torch.uint16,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_OF_FILE, _BLOCKS, _VERSION = "__metadata__", "DCP_SHARDING_INFO", "DCP_VERSION"
INDEX, SUFFIX, SHARDED = "model.safetensors.index.json", ".safetensors", "sharded"


@dataclass
class Stored:
    """A tensor, or a block of one, in a file.

    It has the name of the dtype, the shape, the start and end of its bytes, and its offsets in the full tensor.
    """

    dtype: str
    shape: list
    begin: int
    end: int
    offsets: list | None


def file_name(index, largest_index, shard_index=None):
    """Return the name of the file with number ``index`` out of ``largest_index``.

    `shard_index` numbers the ranks from 1 if each rank writes its own files.
    """
    shard = "" if shard_index is None else f"shard-{shard_index:05}-"
    return f"{shard}model-{index:05}-of-{largest_index:05}{SUFFIX}"


def read_header(path):
    """Return ``{name: Stored}`` for a file."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    blocks = json.loads(header.pop(_OF_FILE, {}).get(_BLOCKS, "null"))
    return {
        name: Stored(
            entry["dtype"],
            entry["shape"],
            *(8 + length + at for at in entry["data_offsets"]),
            blocks and blocks[name]["saved_offsets"],
        )
        for name, entry in header.items()
    }


def read_tensor(path, stored):
    """Read a stored tensor into newly allocated memory."""
    with open(path, "rb") as file:
        file.seek(stored.begin)
        content = bytearray(file.read(stored.end - stored.begin))
    dtype = DTYPES[stored.dtype]
    return (
        torch.frombuffer(content, dtype=dtype).reshape(stored.shape)
        if content
        else torch.empty(stored.shape, dtype=dtype)
    )


def write_file(path, tensors, offsets=None):
    """Write ``{name: tensor}`` to a file and return ``{name: number of bytes}``.

    `offsets` are the offsets of blocks in the full tensors.

    Raises:
        NotImplementedError: for a dtype that the format does not support.
    """
    header = {_OF_FILE: {"format": "pt"}}
    if offsets is not None:
        header[_OF_FILE] |= {
            _BLOCKS: json.dumps({name: {"saved_offsets": list(at)} for name, at in offsets.items()}),
            _VERSION: "1.0",
        }
    at, lengths = 0, {}
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES:
            raise NotImplementedError(
                f"{name}: {tensor.dtype} on {tensor.device} cannot be stored in a file of safetensors"
            )
        lengths[name] = math.prod(tensor.shape) * tensor.element_size()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + lengths[name]],
        }
        at += lengths[name]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return lengths


def write_index(folder, places, total_size):
    """Write the index, which maps each tensor to its file."""
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": total_size}, "weight_map": places}, indent=2))
