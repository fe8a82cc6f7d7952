"""Programs of checkpoints, for both torches. Results are plain Python."""

import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from fsdp_programs import make, rounded, train, wrapped
from torch.distributed._shard import _shard_tensor
from torch.distributed._shard.sharded_tensor import ShardedTensor
from torch.distributed._shard.sharded_tensor import zeros as zeros_in_pieces
from torch.distributed._shard.sharding_spec import ChunkShardingSpec
from torch.distributed.checkpoint._dedup_tensors import dedup_tensors
from torch.distributed.checkpoint._traverse import get_element, print_tensor, set_element, traverse_state_dict
from torch.distributed.checkpoint.default_planner import (
    _create_default_local_metadata,
    create_default_global_save_plan,
    create_default_local_load_plan,
    create_default_local_save_plan,
)
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner_helpers import create_read_items_for_chunk_list
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from torch.distributed.checkpoint.utils import find_state_dict_object
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, zeros

FOLDER = os.environ.get("CHECKPOINTS", "")


def chunks(dim, size):
    return ChunkShardingSpec(dim, [f"rank:{r}/cpu" for r in range(size)])


def state(size):
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(70.0).view(7, 10)  # no chunk of it is empty: PyTorch refuses those
    return {
        "rows": distribute_tensor(whole, mesh, [Shard(0)]),
        "columns": distribute_tensor(whole, mesh, [Shard(1)]),
        "replicated": distribute_tensor(whole, mesh, [Replicate()]),
        "pieces": _shard_tensor(whole, chunks(1, size)),
        "plain": whole[:2].clone(),
        "scalar": torch.tensor(3.0),
        "nested": {"list": [torch.ones(2), {"a": 1}], "text": "abc", "number": 5},
    }


def emptied(state, placements):
    """The same with other placements, and no values."""
    if isinstance(state, DTensor):
        return zeros(*state.shape, device_mesh=state.device_mesh, placements=placements)
    if isinstance(state, ShardedTensor):
        return zeros_in_pieces(
            chunks(placements[0].dim if placements[0].is_shard() else 0, dist.get_world_size()), *state.size()
        )
    if isinstance(state, torch.Tensor):
        return torch.zeros_like(state)
    if isinstance(state, dict):
        return {k: emptied(v, placements) for k, v in state.items()}
    return [emptied(v, placements) for v in state] if isinstance(state, list) else None


def plain(x):
    if isinstance(x, ShardedTensor):
        out = torch.empty(x.size())
        for rank in range(dist.get_world_size()):
            x.gather(rank, out if rank == dist.get_rank() else None)
        return rounded(out)
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return [plain(v) for v in x] if isinstance(x, list) else rounded(x)


def saved(rank, size):
    """A folder in FOLDER, of this torch."""
    dcp.save(state(size), checkpoint_id=os.path.join(FOLDER, f"from{size}"))
    future = dcp.async_save(state(size), checkpoint_id=os.path.join(FOLDER, f"later{size}"))
    future.result()
    return sorted(name for name in os.listdir(os.path.join(FOLDER, f"from{size}")) if name.endswith("metadata"))


def loaded(rank, size):
    """What is in all folders of FOLDER, under other placements."""
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        for placements in ([Shard(0)], [Shard(1)], [Replicate()]):
            target = emptied(state(size), placements)
            dcp.load(target, checkpoint_id=os.path.join(FOLDER, name))
            found[name, str(placements)] = plain(target)
    try:
        dcp.load({"not there": torch.zeros(1)}, checkpoint_id=os.path.join(FOLDER, name))
    except dcp.CheckpointException as error:
        missing = [type(failure[0]).__name__ + ": " + str(failure[0]) for failure in error.failures.values()]
    found["missing"] = missing
    return found


def states(rank, size):
    """State dicts of a model under fully_shard, and training that goes on from them."""
    return of_models(rank, size, {"fully_shard": make})


