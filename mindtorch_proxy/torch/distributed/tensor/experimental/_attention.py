"""Context parallelism: attention over a sequence of which each rank has a part.

Every rank keeps its part of the queries, and sees the keys and values of all ranks one after the other. What the
parts give is merged by the logarithms of the sums of their exponentials. With a causal mask the parts are made of one
piece from the head of the sequence and one from its tail, so that all ranks have as much to do.
"""

import contextlib
import enum
import math
from types import SimpleNamespace

import torch
import torch.nn.functional as F

from ... import distributed_c10d as c10d

__all__ = ["context_parallel", "context_parallel_unshard", "set_rotate_method"]

SEQUENCE = 2  # the dimension of the sequence in the attention's operands


class _RotateMethod(enum.Enum):
    """How keys and values come to the other ranks: round a ring, or all at once."""

    ALL_TO_ALL = enum.auto()
    ALL_GATHER = enum.auto()


_cp_options = SimpleNamespace(convert_to_f32=True, enable_load_balance=True, rotate_method=_RotateMethod.ALL_GATHER)


def set_rotate_method(rotate_method):
    """Choose how keys and values come to the other ranks: "allgather" (the default) or "alltoall", round a ring.

    NotImplementedError for another method.
    """
    methods = {"allgather": _RotateMethod.ALL_GATHER, "alltoall": _RotateMethod.ALL_TO_ALL}
    if rotate_method not in methods:
        raise NotImplementedError(f"Context Parallel does not support using {rotate_method} for kv shards rotation")
    _cp_options.rotate_method = methods[rotate_method]


class _LoadBalancer:
    """In which order a sequence is dealt out to the ranks: `_generate_indices(restore)` returns indices [1, length]."""


class _HeadTailLoadBalancer(_LoadBalancer):
    """Gives each rank a piece from the head of the sequence and the one as far from its end."""

    def __init__(self, seq_length, world_size, device):
        if seq_length % (2 * world_size):
            raise AssertionError(f"the length {seq_length} of the sequence is no multiple of {2 * world_size}")
        self.seq_length, self.world_size, self.device = seq_length, world_size, device

    def _generate_indices(self, restore=False):
        pieces = torch.arange(self.seq_length, device=self.device).view(2 * self.world_size, -1)
        heads = torch.arange(self.world_size, device=self.device)
        order = torch.stack([heads, 2 * self.world_size - 1 - heads], dim=1).reshape(-1)
        found = pieces[order].reshape(-1)
        return (torch.argsort(found) if restore else found)[None]


def _default_balancer(length, size, device):
    return _HeadTailLoadBalancer(length, size, device) if _cp_options.enable_load_balance else None


# ---------------------------------------------------------------- tensors that are dealt out
def _by_order(tensor, dim, indices):
    """Return a tensor with the entries of a dimension in another order. indices: [1, length] or [batch, length]."""
    if indices is None:
        return tensor
    if len(indices) == 1:
        return tensor.index_select(dim, indices[0])
    if dim == 0 or len(indices) != len(tensor):
        raise ValueError(
            f"Cannot rearrange buffer: load_balance_indices has shape {indices.shape}, but buffer has shape "
            f"{tensor.shape}."
        )
    return torch.stack([t.index_select(dim - 1, i) for t, i in zip(tensor, indices)])


def _shards(mesh, tensors, dims, balancer):
    """Return this rank's part of each tensor."""
    indices = balancer._generate_indices() if balancer is not None else None
    rank, size, found = mesh.get_local_rank(), mesh.size(), []
    for tensor, dim in zip(tensors, dims):
        if not isinstance(tensor, torch.Tensor):
            raise NotImplementedError(f"context parallelism of {type(tensor).__name__}: tensors alone are supported")
        if tensor.shape[dim] % size:
            raise NotImplementedError(
                f"context parallelism of a sequence of {tensor.shape[dim]} over {size} ranks: it must be a multiple"
            )
        found.append(_by_order(tensor, dim, indices).chunk(size, dim)[rank].clone())
    return found


def _context_parallel_shard(mesh, buffers, seq_dims, load_balancer=None):
    """Return this rank's parts of tensors (a list or a dictionary), in the order of the load balancer if there is one.

    ValueError if there are not as many dimensions as tensors.
    """
    if len(buffers) != len(seq_dims):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    _cp_options.enable_load_balance = load_balancer is not None
    names = list(buffers) if isinstance(buffers, dict) else range(len(buffers))
    found = _shards(mesh, [buffers[n] for n in names], [seq_dims[n] for n in names], load_balancer)
    return dict(zip(names, found)) if isinstance(buffers, dict) else found


@torch.no_grad()
def context_parallel_unshard(mesh, buffers, seq_dims, load_balancer=None):
    """Return whole tensors from the parts of all ranks, in the order of the sequence.

    load_balancer: the one that the tensors were dealt out by; without it, the default one, if load is balanced.
    """
    length = buffers[0].shape[seq_dims[0]] * mesh.size()
    balancer = load_balancer or _default_balancer(length, mesh.size(), buffers[0].device)
    indices = balancer._generate_indices(restore=True) if balancer else None
    whole = [_gathered(b, dim, mesh.get_group()) for b, dim in zip(buffers, seq_dims)]
    return [_by_order(t, dim, indices) for t, dim in zip(whole, seq_dims)]


