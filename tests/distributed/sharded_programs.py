"""Tensors in pieces of the older kind, for both torches. Results are plain Python."""

import copy
import pickle
import warnings

import torch
import torch.distributed as dist
from composable_programs import said
from torch.distributed._shard import _shard_tensor
from torch.distributed._shard.metadata import ShardMetadata
from torch.distributed._shard.sharded_tensor import (
    Shard,
    ShardedTensor,
    ShardedTensorMetadata,
    TensorProperties,
    full,
    init_from_local_shards,
    pre_load_state_dict_hook,
    state_dict_hook,
    zeros,
)
from torch.distributed._shard.sharding_spec import (
    ChunkShardingSpec,
    DevicePlacementSpec,
    EnumerableShardingSpec,
    _infer_sharding_spec_from_shards_metadata,
)

warnings.simplefilter("ignore")


def pieces(*spans, ranks=None):
    return [ShardMetadata(list(o), list(s), f"rank:{r}/cpu") for r, (o, s) in zip(ranks or range(len(spans)), spans)]


def specs(rank, size):
    """Which pieces make which tensors."""
    halves = pieces(((0, 0), (3, 4)), ((3, 0), (3, 4)))
    quarters = pieces(((0, 0), (2, 2)), ((0, 2), (2, 2)), ((2, 0), (2, 2)), ((2, 2), (2, 2)))
    found = [
        repr(DevicePlacementSpec("rank:1/cpu")),
        repr(ChunkShardingSpec(0, ["rank:0/cpu", "rank:1/cpu"])),
        ChunkShardingSpec(0, ["rank:0/cpu"]) == ChunkShardingSpec(0, ["rank:0/cpu"]),
    ]
    properties = TensorProperties(torch.float64, requires_grad=True)
    for n, count, dim in ((7, 3, 0), (2, 4, -1), (0, 2, 1), (6, 2, 1)):
        built = ChunkShardingSpec(dim, [f"rank:{i}/cpu" for i in range(count)]).build_metadata(
            torch.Size((n, n)), properties
        )
        found.append((repr(built.shards_metadata), built.size, built.tensor_properties == properties))
        found.append(said(lambda: repr(_infer_sharding_spec_from_shards_metadata(built.shards_metadata))))
    for listed in (halves, quarters, pieces(((0, 0), (2, 4)), ((2, 0), (4, 4))), pieces(((0,), (5,)))):
        found.append(repr(_infer_sharding_spec_from_shards_metadata(listed)))
    refused = (
        lambda: ChunkShardingSpec("N", ["rank:0/cpu"]),
        lambda: ChunkShardingSpec(None, ["rank:0/cpu"]),
        lambda: ChunkShardingSpec(0, ["a/b/c"]),
        lambda: ChunkShardingSpec(2, ["rank:0/cpu"]).build_metadata(torch.Size((2, 2)), properties),
        lambda: EnumerableShardingSpec([]),
        lambda: EnumerableShardingSpec(pieces(((0, 0), (1, 1)), ((0,), (1,)))),
        lambda: EnumerableShardingSpec(pieces(((0, 0), (3, 4)), ((2, 0), (3, 4)))),
        lambda: EnumerableShardingSpec(pieces(((0, 0), (3, 3)), ((0, 3), (3, 3)), ((2, 2), (2, 2)))),
        lambda: EnumerableShardingSpec(pieces(((0, 0), (2, 2)), ((0, 0), (2, 2)))),
        lambda: EnumerableShardingSpec(halves).build_metadata(torch.Size((6, 5)), properties),
        lambda: EnumerableShardingSpec(halves).build_metadata(torch.Size((5, 4)), properties),
        lambda: EnumerableShardingSpec(halves).build_metadata(torch.Size((6,)), properties),
        lambda: EnumerableShardingSpec(halves).shard(torch.ones(6, 4)),
        lambda: Shard(torch.ones(2), ShardMetadata([0], [3], "rank:0/cpu")),
    )
    found += [said(f) for f in refused]
    found.append(
        pickle.loads(pickle.dumps(ShardedTensorMetadata(halves, torch.Size((6, 4)), properties)))
        == ShardedTensorMetadata(halves, (6, 4), properties)
    )
    return found, repr(Shard.from_tensor_and_offsets(torch.ones(2, 2), [0, 2], 1).metadata)


