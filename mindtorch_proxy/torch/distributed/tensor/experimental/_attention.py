"""Attention over sequences that lie on several devices: known by name, and not supported."""

from contextlib import contextmanager

__all__ = ["context_parallel", "context_parallel_unshard", "set_rotate_method"]


def _refuse(name):
    raise NotImplementedError(
        f"torch.distributed.tensor.experimental.{name}: attention over a sharded sequence is not supported (any "
        f"dtype, any device)"
    )


@contextmanager
def context_parallel(mesh, *, buffers=None, buffer_seq_dims=None, no_restore_buffers=None):
    """A block in which attention would run over sequences that lie on the devices of a mesh. NotImplementedError when
    it is entered.
    """
    _refuse("context_parallel")
    yield


def context_parallel_unshard(mesh, buffers, seq_dims, load_balancer=None):
    """Raises: no sequence is sharded."""
    _refuse("context_parallel_unshard")


def set_rotate_method(rotate_method):
    """Raises: there is no attention of several devices, whose keys and values would go round."""
    _refuse("set_rotate_method")
