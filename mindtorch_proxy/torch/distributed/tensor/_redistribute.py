"""Redistribution of a DTensor from one list of placements to another."""

import torch

from . import _collective_utils as comm
from ._spec import is_shard, local_shape_and_offset, sharding_order
from .placement_types import Partial, Replicate, Shard


class Mover:
    """Redistributes a local tensor step by step, one mesh dimension at a time."""

    def __init__(self, local, spec):
        self.local, self.mesh, self.shape, self.placements = local, spec.mesh, spec.shape, list(spec.placements)
        self.coordinate = spec.mesh.get_coordinate()

    def _size_before(self, mesh_dim, dim):
        """Return the length along ``dim`` of the part that the mesh dimension shards, or would shard now."""
        order = sharding_order(self.placements)
        outer = order[: order.index(mesh_dim)] if mesh_dim in order else order
        placements = [p if i in outer else Replicate() for i, p in enumerate(self.placements)]
        return local_shape_and_offset(self.shape, self.mesh, placements, self.coordinate)[0][dim]

    def gather(self, i):
        """Convert Shard to Replicate."""
        dim = self.placements[i].dim
        self.local = comm.all_gather(self.local, dim, self._size_before(i, dim), self.mesh, i)
        self.placements[i] = Replicate()

    def exchange(self, i, new_dim):
        """Convert Shard to Shard on another dimension."""
        dim = self.placements[i].dim
        self.local = comm.all_to_all(self.local, dim, self._size_before(i, dim), new_dim, self.mesh, i)
        self.placements[i] = Shard(new_dim)

    def finish(self, i, target):
        """Convert Replicate or Partial to the target."""
        current, count = self.placements[i], self.mesh.size(i)
        if isinstance(current, Partial) and is_shard(target):
            self.local = comm.reduce_scatter(self.local, current.reduce_op, target.dim, self.mesh, i)
        elif isinstance(current, Partial):
            self.local = comm.all_reduce(self.local, current.reduce_op, self.mesh, i)
            current = Replicate()
        if isinstance(current, Replicate) and is_shard(target):
            self.local = comm.chunk(self.local, target.dim, count, self.coordinate[i]).clone(
                memory_format=torch.contiguous_format
            )
        elif isinstance(current, Replicate) and isinstance(target, Partial):
            self.local = _partition(self.local, target, count, self.coordinate[i])
        self.placements[i] = target


def _partition(local, target, count, index):
    """Return a value for each rank such that the reduction over ranks gives the replicated value."""
    if target.reduce_op == "sum":
        return local if index == 0 else torch.zeros_like(local)
    if target.reduce_op in ("avg", "max", "min"):
        return local
    raise NotImplementedError(f"Replicate() to {target!r} is not supported")


def _must_gather(current, target, i):
    """Whether a sharded mesh dimension must be replicated first.

    This is so if its own placement changes, or that of a mesh dimension that shards the same tensor dimension before
    it.
    """
    if current[i] != target[i]:
        return True
    dims = {current[i].dim}
    return any(
        current[j] != target[j] and any(is_shard(p) and p.dim in dims for p in (current[j], target[j]))
        for j in range(len(current))
        if j != i
        and (j < i or not isinstance(current[i], Shard) or not isinstance(target[j], Shard) and is_shard(target[j]))
    )


def _may_exchange(current, target, i):
    """Whether Shard(a) to Shard(b) can be a single all-to-all: no other mesh dimension shards a or b."""
    if not (isinstance(current[i], Shard) and isinstance(target[i], Shard)):
        return False
    dims = {current[i].dim, target[i].dim}
    return not any(
        is_shard(p) and p.dim in dims for j in range(len(current)) if j != i for p in (current[j], target[j])
    )


def redistribute_local_tensor(local, spec, placements):
    """Return this rank's local tensor of the same value under other placements."""
    current, target = list(spec.placements), list(placements)
    for a, b in zip(current, target):
        if (
            isinstance(b, Partial)
            and not isinstance(a, (Partial, Replicate))
            or isinstance(a, Partial)
            and isinstance(b, Partial)
            and a != b
        ):
            raise RuntimeError(f"redistribute from {a} to {b} not supported yet")
    if current == target or spec.mesh.get_coordinate() is None:
        return local
    mover = Mover(local, spec)
    for i in reversed(sharding_order(current)):
        if current[i] != target[i] and _may_exchange(current, target, i):
            mover.exchange(i, target[i].dim)
        elif _must_gather(current, target, i):
            mover.gather(i)
    rest = [i for i in range(len(target)) if not is_shard(target[i])]
    for i in rest + sharding_order(target):
        if mover.placements[i] != target[i]:
            mover.finish(i, target[i])
    return mover.local
