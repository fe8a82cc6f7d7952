"""A communication hook that does not communicate, to measure the cost of communication."""

import torch
from torch.distributed import GradBucket

__all__ = ["noop_hook"]


def noop_hook(_, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Return the bucket unchanged: each rank keeps its own gradients."""
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future
