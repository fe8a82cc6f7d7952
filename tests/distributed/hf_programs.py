"""Programs of checkpoints in files of safetensors, for both torches. Results are plain Python."""

import json
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint._consolidate_hf_safetensors import (
    consolidate_safetensors_files,
    consolidate_safetensors_files_on_every_rank,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

FOLDER = os.environ.get("CHECKPOINTS", "")
WAYS = {
    "together": dict(save_distributed=True, enable_consolidation=True),
    "in_files": dict(
        save_distributed=True,
        enable_consolidation=True,
        thread_count=2,
        thread_count_consolidation=2,
        fqn_to_index_mapping={"rows": 1, "columns": 2, "both": 2, "half": 1, "cube": 3},
    ),
    "apart": dict(save_distributed=True),
}


def state(size):
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(70.0).view(7, 10)
    return {
        "rows": distribute_tensor(whole, mesh, [Shard(0)]),
        "columns": distribute_tensor(whole, mesh, [Shard(1)]),
        "both": distribute_tensor(whole * 2, mesh, [Replicate()]),
        "half": distribute_tensor(whole.bfloat16(), mesh, [Shard(0)]),
        "cube": distribute_tensor(torch.arange(24.0).view(2, 4, 3), mesh, [Shard(1)]),
    }


def saved(rank, size):
    for name, options in WAYS.items():
        dcp.save(state(size), storage_writer=dcp.HuggingFaceStorageWriter(f"{FOLDER}/{name}", **options))
    dist.barrier()
    mapping = {"rows": 1, "columns": 2, "both": 1, "half": 2, "cube": 2}
    os.makedirs(f"{FOLDER}/every_rank", exist_ok=True)
    consolidate_safetensors_files_on_every_rank(f"{FOLDER}/apart", f"{FOLDER}/every_rank", mapping)
    if rank == 0:
        os.makedirs(f"{FOLDER}/afterwards", exist_ok=True)
        consolidate_safetensors_files(f"{FOLDER}/apart", f"{FOLDER}/afterwards", dict.fromkeys(mapping, 1))
    dist.barrier()
    return files()


def files():
    """The names of all files, and what their indices say."""
    found = {}
    for folder, _, names in os.walk(FOLDER):
        found[os.path.relpath(folder, FOLDER)] = sorted(names)
        for name in names:
            if name.endswith(".json"):
                with open(os.path.join(folder, name)) as file:
                    found[os.path.relpath(os.path.join(folder, name), FOLDER)] = json.load(file)
    return found


def loaded(rank, size):
    """Whole tensors of everything that `saved` has written, read into other placements."""
    mesh, result = init_device_mesh("cpu", (size,)), {}
    for name in ("together", "in_files", "apart", "every_rank", "afterwards"):
        empty = {
            key: distribute_tensor(torch.zeros(t.shape, dtype=t.dtype), mesh, [Shard(t.ndim - 1)])
            for key, t in state(size).items()
        }
        dcp.load(empty, storage_reader=dcp.HuggingFaceStorageReader(f"{FOLDER}/{name}", thread_count=2))
        result[name] = {key: t.full_tensor().tolist() for key, t in empty.items()}
    return result
