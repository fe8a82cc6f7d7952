"""Tensors in pieces, in the way that came before distributed tensors: a container for them, without operators."""

from .api import _shard_tensor, load_with_process_group

__all__ = []