def _gathered(tensor, dim, group):
    parts = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(group.size())]
    c10d.all_gather(parts, tensor.contiguous(), group=group)
    return torch.cat(parts, dim)


@contextlib.contextmanager
def context_parallel(mesh, *, buffers=None, buffer_seq_dims=None, no_restore_buffers=None):
    """Context manager in which `F.scaled_dot_product_attention` works on parts of a sequence.

    Args:
        mesh: the device mesh, of one dimension, whose ranks share the sequence.
        buffers: tensors that become this rank's part in the block: inputs, targets, positions.
        buffer_seq_dims: the dimension of the sequence in each of them.
        no_restore_buffers: those that are not restored at the end.

    Queries, keys and values are [batch, heads, part of the sequence, width], in any floating dtype, on gloo and hccl.

    Raises:
        ValueError: numbers of buffers and dimensions differ, or one not to restore is none of them.
        AssertionError: load is balanced, and the sequence is no multiple of twice the number of ranks.
    """
    buffers, dims = [] if buffers is None else buffers, [] if buffer_seq_dims is None else buffer_seq_dims
    if len(buffers) != len(dims):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    kept = [] if no_restore_buffers is None else list(no_restore_buffers)
    if any(all(k is not b for b in buffers) for k in kept):
        raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    balanced = _cp_options.enable_load_balance
    with torch.no_grad():
        before = [None if any(k is b for k in kept) else b.clone() for b in buffers]
        balancer = _default_balancer(buffers[0].shape[dims[0]], mesh.size(), buffers[0].device) if buffers else None
        _replace(buffers, _shards(mesh, buffers, dims, balancer))
    plain = F.scaled_dot_product_attention
    F.scaled_dot_product_attention = _over_parts(mesh.get_group())
    try:
        yield
    finally:
        F.scaled_dot_product_attention, _cp_options.enable_load_balance = plain, balanced
        with torch.no_grad():
            _replace(buffers, before)


def _replace(tensors, values):
    for t, value in zip(tensors, values):
        if value is not None:
            t.resize_(value.shape)
            t.copy_(value)


# ---------------------------------------------------------------- attention
def _over_parts(group):
    def scaled_dot_product_attention(
        query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
    ):
        """Attention in which each rank has a part of the sequence; see `context_parallel`."""
        if attn_mask is not None or dropout_p:
            raise NotImplementedError(
                "scaled_dot_product_attention inside context_parallel: a mask and dropout are not supported (any "
                "dtype, any device)"
            )
        if is_causal and query.size(SEQUENCE) != key.size(SEQUENCE):
            raise NotImplementedError("is_causal requires the same query and context sequence lengths")
        if not is_causal and _cp_options.enable_load_balance:
            raise RuntimeError("Load balancing requires `is_causal=True`.")
        if query.shape[1] != key.shape[1] and not enable_gqa:
            raise RuntimeError(
                f"context_parallel: {query.shape[1]} heads of queries and {key.shape[1]} of keys need enable_gqa=True"
            )
        scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        return _Attention.apply(query, key, value, group, is_causal, scale)

    return scaled_dot_product_attention


