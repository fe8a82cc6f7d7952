"""Ranks that go wrong: python failure_programs.py PORT RANK SIZE SCENARIO; prints what each rank got, as JSON."""

import json
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

SECONDS = 2.5  # the group's time-out, once connections are made


def warm():
    """Something that goes well first."""
    dist.all_reduce(torch.ones(3))
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=SECONDS))


def late(rank, size):
    warm()
    if rank == 1:
        time.sleep(SECONDS + 2)
    dist.all_reduce(torch.ones(5, 2))


def killed(rank, size):
    warm()
    if rank == 1:
        os.kill(os.getpid(), 9)
    time.sleep(0.5)
    dist.all_gather([torch.zeros(7) for _ in range(size)], torch.ones(7))


def killed_in_collective(rank, size):
    """The others wait already when it dies."""
    warm()
    if rank == 1:
        time.sleep(1)
        os.kill(os.getpid(), 9)
    dist.reduce_scatter_tensor(torch.zeros(4), torch.ones(4 * size))


def raises(rank, size):
    warm()
    if rank == 1:
        raise ValueError("this rank raises")
    dist.broadcast(torch.ones(6), 1)


def shape(rank, size):
    warm()
    x = torch.ones(4 + rank % 2)
    dist.all_reduce(x)
    return x.tolist()


def dtype(rank, size):
    warm()
    x = torch.ones(4, dtype=torch.int32 if rank % 2 else torch.float32)
    dist.all_reduce(x)
    return x.tolist()


def operation(rank, size):
    warm()
    x = torch.ones(4)
    dist.all_reduce(x, op=dist.ReduceOp.MAX if rank % 2 else dist.ReduceOp.SUM)
    return x.tolist()


def root(rank, size):
    warm()
    x = torch.full((4,), float(rank))
    dist.broadcast(x, rank % 2)
    return x.tolist()


def collective(rank, size):
    warm()
    x = torch.ones(4)
    dist.broadcast(x, 0) if rank % 2 else dist.all_reduce(x)
    return x.tolist()


def skipped(rank, size):
    """One rank has left out a collective, and all the rest is the same."""
    warm()
    x = torch.ones(4)
    for _ in range(2 if rank % 2 else 3):
        dist.all_reduce(x)
    if rank % 2:
        dist.barrier()
    return x.tolist()


def after(rank, size):
    """A group that has failed says so at once, for ever; another group goes on."""
    other = dist.new_group(timeout=timedelta(seconds=30))
    try:
        shape(rank, size)
    except RuntimeError:
        pass
    started = time.monotonic()
    found = []
    for _ in range(2):
        try:
            dist.all_reduce(torch.ones(2))
        except RuntimeError as error:
            found.append(str(error)[:200])
    x = torch.ones(2)
    dist.all_reduce(x, group=other)
    return found, time.monotonic() - started, x.tolist()


def in_flight(rank, size):
    """The error is that of the work and of its future."""
    warm()
    if rank == 1:
        os.kill(os.getpid(), 9)
    work = dist.all_reduce(torch.ones(3), async_op=True)
    later = dist.all_reduce(torch.ones(2), async_op=True)
    errors = []
    for wait in (work.get_future().wait, work.wait, later.wait):
        try:
            wait()
        except RuntimeError as error:
            errors.append(type(error).__name__)
    return errors, work.is_completed(), work.is_success(), type(work.exception()).__name__


def message(rank, size):
    """A message from a rank that has died, and from one that never sends."""
    warm()
    if rank == 1:
        os.kill(os.getpid(), 9)
    dist.recv(torch.zeros(3), 1)


def unsent(rank, size):
    warm()
    if rank == 0:
        dist.recv(torch.zeros(3), 1)
    else:
        time.sleep(SECONDS + 1)


def wrong_size(rank, size):
    """A message of another size than the one that is expected."""
    warm()
    if rank == 0:
        x = torch.zeros(3)
        dist.recv(x, 1)
        return x.tolist()
    if rank == 1:
        dist.send(torch.ones(5), 0)
    time.sleep(2)
    return None


def barrier(rank, size):
    warm()
    if rank != size - 1:
        dist.monitored_barrier(timeout=timedelta(seconds=2))


def different(rank, size):
    """With TORCH_DISTRIBUTED_DEBUG=DETAIL: each mistake is an error at once, on all ranks, and the group goes on."""
    warm()
    odd, found = rank % 2, []
    for mistake in (
        lambda: dist.all_reduce(torch.ones(4 + odd)),
        lambda: dist.all_reduce(torch.ones(4, dtype=torch.float64 if odd else torch.float32)),
        lambda: dist.all_reduce(torch.ones(4), op=dist.ReduceOp.MAX if odd else dist.ReduceOp.SUM),
        lambda: dist.broadcast(torch.ones(4), odd),
        lambda: dist.broadcast(torch.ones(4), 0) if odd else dist.all_reduce(torch.ones(4)),
        lambda: dist.barrier() if odd else dist.all_gather([torch.ones(1)] * size, torch.ones(1)),
    ):
        try:
            found.append([mistake(), "no error"])
        except RuntimeError as error:
            found.append([type(error).__name__, str(error)])
    x = torch.ones(2)
    dist.all_reduce(x)
    return found, x.tolist()


def replica(rank, size):
    """A replica that is killed in the midst of training."""
    from torch.nn.parallel import DistributedDataParallel

    warm()

    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Linear(64, 2)), bucket_cap_mb=0.0001
    )
    for step in range(1000):
        if rank == 1 and step == 3:
            model.module[0].weight.register_hook(lambda grad: os.kill(os.getpid(), 9))
        model(torch.ones(3, 4)).sum().backward()


def models(rank, size):
    """Replicas of other shapes."""
    from torch.nn.parallel import DistributedDataParallel

    DistributedDataParallel(torch.nn.Linear(4, 2 + rank % 2))


def main(port, rank, size, scenario):
    rank, size, found = int(rank), int(size), {}
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size, timeout=timedelta(seconds=60)
    )
    torch.ones(3).add(1)  # the first kernel loads what it needs
    dist.barrier()
    started = time.monotonic()
    try:
        found["result"] = globals()[scenario](rank, size)
    except RuntimeError as error:
        found["type"], found["error"] = type(error).__name__, str(error)
    except ValueError:
        os._exit(1)
    found["seconds"] = time.monotonic() - started
    print("FOUND", json.dumps(found), flush=True)
    if rank == 0:
        time.sleep(3)  # it serves the store, with which the others look for what has happened
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