def states_of_flat_parameters(rank, size):
    """The same in FullyShardedDataParallel, whose parameters the real torch loses on CPUs when they are offloaded."""
    return of_models(rank, size, {"flat": wrapped, "original": lambda: wrapped(use_orig_params=True)})


def of_models(rank, size, makers):
    found = {}
    for name, maker in makers.items():
        model = maker()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=False)
        train(model, rank, size, 2, optimizer)
        for full in (False, True):  # whole state shares its counters of steps with the optimizer
            options = StateDictOptions(full_state_dict=full)
            of_model, of_optimizer = get_state_dict(model, optimizer, options=options)
            found[name, full] = (
                [(k, rounded(v) if full else 0) for k, v in of_model.items()],
                sorted(of_optimizer["state"]),
            )
            other = maker()
            again = torch.optim.AdamW(other.parameters(), lr=0.01, foreach=False)
            if not full:
                folder = os.path.join(FOLDER, f"{name}-{size}")
                dcp.save({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=folder)
                of_model, of_optimizer = get_state_dict(other, again)
                dcp.load({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=folder)
            set_state_dict(other, again, model_state_dict=of_model, optim_state_dict=of_optimizer, options=options)
            train(other, rank, size, 2, again)
            found[name, full, "continued"] = [
                (k, rounded(v))
                for k, v in get_model_state_dict(other, options=StateDictOptions(full_state_dict=True)).items()
            ]
        flat = get_optimizer_state_dict(
            model, optimizer, options=StateDictOptions(full_state_dict=True, flatten_optimizer_state_dict=True)
        )
        found[name, "flat"] = sorted(flat)[:6], len(flat)
        only = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        found[name, "on one"] = len(only)
        third = maker()
        set_model_state_dict(third, only, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
        found[name, "from one"] = rounded(
            get_model_state_dict(third, options=StateDictOptions(full_state_dict=True))["head.bias"]
        )
    return found


def walked(rank, size):
    """Plans and metadata of a state dict, what an index names, and walks through nested state dicts."""
    state, found = {"a": torch.ones(3, 2), "b": 5}, []
    metadata, plan = _create_default_local_metadata(state), create_default_local_save_plan(state, True)
    found += [repr(metadata.state_dict_metadata), repr(plan), repr(dedup_tensors([plan, plan]))]
    found += [
        repr(create_default_global_save_plan(dedup_tensors([plan, plan]))[0]),
        repr(create_default_local_load_plan(state, metadata)),
    ]
    block = lambda at, count: ChunkStorageMetadata(torch.Size([at]), torch.Size([count]))
    saved = TensorStorageMetadata(TensorProperties(), torch.Size([16]), [block(0, 8), block(8, 8)])
    found.append(repr(create_read_items_for_chunk_list("a", saved, [block(4, 7)])))
    for index in (
        MetadataIndex("a"),
        MetadataIndex("a", [0, 0]),
        MetadataIndex("b"),
        MetadataIndex("x"),
        MetadataIndex("a", [1, 0]),
        MetadataIndex("b", [0]),
    ):
        try:
            found.append(repr(find_state_dict_object(state, index)))
        except ValueError as error:
            found.append(str(error))
    nested = {"k": [1, {"z": torch.ones(1)}], "l": [1, 2], "t": (torch.ones(1),), "d": {}}
    traverse_state_dict(nested, lambda path, value: found.append((path, repr(value))))
    found += [repr(get_element(nested, path, 3)) for path in (("k", 1, "z"), ("k", 5), ("q",))]
    made = {}
    set_element(made, ("a", 2, "b"), 1)
    for value in (torch.ones(2), 3, state_of_pieces := _shard_tensor(torch.ones(4), chunks(0, size))):
        print_tensor(("a",), value, found.append)
    return [*found, made, repr(_create_default_local_metadata({"p": state_of_pieces}).state_dict_metadata)]
