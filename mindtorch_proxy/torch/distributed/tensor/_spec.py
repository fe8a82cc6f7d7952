"""What is known of a distributed tensor on every rank: mesh, placements, and the shape of the whole."""

import math
from typing import NamedTuple

import torch

from .placement_types import Replicate, Shard, _chunk_bounds, _StridedShard

__all__ = ["DTensorSpec", "TensorMeta"]


class TensorMeta(NamedTuple):
    """Shape, strides and dtype of the whole tensor."""

    shape: torch.Size
    stride: tuple
    dtype: torch.dtype


class DTensorSpec:
    """Mesh, one placement for each of its dimensions, and the whole tensor's meta data. Not to be changed."""

    __slots__ = ("mesh", "placements", "tensor_meta")

    def __init__(self, mesh, placements, tensor_meta=None):
        self.mesh, self.placements, self.tensor_meta = mesh, tuple(placements), tensor_meta

    @property
    def device_mesh(self):
        """The mesh."""
        return self.mesh

    @property
    def shape(self):
        """The whole tensor's shape."""
        return self.tensor_meta.shape

    @property
    def stride(self):
        """The whole tensor's strides."""
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
        """The same tensor placed otherwise."""
        return DTensorSpec(self.mesh, placements, self.tensor_meta)


def contiguous_strides(shape):
    """Strides of a contiguous tensor."""
    return tuple(math.prod(max(s, 1) for s in shape[i + 1 :]) for i in range(len(shape)))


def is_shard(placement):
    """Whether ranks hold pieces, strided or not."""
    return isinstance(placement, (Shard, _StridedShard))


def sharding_order(placements):
    """Mesh dimensions that shard, in the order in which they cut: from the left, those that came after others' cuts
    (strided) last.
    """
    plain = [i for i, p in enumerate(placements) if isinstance(p, Shard)]
    return plain + [i for i, p in enumerate(placements) if isinstance(p, _StridedShard)]


def local_shape_and_offset(shape, mesh, placements, coordinate=None):
    """(shape, offsets) of a rank's piece.

    Offsets are those of a contiguous block: where placements are strided they are of the piece's first element.
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
    """(shape, offsets) of this rank's piece."""
    return local_shape_and_offset(global_shape, mesh, placements)


def compute_local_shape(global_shape, mesh, placements):
    """The shape of this rank's piece."""
    return local_shape_and_offset(global_shape, mesh, placements)[0]


def local_shape(spec):
    """The shape of this rank's piece."""
    return compute_local_shape(spec.shape, spec.mesh, spec.placements)


def compute_global_tensor_info(tensor, mesh, placements):
    """(shape, strides) of the whole of which all ranks hold equal pieces."""
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
    """Placements for each mesh dimension (all Replicate without any), with dimensions counted from the front."""
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
