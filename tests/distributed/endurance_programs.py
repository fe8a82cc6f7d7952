"""A thousand random collectives, one rank late now and then, for both torches.

And what a process holds before and after.
"""

import os
import random
import threading
import time

import torch
import torch.distributed as dist


def held():
    """Open files, threads and memory, of this process and of those that it has started."""
    children = [
        int(c)
        for task in os.listdir("/proc/self/task")
        for c in open(f"/proc/self/task/{task}/children").read().split()
    ]

    def memory(pid):
        return int(open(f"/proc/{pid}/statm").read().split()[1]) * 4096

    def opened(pid):
        """(sockets, all files)"""
        names = os.listdir(f"/proc/{pid}/fd")
        links = [os.readlink(path) for name in names if os.path.islink(path := f"/proc/{pid}/fd/{name}")]
        return sum(link.startswith("socket:") for link in links), len(links)

    sockets, files = zip(*map(opened, [os.getpid(), *children]))
    return {
        "sockets": sockets,
        "files": files,
        "threads": threading.active_count(),
        "memory": memory(os.getpid()),
        "engine memory": sum(map(memory, children)),
    }


def one(chance, rank, size):
    """One round; a number for its result."""
    kind, count, root = chance.randrange(10), chance.randint(0, 4000), chance.randrange(size)
    late, pause = chance.randrange(size), chance.choice([0, 0, 0, 0, 0, 0, 0, 0, 0.003, 0.02])
    operation = chance.choice([dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN])
    dtype = chance.choice([torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8])
    if late == rank:
        time.sleep(pause)
    x = ((torch.arange(count) * 7 + rank * 13 + count) % 31).to(dtype)
    if kind == 0:
        dist.all_reduce(x, op=operation)
    elif kind == 1:
        dist.broadcast(x, root)
    elif kind == 2:
        dist.reduce(x, root, op=operation)
        x = x if rank == root else x[:0]
    elif kind == 3:
        dist.all_gather(out := [torch.zeros_like(x) for _ in range(size)], x)
        x = torch.cat(out)
    elif kind == 4:
        y = torch.zeros(size * 5, dtype=dtype)
        dist.all_to_all_single(y, torch.arange(size * 5).to(dtype) + rank)
        x = y
    elif kind == 5:
        y = torch.zeros(count, dtype=dtype)
        dist.reduce_scatter(y, [x + i for i in range(size)], op=operation)
        x = y
    elif kind == 6:
        works = [dist.all_reduce(part, async_op=True) for part in x.split(max(count // 3, 1))]
        for work in reversed(works):
            work.wait()
    elif kind == 7:
        other = torch.zeros_like(x)
        works = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, x, (rank + 1) % size), dist.P2POp(dist.irecv, other, (rank - 1) % size)]
        )
        for work in works:
            work.wait()
        x = other
    elif kind == 8:
        objects = [None] * size
        dist.all_gather_object(objects, {"rank": rank, "count": count})
        return sum(o["rank"] * 1000 + o["count"] for o in objects)
    else:
        dist.barrier()
        dist.scatter(x, [x + i for i in range(size)] if rank == root else None, root)
    return kind, x.double().sum().item(), x[-2:].tolist()


def rounds(rank, size):
    chance = random.Random(11)
    for _ in range(200):  # connections, threads and memory for reuse are made
        one(chance, rank, size)
    dist.barrier()
    before = held()
    found = [one(chance, rank, size) for _ in range(1000)]
    dist.barrier()
    return found, before, held()
