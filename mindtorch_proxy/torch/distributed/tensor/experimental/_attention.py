"""Context parallel attention over sharded sequences. Not supported; the names exist for compatibility."""

from contextlib import contextmanager

__all__ = ["context_parallel", "context_parallel_unshard", "set_rotate_method"]


def _refuse(name):
    raise NotImplementedError(
        f"torch.distributed.tensor.experimental.{name}: attention over a sharded sequence is not supported (any "
        f"dtype, any device)"
    )


@contextmanager
def context_parallel(mesh, *, buffers=None, buffer_seq_dims=None, no_restore_buffers=None):
    """Raise NotImplementedError on entry, because attention over sharded sequences is not supported."""
    _refuse("context_parallel")
    yield


def context_parallel_unshard(mesh, buffers, seq_dims, load_balancer=None):
    """Raise NotImplementedError, because context parallelism is not supported."""
    _refuse("context_parallel_unshard")


def set_rotate_method(rotate_method):
    """Raise NotImplementedError, because context parallelism is not supported."""
    _refuse("set_rotate_method")
