"""A group of one process that says it is of several, for both torches: collectives move nothing.

Run alone: it makes its own group.
"""

import json
import sys
import warnings

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import FakeProcessGroup, _DistributedBackendOptions

warnings.simplefilter("ignore")
seen = []


def make(common, options):
    seen.append(
        (
            isinstance(common, _DistributedBackendOptions),
            common.group_rank,
            common.group_size,
            common.global_ranks_in_group,
            common.group_id,
        )
    )
    return FakeProcessGroup._create_internal(common.group_rank, common.group_size)


def simple(store, rank, size, timeout):
    seen.append((isinstance(store, dist.Store), rank, size, timeout.total_seconds()))
    return FakeProcessGroup._create_internal(rank, size)


def program():
    dist.Backend.register_backend("fake", make, extended_api=True, devices=["cpu"])
    dist.init_process_group("fake", rank=1, world_size=4, store=dist.HashStore())
    x, found = torch.ones(2), []
    work = dist.all_reduce(x, async_op=True)
    found += [type(work).__name__, work.wait(), x.tolist(), dist.get_backend(), dist.get_world_size(), dist.get_rank()]
    dist.all_gather(out := [torch.zeros(2) for _ in range(4)], x)
    dist.all_gather_into_tensor(whole := torch.zeros(8), x)
    dist.reduce_scatter_tensor(share := torch.zeros(2), torch.arange(8.0))
    dist.reduce_scatter(part := torch.zeros(2), [torch.full((2,), float(i)) for i in range(4)])
    dist.all_to_all_single(exchanged := torch.zeros(4), torch.arange(4.0))
    dist.all_to_all(pieces := [torch.zeros(1) for _ in range(4)], [torch.full((1,), float(i)) for i in range(4)])
    dist.scatter(scattered := torch.zeros(2), [torch.full((2,), float(i)) for i in range(4)], src=1)
    dist.scatter(other := torch.zeros(2), None, src=0)
    dist.gather(x, gathered := [torch.zeros(2) for _ in range(4)], dst=1)
    dist.recv(received := torch.zeros(2), 0)
    dist.send(x, 0)
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    dist.barrier()
    dist.all_gather_object(objects := [None] * 4, {"a": 1})
    tensors = [*out, whole, share, part, exchanged, *pieces, scattered, other, *gathered, received, x]
    found += [[t.tolist() for t in tensors], objects]
    group = dist.new_group([0, 1])
    found += [dist.get_rank(group), dist.new_group([0, 2]) == dist.GroupMember.NON_GROUP_MEMBER]
    dist.Backend.register_backend("other", simple)
    found.append(dist.get_world_size(dist.new_group([0, 1, 2], backend="other")))
    dist.destroy_process_group()
    return [*found, seen]


if __name__ == "__main__":
    print("FOUND " + json.dumps(program()), file=sys.stdout, flush=True)