def tensors(rank, size):
    """Made, gathered, copied; what does not fit."""
    spec = ChunkShardingSpec(0, [f"rank:{r}/cpu" for r in range(size)])
    whole = torch.arange(30.0).view(5, 6)
    made = _shard_tensor(whole if rank == 0 else torch.zeros(5, 6), spec)
    found = [
        made.size(),
        made.dtype,
        made.requires_grad,
        repr(made.metadata().shards_metadata),
        made.local_tensor().tolist(),
        made.sharding_spec() == spec,
    ]
    other = init_from_local_shards(
        [Shard.from_tensor_and_offsets(torch.ones(2, 3, dtype=torch.int64) * rank, [0, 3 * rank], rank)], 2, 3 * size
    )
    found += [
        repr(other.sharding_spec()),
        other.shape,
        other.ndim,
        len(other.local_shards()),
        repr(copy.deepcopy(other).local_tensor().tolist()),
    ]
    for t, dtype in (
        (made, None),
        (other, torch.int64),
        (full(spec, (3, 2), 7.0), None),
        (zeros(spec, 4, 2, dtype=torch.float64), torch.float64),
    ):
        out = torch.empty(t.size(), dtype=dtype) if rank == 1 else None
        t.gather(1, out, dtype=dtype)
        found.append(None if out is None else out.tolist())
    local = Shard.from_tensor_and_offsets(torch.ones(2, 3), [2 * rank, 0], rank)
    refused = (
        lambda: ShardedTensor("spec", 2),
        lambda: ShardedTensor(spec, "a"),
        lambda: made.remote_shards(),
        lambda: made + 1,
        lambda: torch.sin(made),
        lambda: init_from_local_shards([local], 2 * size, 4),
        lambda: init_from_local_shards([Shard.from_tensor_and_offsets(torch.ones(2, 3), [0, 0], rank)], 2, 3),
        lambda: init_from_local_shards([], 2, 3),
        lambda: init_from_local_shards(
            [Shard.from_tensor_and_offsets(torch.ones(2, 3), [2 * rank, 0], 1 - rank)], 4, 3
        ),
        lambda: init_from_local_shards(
            [Shard.from_tensor_and_offsets(torch.ones(2 + rank), [2 * rank], rank)], 5 + rank
        ),
    )
    return found, [said(f) for f in refused]


def in_modules(rank, size):
    """Attributes of modules, in state dicts by hooks."""
    spec = ChunkShardingSpec(0, [f"rank:{r}/cpu" for r in range(size)])

    def make(fill):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 2)))
        model.outer, model[1].inner = full(spec, (4, 2), fill), full(spec, (2, 3), fill + 1)
        model._register_state_dict_hook(state_dict_hook)
        model._register_load_state_dict_pre_hook(pre_load_state_dict_hook, True)
        return model

    model, other = make(1.0), make(5.0)
    state = model.state_dict()
    loaded = other.load_state_dict(state, strict=False)
    return (
        list(state),
        loaded.missing_keys,
        loaded.unexpected_keys,
        other.outer.local_tensor().tolist(),
        other[1].inner.local_tensor().tolist(),
    )


def in_groups(rank, size):
    """A group whose ranks are not those of the world."""
    group = dist.new_group([1, 0])
    spec = ChunkShardingSpec(1, ["rank:1/cpu", "rank:0/cpu"])
    made = _shard_tensor(torch.arange(10.0).view(2, 5) + rank, spec, src_rank=1, process_group=group)
    return made.local_tensor().tolist(), repr(made.metadata().shards_metadata)
