"""Splits the inputs of a batch into microbatches, and merges their outputs."""

import torch
from torch.utils import _pytree as pytree

__all__ = ["TensorChunkSpec", "split_args_kwargs_into_chunks", "merge_chunks"]

DEFAULT_CHUNK_DIM = 0


class TensorChunkSpec:
    """Along which dimension a tensor is split into microbatches, and merged again."""

    def __init__(self, split_dim):
        self.split_dim = split_dim

    def __repr__(self):
        return f"{type(self).__module__}.{type(self).__name__}({self.split_dim})"

    def __str__(self):
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims):
        """Return a spec for each positional argument, from a tuple of dimensions."""
        return pytree.tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims):
        """Return a spec for each keyword argument, from a dictionary of dimensions."""
        return pytree.tree_map(TensorChunkSpec, chunk_dims)


class _CustomReducer:
    """How results of microbatches that are not merged become one: `reduce_fn` from `init_value` on."""

    def __init__(self, init_value, reduce_fn):
        self.init_value, self.reduce_fn = init_value, reduce_fn


class _LossReducer(_CustomReducer):
    pass


class _Replicate:
    """Marks an argument that every microbatch gets as it is."""


def _replicated(spec):
    return spec is _Replicate or isinstance(spec, _Replicate)


def _split_tensor(tensor, spec, num_chunks):
    if tensor.size(spec.split_dim) < num_chunks:
        raise AssertionError(f"Tensor size {tensor.size(spec.split_dim)} is smaller than num_chunks")
    chunks = torch.tensor_split(tensor, num_chunks, spec.split_dim)
    if tensor.requires_grad and tensor.is_leaf:
        for chunk in chunks:
            chunk.retain_grad()
    return chunks


def _pieces(value, spec, count):
    """Return how many microbatches a value allows, and a function that splits it into so many."""
    if _replicated(spec):
        return count, lambda n: [value] * n
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"Unsupported chunk spec: {spec} and value: {value} combination.")
    if not isinstance(spec, TensorChunkSpec):
        raise AssertionError(f"Expected TensorChunkSpec, got {type(spec)}")
    return value.size(spec.split_dim), lambda n: _split_tensor(value, spec, n)


def _shard(values, specs, count):
    """Split a dictionary of arguments into a list of at most `count` dictionaries."""
    if not values:
        return [{} for _ in range(count)]
    if len(values) != len(specs):
        raise AssertionError(f"args_dict.keys() = {list(values)} args_chunk_spec.keys() = {list(specs)}")
    flat, tree = pytree.tree_flatten(values)
    found = [_pieces(v, s, count) for v, s in zip(flat, pytree.tree_flatten(specs)[0], strict=True)]
    count = min([count, *(n for n, _ in found)])
    return [pytree.tree_unflatten(list(row), tree) for row in zip(*(split(count) for _, split in found))]


def split_args_kwargs_into_chunks(args, kwargs, chunks, args_chunk_spec=None, kwargs_chunk_spec=None):
    """Split arguments into microbatches: (a list of tuples, a list of dictionaries), at most `chunks` of each.

    A spec is a TensorChunkSpec, or _Replicate; without one, tensors are split along dimension 0 and other values
    replicated. There are fewer microbatches where a tensor is shorter.
    """
    kwargs = kwargs or {}
    default = lambda v: TensorChunkSpec(DEFAULT_CHUNK_DIM) if isinstance(v, torch.Tensor) else _Replicate()
    by_place = pytree.tree_map(default, args) if args_chunk_spec is None else args_chunk_spec
    by_name = pytree.tree_map(default, kwargs) if kwargs_chunk_spec is None else kwargs_chunk_spec
    placed = dict(enumerate(args)), dict(enumerate(by_place))
    first = _shard(*placed, chunks)
    second = _shard(kwargs, by_name, len(first))
    if len(second) < len(first):
        first = _shard(*placed, len(second))
    if len(first) != len(second):
        raise RuntimeError(f"args and kwargs are split into different number of chunks: {len(first)}, {len(second)}")
    return [tuple(chunk.values()) for chunk in first], second


def merge_chunks(chunks, chunk_spec):
    """Merge the outputs of microbatches into one: tensors are concatenated along their spec's dimension.

    chunk_spec: a TensorChunkSpec, a reducer or another value for each output; without it, all are concatenated along
    dimension 0. Outputs without a spec of these must be equal in all microbatches.
    """
    rows = [pytree.tree_flatten(chunk)[0] for chunk in chunks]
    if chunk_spec is None:
        tree = pytree.tree_flatten(chunks[0])[1]
        specs = [TensorChunkSpec(DEFAULT_CHUNK_DIM)] * len(rows[0])
    else:
        specs, tree = pytree.tree_flatten(chunk_spec)
    for chunk, row in zip(chunks, rows):
        if len(row) != len(specs):
            raise ValueError(f"Chunk {chunk} did not match chunk spec {chunk_spec}")
    return pytree.tree_unflatten([_merged(spec, values) for spec, values in zip(specs, zip(*rows))], tree)


def _merged(spec, values):
    if isinstance(spec, TensorChunkSpec):
        return torch.cat(values, dim=spec.split_dim)
    if isinstance(spec, _CustomReducer):
        result = spec.init_value
        for value in values:
            result = spec.reduce_fn(result, value)
        return result
    for value in values[1:]:
        if value != values[0]:
            raise AssertionError(f"Expected {values[0]}, got {value}")
    return values[0]
