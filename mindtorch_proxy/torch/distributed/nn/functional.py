"""Differentiable collectives: the backward of each is the opposite collective."""

import torch

from .. import distributed_c10d as c10d

__all__ = [
    "broadcast",
    "gather",
    "scatter",
    "reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "all_to_all_single",
    "all_reduce",
]


def _resolved(group):
    return c10d._get_default_group() if group is None or group is c10d.group.WORLD else group


def broadcast(tensor, src, group=None):
    """Return the tensor of rank ``src``; in backward, that rank gets the sum of all gradients."""
    return _Broadcast.apply(src, _resolved(group), tensor)


def gather(tensor, dst=0, group=None):
    """Return the tensors of all ranks on rank ``dst``, and zeros on other ranks."""
    return _Gather.apply(dst, _resolved(group), tensor)


def scatter(tensors, src=0, group=None):
    """Return this rank's tensor from the list of rank ``src``."""
    return _Scatter.apply(src, _resolved(group), *tensors)


def reduce(tensor, dst, op=c10d.ReduceOp.SUM, group=None):
    """Return the reduction of all ranks' tensors on rank ``dst``."""
    return _Reduce.apply(dst, op, _resolved(group), tensor)


def reduce_scatter(output, input_list, op=c10d.ReduceOp.SUM, group=None):
    """Return this rank's entry of the reduction of all ranks' lists."""
    return _ReduceScatter.apply(op, _resolved(group), output, *input_list)


def all_gather(tensor, group=None):
    """Return a tuple of the tensors of all ranks."""
    return _AllGather.apply(_resolved(group), tensor)


def _all_gather_base(output_tensor, input_tensor, group=None):
    """Return the concatenated tensors of all ranks."""
    return _AllGatherBase.apply(output_tensor, input_tensor, _resolved(group))


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """Return a tuple of the tensors that all ranks send to this one."""
    return _AllToAll.apply(_resolved(group), output_tensor_list, *input_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """Return the pieces of all ranks' tensors that are addressed to this rank."""
    return _AllToAllSingle.apply(_resolved(group), output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor, op=c10d.ReduceOp.SUM, group=None):
    """Return the reduction of all ranks' tensors."""
    return _AllReduce.apply(op, _resolved(group), tensor)


class _Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, src, group, tensor):
        ctx.given = src, group, c10d.get_rank()
        out = tensor.clone()
        c10d.broadcast(out, src, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        src, group, rank = ctx.given
        summed = grad.clone()
        c10d.reduce(summed, src, group=group)
        return None, None, summed if rank == src else torch.zeros_like(summed)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, dst, group, tensor):
        ctx.given = dst, group
        pieces = [torch.zeros_like(tensor) for _ in range(c10d.get_world_size(group))]
        c10d.gather(tensor.contiguous(), pieces if c10d.get_rank() == dst else None, dst, group)
        return tuple(pieces)

    @staticmethod
    def backward(ctx, *grads):
        dst, group = ctx.given
        out = torch.empty_like(grads[0])
        c10d.scatter(out, [g.contiguous() for g in grads] if c10d.get_rank() == dst else None, dst, group)
        return None, None, out


class _Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, src, group, *tensors):
        if not all(t.size() == tensors[0].size() for t in tensors):
            raise AssertionError("all tensors must have the same size")
        ctx.given = src, group
        out = torch.zeros_like(tensors[0])
        c10d.scatter(out, [t.contiguous() for t in tensors] if c10d.get_rank() == src else None, src, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        src, group = ctx.given
        pieces = [torch.zeros_like(grad) for _ in range(c10d.get_world_size(group))]
        c10d.gather(grad.contiguous(), pieces if c10d.get_rank() == src else None, src, group)
        return None, None, *pieces


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, dst, op, group, tensor):
        ctx.given = dst, group
        out = tensor.clone()
        c10d.reduce(out, dst, op, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        dst, group = ctx.given
        out = grad.clone()
        c10d.broadcast(out, dst, group)
        return None, None, None, out


class _ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, op, group, output, *inputs):
        ctx.group = group
        c10d.reduce_scatter(output, [t.contiguous() for t in inputs], op, group)
        return output.detach().clone()

    @staticmethod
    def backward(ctx, grad):
        pieces = [torch.empty_like(grad) for _ in range(c10d.get_world_size(ctx.group))]
        c10d.all_gather(pieces, grad.contiguous(), ctx.group)
        return None, None, None, *pieces


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, group, tensor):
        ctx.group = group
        pieces = [torch.empty_like(tensor) for _ in range(c10d.get_world_size(group))]
        c10d.all_gather(pieces, tensor.contiguous(), group)
        return tuple(pieces)

    @staticmethod
    def backward(ctx, *grads):
        out = torch.empty_like(grads[0])
        c10d.reduce_scatter(out, [g.contiguous() for g in grads], group=ctx.group)
        return None, out


class _AllGatherBase(torch.autograd.Function):
    @staticmethod
    def forward(ctx, output, tensor, group):
        ctx.group = group
        c10d.all_gather_into_tensor(output, tensor.contiguous(), group)
        return output.detach().clone()

    @staticmethod
    def backward(ctx, grad):
        size = c10d.get_world_size(ctx.group)
        if grad.size(0) % size:
            raise RuntimeError(
                f"Tensor with dimensions: {grad.size()} does not have first dimension divisible by world_size: {size}"
            )
        out = grad.new_empty((grad.size(0) // size, *grad.shape[1:]))
        c10d.reduce_scatter_tensor(out, grad.contiguous(), group=ctx.group)
        return None, out, None


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, group, outputs, *inputs):
        ctx.group, ctx.shapes = group, [t.shape for t in inputs]
        c10d.all_to_all(outputs, [t.contiguous() for t in inputs], group)
        return tuple(t.detach().clone() for t in outputs)

    @staticmethod
    def backward(ctx, *grads):
        back = [grads[0].new_empty(shape) for shape in ctx.shapes]
        c10d.all_to_all(back, [g.contiguous() for g in grads], ctx.group)
        return None, None, *back


class _AllToAllSingle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, group, output, received, sent, tensor):
        ctx.given = group, tensor.shape, received, sent
        c10d.all_to_all_single(output, tensor.contiguous(), received, sent, group)
        return output.detach().clone()

    @staticmethod
    def backward(ctx, grad):
        group, shape, received, sent = ctx.given
        back = grad.new_empty(shape)
        c10d.all_to_all_single(back, grad.contiguous(), sent, received, group)
        return None, None, None, None, back


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, op, group, tensor):
        ctx.given = op, group
        out = tensor.clone(memory_format=torch.contiguous_format)
        c10d.all_reduce(out, op, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        op, group = ctx.given
        out = grad.clone(memory_format=torch.contiguous_format)
        c10d.all_reduce(out, op, group)
        return None, None, out