def _pieces(rank, size, length, balanced):
    """Return the pieces of a rank's part of the sequence: (where it begins in the part, its number in the sequence)."""
    return [(0, rank), (length // 2, 2 * size - 1 - rank)] if balanced else [(0, rank)]


def _blocks(rank, source, size, lengths, causal, balanced):
    """Return which queries see which keys of another rank: (slice of queries, of keys, whether a mask is needed)."""
    whole = [slice(0, n) for n in lengths]
    if not causal:
        return [(*whole, False)]
    step = lengths[0] // (2 if balanced else 1)
    return [
        (slice(q, q + step), slice(k, k + step), number == other)
        for q, number in _pieces(rank, size, lengths[0], balanced)
        for k, other in _pieces(source, size, lengths[0], balanced)
        if number >= other
    ]


def _scores(q, k, scale, masked):
    found = q @ k.transpose(-1, -2) * scale
    if masked:
        hidden = torch.ones(found.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        found = found.masked_fill(hidden, -math.inf)
    return found


class _Rotation:
    """Brings tensors of all ranks to this one, one rank after the other, from its own back."""

    def __init__(self, tensors, group):
        self.group, self.rank, self.size = group, c10d.get_rank(group), c10d.get_world_size(group)
        self.shapes = [t.shape for t in tensors]
        self.flat = torch.cat([t.reshape(-1) for t in tensors])
        self.around = _cp_options.rotate_method is _RotateMethod.ALL_TO_ALL

    def _split(self, flat):
        parts = flat.split([s.numel() for s in self.shapes])
        return [p.view(s) for p, s in zip(parts, self.shapes)]

    def __iter__(self):
        """Yield (rank, its tensors); the next ones are on their way meanwhile."""
        if not self.around:
            whole = self.flat.new_empty(self.size * len(self.flat))
            work = c10d.all_gather_into_tensor(whole, self.flat, group=self.group, async_op=True)
            yield self.rank, self._split(self.flat)
            work.wait()
            every = whole.chunk(self.size)
            for i in range(1, self.size):
                source = (self.rank - i) % self.size
                yield source, self._split(every[source])
            return
        current = self.flat
        for i in range(self.size):
            coming = _sent_on(current, self.group) if i + 1 < self.size else None
            yield (self.rank - i) % self.size, self._split(current)
            current = coming and coming()


def _sent_on(tensor, group):
    """Start to send a tensor to the next rank; return a function that returns the one of the rank before."""
    rank, size, coming = c10d.get_rank(group), c10d.get_world_size(group), torch.empty_like(tensor)
    works = c10d.batch_isend_irecv(
        [
            c10d.P2POp(c10d.isend, tensor, group=group, group_peer=(rank + 1) % size),
            c10d.P2POp(c10d.irecv, coming, group=group, group_peer=(rank - 1) % size),
        ]
    )

    def wait():
        for work in works:
            work.wait()
        return coming

    return wait


def _grouped(tensor, heads):
    """Return [batch, heads, heads of queries for each, sequence, width]."""
    return tensor.reshape(tensor.shape[0], heads, -1, *tensor.shape[2:])


class _Attention(torch.autograd.Function):
    """Attention of this rank's queries to the keys of all ranks."""

    @staticmethod
    def forward(ctx, query, key, value, group, causal, scale):
        exact = torch.float32 if _cp_options.convert_to_f32 and query.dtype.itemsize < 4 else query.dtype
        heads, balanced = key.shape[1], _cp_options.enable_load_balance
        q = _grouped(query, heads).to(exact)
        result = q.new_zeros(*q.shape[:-1], value.shape[-1])
        sums = q.new_full((*q.shape[:-1], 1), -math.inf)
        lengths = query.shape[SEQUENCE], key.shape[SEQUENCE]
        rank, size = c10d.get_rank(group), c10d.get_world_size(group)
        for source, (k, v) in _Rotation([key, value], group):
            k, v = (_grouped(t, heads).to(exact) for t in (k, v))
            for rows, columns, masked in _blocks(rank, source, size, lengths, causal, balanced):
                scores = _scores(q[..., rows, :], k[..., columns, :], scale, masked)
                part = torch.logsumexp(scores, -1, keepdim=True)
                found = torch.exp(scores - part) @ v[..., columns, :]
                before = sums[..., rows, :]
                both = torch.logaddexp(before, part)
                result[..., rows, :] = result[..., rows, :] * torch.exp(before - both) + found * torch.exp(part - both)
                sums[..., rows, :] = both
        output = result.to(query.dtype).reshape(*query.shape[:-1], value.shape[-1])
        ctx.save_for_backward(query, key, value, output, sums)
        ctx.given = group, causal, scale, balanced, exact
        return output

    @staticmethod
    def backward(ctx, grad):
        group, causal, scale, balanced, exact = ctx.given
        query, key, value, output, sums = ctx.saved_tensors
        heads, size, rank = key.shape[1], c10d.get_world_size(group), c10d.get_rank(group)
        q, g, o = (_grouped(t, heads).to(exact) for t in (query, grad, output))
        own = (g * o).sum(-1, keepdim=True)
        of_query = torch.zeros_like(q)
        of_parts = q.new_zeros(size, key.numel() + value.numel())  # of the keys and values of each rank
        lengths = query.shape[SEQUENCE], key.shape[SEQUENCE]
        for source, (k, v) in _Rotation([key, value], group):
            k, v = (_grouped(t, heads).to(exact) for t in (k, v))
            of_key, of_value = torch.zeros_like(k), torch.zeros_like(v)
            for rows, columns, masked in _blocks(rank, source, size, lengths, causal, balanced):
                there, here = k[..., columns, :], q[..., rows, :]
                weights = torch.exp(_scores(here, there, scale, masked) - sums[..., rows, :])
                towards = g[..., rows, :]
                of_value[..., columns, :] += (weights.transpose(-1, -2) @ towards).sum(2, keepdim=True)
                change = weights * (towards @ v[..., columns, :].transpose(-1, -2) - own[..., rows, :]) * scale
                of_query[..., rows, :] += change @ there
                of_key[..., columns, :] += (change.transpose(-1, -2) @ here).sum(2, keepdim=True)
            of_parts[source] = torch.cat([of_key.reshape(-1), of_value.reshape(-1)])
        mine = of_parts.new_empty(of_parts.shape[1])
        c10d.reduce_scatter_tensor(mine, of_parts.view(-1), group=group)
        of_key, of_value = mine.split([key.numel(), value.numel()])
        back = of_query.reshape(query.shape), of_key.view(key.shape), of_value.view(value.shape)
        return *(t.to(s.dtype) for t, s in zip(back, (query, key, value))), None, None, None
