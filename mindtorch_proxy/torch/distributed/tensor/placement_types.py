"""Placements: how a DTensor is distributed along one mesh dimension."""

import torch

__all__ = ["Placement", "Shard", "Replicate", "Partial"]


class Placement:
    """Base class of placements, which are immutable."""

    __slots__ = ()

    def is_shard(self, dim=None):
        """Whether the tensor is sharded (on dimension ``dim``, if given)."""
        return False

    def is_replicate(self):
        """Whether each rank holds the full tensor."""
        return False

    def is_partial(self, reduce_op=None):
        """Whether the tensor is a reduction of the local tensors (with ``reduce_op``, if given)."""
        return False


def _chunk_bounds(size, count, index):
    """Return the start and end of chunk ``index`` of ``count``, as torch.chunk splits.

    The last chunks may be shorter or empty.
    """
    step = -(-size // count)
    return min(index * step, size), min((index + 1) * step, size)


class Shard(Placement):
    """Each rank holds a chunk of a tensor dimension, split as torch.chunk does."""

    __slots__ = ("_dim",)

    def __init__(self, dim):
        self._dim = int(dim)

    @property
    def dim(self):
        """The tensor dimension."""
        return self._dim

    def is_shard(self, dim=None):
        return dim is None or dim == self._dim

    def __eq__(self, other):
        return type(other) is type(self) and self._dim == other._dim

    def __hash__(self):
        return hash((type(self).__name__, self._dim))

    def __repr__(self):
        return f"Shard(dim={self._dim})"

    def __str__(self):
        return f"S({self._dim})"

    def __reduce__(self):
        return type(self), (self._dim,)

    @staticmethod
    def local_shard_size_and_offset(curr_local_size, num_chunks, rank):
        """Return (size, offset) of a rank's chunk of ``curr_local_size`` elements."""
        start, stop = _chunk_bounds(curr_local_size, num_chunks, rank)
        return stop - start, start

    _local_shard_size_and_offset = local_shard_size_and_offset

    def _split_tensor(self, tensor, num_chunks, *, with_padding=True, contiguous=True):
        """Return (chunks, paddings); with padding, all chunks have the same length."""
        if self._dim > tensor.ndim:
            raise AssertionError(f"Sharding dim {self._dim} greater than tensor ndim {tensor.ndim}")
        size, step = tensor.size(self._dim), -(-tensor.size(self._dim) // num_chunks)
        pieces, paddings = [], []
        for i in range(num_chunks):
            start, stop = _chunk_bounds(size, num_chunks, i)
            piece, missing = tensor.narrow(self._dim, start, stop - start), step - (stop - start)
            if with_padding and missing:
                piece = _padded(piece, self._dim, missing)
            pieces.append(piece.contiguous() if contiguous else piece)
            paddings.append(missing if with_padding else 0)
        return pieces, paddings


def _padded(tensor, dim, missing):
    """Pad a tensor with zeros at the end of a dimension."""
    shape = list(tensor.shape)
    shape[dim] = missing
    return torch.cat([tensor, tensor.new_zeros(shape)], dim)


class _StridedShard(Placement):
    """A Shard of a dimension that a later mesh dimension has already split into ``split_factor`` parts.

    Each rank holds its chunk of each part.
    """

    __slots__ = ("_dim", "_split_factor")

    def __init__(self, dim, *, split_factor):
        self._dim, self._split_factor = int(dim), int(split_factor)

    @property
    def dim(self):
        """The tensor dimension."""
        return self._dim

    @property
    def split_factor(self):
        """The number of parts."""
        return self._split_factor

    def __eq__(self, other):
        return type(other) is _StridedShard and (self._dim, self._split_factor) == (other._dim, other._split_factor)

    def __hash__(self):
        return hash(("_StridedShard", self._dim, self._split_factor))

    def __repr__(self):
        return f"_StridedShard(dim={self._dim}, sf={self._split_factor})"

    def __str__(self):
        return f"_S({self._dim}, {self._split_factor})"

    def __reduce__(self):
        return _strided_shard, (self._dim, self._split_factor)


def _strided_shard(dim, split_factor):
    return _StridedShard(dim, split_factor=split_factor)


class Replicate(Placement):
    """Each rank holds the whole tensor."""

    __slots__ = ()

    def is_replicate(self):
        return True

    def __eq__(self, other):
        return isinstance(other, Replicate)

    def __hash__(self):
        return -1

    def __repr__(self):
        return "Replicate()"

    def __str__(self):
        return "R"

    def __reduce__(self):
        return Replicate, ()


class Partial(Placement):
    """The tensor is the reduction (sum, avg, min, max, product) of the local tensors."""

    __slots__ = ("_reduce_op",)
    LINEAR_REDUCE_OPS = ("sum", "avg")
    ALL_REDUCE_OPS = ("sum", "avg", "min", "max", "product")

    def __init__(self, reduce_op=None):
        if reduce_op is not None and not isinstance(reduce_op, str):
            raise TypeError(f"Partial(): reduce_op must be a str, not {type(reduce_op).__name__}")
        self._reduce_op = reduce_op or "sum"

    @property
    def reduce_op(self):
        """The reduction operation."""
        return self._reduce_op

    def is_partial(self, reduce_op=None):
        return reduce_op is None or reduce_op == self._reduce_op

    def __eq__(self, other):
        return type(other) is type(self) and self._reduce_op == other._reduce_op

    def __hash__(self):
        return hash(("Partial", self._reduce_op))

    def __repr__(self):
        return f"Partial({self._reduce_op})"

    def __str__(self):
        return f"P({self._reduce_op})"

    def __reduce__(self):
        return Partial, (self._reduce_op,)


_Partial = Partial  # its name before it was public, which programs still import
