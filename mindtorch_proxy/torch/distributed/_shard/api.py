"""Functions to shard tensors, from before DTensor."""

from contextlib import contextmanager

from .. import distributed_c10d as c10d

__all__ = []
_current = []


def _shard_tensor(tensor, sharding_spec, src_rank=0, process_group=None):
    """Shard a tensor of rank ``src_rank`` and return a ShardedTensor."""
    if not tensor.is_contiguous():
        raise ValueError("input tensor is not a contiguous Tensor")
    return sharding_spec.shard(tensor, src_rank=src_rank, process_group=process_group)


@contextmanager
def load_with_process_group(process_group):
    """Context manager: ShardedTensors unpickled inside it use this process group."""
    if _current:
        raise RuntimeError('ProcessGroup already set by previous "load_with_process_group" context manager')
    _current.append(process_group)
    try:
        yield process_group
    finally:
        _current.pop()


def _get_current_process_group():
    return _current[-1] if _current else c10d._get_default_group()
