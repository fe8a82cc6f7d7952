"""DTensorSpec: the mesh, placements and global metadata of a DTensor."""

import math
from typing import NamedTuple

import torch

from .placement_types import Replicate, Shard, _chunk_bounds, _StridedShard

__all__ = ["DTensorSpec", "TensorMeta"]


class TensorMeta(NamedTuple):
    """Shape, strides and dtype of the full tensor."""

    shape: torch.Size
    stride: tuple
    dtype: torch.dtype


class DTensorSpec:
    """The mesh, a placement for each of its dimensions, and the full tensor's metadata. Immutable by convention."""

    __slots__ = ("mesh", "placements", "tensor_meta")

    def __init__(self, mesh, placements, tensor_meta=None):
        self.mesh, self.placements, self.tensor_meta = mesh, tuple(placements), tensor_meta

    @property
    def device_mesh(self):
        """The mesh."""
        return self.mesh

    @property
    def shape(self):
        """The full tensor's shape."""
        return self.tensor_meta.shape

    @property
    def stride(self):
        """The full tensor's strides."""
        return self.tensor_meta.stride

    @property
    def ndim(self):
        """The number of dimensions of the tensor."""
        return len(self.tensor_meta.shape)

    def _key(self):
        return self.mesh, self.placements, self.tensor_meta

    def __eq__(self, other):
        return isinstance(other, DTensorSpec) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        placements = (
            "".join(map(str, self.placements))
            if len(self.placements) == 1
            else f"({', '.join(map(str, self.placements))})"
        )
        return f"Spec({placements} on {tuple(self.tensor_meta.shape) if self.tensor_meta else 'unknown shape'})"

    def with_placements(self, placements):
        """Return the spec of the same tensor with other placements."""
        return DTensorSpec(self.mesh, placements, self.tensor_meta)


def contiguous_strides(shape):
    """Return the strides of a contiguous tensor."""
    return tuple(math.prod(max(s, 1) for s in shape[i + 1 :]) for i in range(len(shape)))


def is_shard(placement):
    """Whether a placement is a Shard or _StridedShard."""
    return isinstance(placement, (Shard, _StridedShard))


def sharding_order(placements):
    """Return the sharding mesh dimensions in the order in which they split the tensor.

    This is from left to right, with strided shards last.
    """
    plain = [i for i, p in enumerate(placements) if isinstance(p, Shard)]
    return plain + [i for i, p in enumerate(placements) if isinstance(p, _StridedShard)]


def local_shape_and_offset(shape, mesh, placements, coordinate=None):
    """Return (shape, offsets) of a rank's local tensor.

    The offsets are those of a contiguous block. For strided shards they are those of the first element.
    """
    coordinate = mesh.get_coordinate() if coordinate is None else coordinate
    local, offset = list(shape), [0] * len(shape)
    if coordinate is None:
        return (0,), ()
    for i in sharding_order(placements):
        dim = placements[i].dim
        start, stop = _chunk_bounds(local[dim], mesh.size(i), coordinate[i])
        local[dim] = stop - start
        offset[dim] += start
    return tuple(local), tuple(offset)


def compute_local_shape_and_global_offset(global_shape, mesh, placements):
    """Return (shape, offsets) of this rank's local tensor."""
    return local_shape_and_offset(global_shape, mesh, placements)


def compute_local_shape(global_shape, mesh, placements):
    """Return the shape of this rank's local tensor."""
    return local_shape_and_offset(global_shape, mesh, placements)[0]


def local_shape(spec):
    """Return the shape of this rank's local tensor."""
    return compute_local_shape(spec.shape, spec.mesh, spec.placements)


def compute_global_tensor_info(tensor, mesh, placements):
    """Return (shape, strides) of the full tensor, if all ranks have local tensors of the same shape."""
    shape, stride = list(tensor.shape), list(tensor.stride())
    for i, placement in enumerate(placements):
        if is_shard(placement):
            dim = placement.dim
            if dim < 0:
                raise AssertionError("Shard placements should have negative dims normalized in the user-facing APIs")
            if dim >= tensor.ndim:
                raise AssertionError(
                    f"Sharding dim {dim} greater than tensor ndim {tensor.ndim} for placement number {i}."
                )
            size = shape[dim]
            shape[dim] = size * mesh.size(i)
            stride = [
                s * mesh.size(i) if d != dim and s >= stride[dim] * max(size, 1) else s for d, s in enumerate(stride)
            ]
    return shape, stride


def normalize_placements(placements, mesh, ndim):
    """Return the placements with non-negative dimensions; without placements, Replicate for each mesh dimension."""
    if placements is None:
        placements = [Replicate()] * mesh.ndim
    found = []
    for p in placements:
        if is_shard(p) and p.dim < 0:
            p = (
                Shard(p.dim + ndim)
                if isinstance(p, Shard)
                else _StridedShard(p.dim + ndim, split_factor=p.split_factor)
            )
        found.append(p)
    return tuple(found)
