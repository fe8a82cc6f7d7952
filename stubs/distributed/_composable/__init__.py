"""Parallelism applied to modules in place, under its older name."""

from .fsdp import fully_shard

__all__ = ["fully_shard"]
