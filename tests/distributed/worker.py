"""What torchrun starts in tests: adds up over the ranks, and fails as the arguments say."""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


def where():
    """What the launcher has told, by name."""
    return {
        n: os.environ[n]
        for n in "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK ROLE_RANK ROLE_NAME "
        "TORCHELASTIC_RESTART_COUNT".split()
    }


@record
def main(*arguments):
    dist.init_process_group("gloo")
    rank, attempt = dist.get_rank(), os.environ["TORCHELASTIC_RESTART_COUNT"]
    x = torch.ones(2) * (rank + 1)
    dist.all_reduce(x)
    os.write(1, f"RESULT {x.tolist()} {where()} {list(arguments)}\n".encode())  # at once: the workers share a pipe
    if rank == 1 and attempt == "0":
        if "raise" in arguments:
            raise ValueError("this rank raises")
        if "kill" in arguments:
            os.kill(os.getpid(), 9)
        if "exit" in arguments:
            sys.exit(3)
    if "raise" in arguments and attempt == "0":
        time.sleep(60)  # whoever is left is ended
    dist.barrier()
    dist.destroy_process_group()


def function(a, b):
    """For elastic_launch."""
    dist.init_process_group("gloo")
    x = torch.tensor([a + b + dist.get_rank()])
    dist.all_reduce(x)
    dist.destroy_process_group()
    return x.item(), os.environ["LOCAL_RANK"]


def failing(rank, path):
    """For torch.multiprocessing.spawn."""
    spawned(rank, path)
    raise KeyError("this one raises")


def spawned(rank, path):
    """For torch.multiprocessing.spawn."""
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    x = torch.tensor([float(rank)])
    dist.all_reduce(x)
    assert x.item() == 1
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
