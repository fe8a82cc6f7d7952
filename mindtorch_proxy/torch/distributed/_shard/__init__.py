"""The sharded tensors that preceded DTensor: a container for shards, without operators."""

from .api import _shard_tensor, load_with_process_group

__all__ = []
