"""Collectives on local tensors along one mesh dimension; the local tensors may differ in length."""

import torch

from .. import distributed_c10d as c10d
from .placement_types import _chunk_bounds, _padded

OPERATIONS = {"sum": "SUM", "avg": "AVG", "min": "MIN", "max": "MAX", "product": "PRODUCT"}


def _operation(name):
    if name not in OPERATIONS:
        raise NotImplementedError(f"reduction {name!r} of distributed tensors is not supported")
    return getattr(c10d.ReduceOp, OPERATIONS[name])


def all_reduce(tensor, operation, mesh, mesh_dim):
    """Return the reduction of all ranks' tensors."""
    out = tensor.detach().clone(memory_format=torch.contiguous_format)
    c10d.all_reduce(out, _operation(operation), mesh.get_group(mesh_dim))
    return out


def _even(tensor, dim, step):
    return tensor.contiguous() if tensor.size(dim) == step else _padded(tensor, dim, step - tensor.size(dim))


def all_gather(tensor, dim, size, mesh, mesh_dim):
    """Return the tensor whose chunks along ``dim`` the ranks hold; ``size`` is its length along ``dim``."""
    count = mesh.size(mesh_dim)
    if count == 1:
        return tensor
    step = -(-size // count)
    piece = _even(tensor.detach(), dim, step)
    pieces = [torch.empty_like(piece) for _ in range(count)]
    c10d.all_gather(pieces, piece, mesh.get_group(mesh_dim))
    lengths = [_chunk_bounds(size, count, i) for i in range(count)]
    return torch.cat([p.narrow(dim, 0, stop - start) for p, (start, stop) in zip(pieces, lengths)], dim)


def chunk(tensor, dim, count, index):
    """Return chunk ``index`` of ``count`` along ``dim``."""
    start, stop = _chunk_bounds(tensor.size(dim), count, index)
    return tensor.narrow(dim, start, stop - start)


def reduce_scatter(tensor, operation, dim, mesh, mesh_dim):
    """Return this rank's chunk along ``dim`` of the reduction of all ranks' tensors."""
    count, index = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    if count == 1:
        return tensor
    step = -(-tensor.size(dim) // count)
    pieces = [_even(chunk(tensor.detach(), dim, count, i), dim, step) for i in range(count)]
    out = torch.empty_like(pieces[0])
    c10d.reduce_scatter(out, pieces, _operation(operation), mesh.get_group(mesh_dim))
    start, stop = _chunk_bounds(tensor.size(dim), count, index)
    return out.narrow(dim, 0, stop - start)


def all_to_all(tensor, dim, size, new_dim, mesh, mesh_dim):
    """Convert chunks along ``dim`` (of total length ``size``) to chunks along ``new_dim``."""
    count, index = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    step, new_size = -(-size // count), tensor.size(new_dim)
    new_step = -(-new_size // count)
    mine = _even(tensor.detach(), dim, step)
    sent = [_even(chunk(mine, new_dim, count, i), new_dim, new_step) for i in range(count)]
    got = [torch.empty_like(sent[0]) for _ in range(count)]
    c10d.all_to_all(got, sent, mesh.get_group(mesh_dim))
    start, stop = _chunk_bounds(new_size, count, index)
    lengths = [_chunk_bounds(size, count, i) for i in range(count)]
    return torch.cat([g.narrow(dim, 0, b - a) for g, (a, b) in zip(got, lengths)], dim).narrow(new_dim, 0, stop - start)


def mesh_broadcast(tensor, mesh, mesh_dim=0, async_op=False, *, group_src=0):
    """Fill a contiguous tensor with that of a rank of the dimension's group. Return the Work with ``async_op``."""
    return c10d.broadcast(tensor, group=mesh.get_group(mesh_dim), async_op=async_op, group_src=group_src)


def mesh_scatter(output, scatter_list, mesh, mesh_dim=0, async_op=False, *, group_src=0):
    """Fill a tensor with this rank's entry of a rank's scatter list. Return the Work with ``async_op``."""
    group = mesh.get_group(mesh_dim)
    pieces = scatter_list if group.rank() == group_src else None
    return c10d.scatter(output, pieces, group=group, async_op=async_op, group_src=group_src)


def pad_tensor(tensor, pad_dim, pad_size):
    """Pad a tensor with zeros at the end of a dimension; return it unchanged if ``pad_size`` is 0."""
    return _padded(tensor, pad_dim, pad_size) if pad_size else tensor


def unpad_tensor(tensor, pad_dim, pad_size):
    """Return a view without the padding at the end of a dimension; return the tensor itself if there is none."""
    return tensor.narrow(pad_dim, 0, tensor.size(pad_dim) - pad_size) if pad_size else tensor


def fill_empty_tensor_to_shards(shards, shard_dim, num_empty_tensors):
    """Append empty tensors to shards, for ranks that have no shard."""
    if not num_empty_tensors:
        return shards
    shape = list(shards[0].shape)
    shape[shard_dim] = 0
    return [*shards, *(shards[0].new_zeros(shape) for _ in range(num_empty_tensors))]
