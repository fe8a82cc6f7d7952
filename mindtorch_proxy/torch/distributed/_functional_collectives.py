"""Functional collectives: they return new tensors, which wait for the collective when they are first used."""

import torch
from torch.utils._pytree import tree_map

from . import distributed_c10d as c10d
from .device_mesh import DeviceMesh

_OPERATIONS = {
    "sum": "SUM",
    "avg": "AVG",
    "product": "PRODUCT",
    "min": "MIN",
    "max": "MAX",
    "band": "BAND",
    "bor": "BOR",
    "bxor": "BXOR",
}


class AsyncCollectiveTensor(torch.Tensor):
    """The result of a collective in flight; the first operator on it waits for the collective."""

    __slots__ = ("elem", "completed", "_work")

    @staticmethod
    def __new__(cls, elem, work=None):
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            elem.shape,
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            device=elem.device,
        )
        made.elem, made._work, made.completed = elem, work, work is None
        return made

    def __init__(self, elem, work=None):
        super().__init__()

    __torch_function__ = torch._C._disabled_torch_function_impl

    def trigger_wait(self):
        """Wait for the collective and return its result."""
        if not self.completed:
            self._work.wait()
            self.completed, self._work = True, None
        return self.elem

    wait = trigger_wait

    def _get_acs_underlying_tensor(self):
        return self.elem

    def tolist(self):
        return self.trigger_wait().tolist()

    def numpy(self):
        return self.wait().numpy()

    def __repr__(self):
        return f"AsyncCollectiveTensor({self.trigger_wait()})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        unwrapped = tree_map(
            lambda t: t.trigger_wait() if isinstance(t, AsyncCollectiveTensor) else t, (args, kwargs or {})
        )
        return func(*unwrapped[0], **unwrapped[1])


def wait_tensor(tensor):
    """Return the result of a functional collective, and wait for it first if needed."""
    return tensor.trigger_wait() if isinstance(tensor, AsyncCollectiveTensor) else tensor


def _group(group, tag=""):
    """Return the process group for a group argument.

    The argument is a list of ranks, a 1D DeviceMesh, a (DeviceMesh, dimension) pair, a group name or a group.
    """
    if isinstance(group, c10d.ProcessGroup):
        return group
    if isinstance(group, str):
        return c10d._resolve_process_group(group)
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, list):
        ranks = [r for part in group for r in part] if group and isinstance(group[0], list) else group
        stride = len(group[0]) if group and isinstance(group[0], list) else len(ranks)
        return c10d._find_or_create_pg_by_ranks_and_tag(tag, ranks, stride)
    raise ValueError(
        "Invalid type for group, must be one of List, Processgroup, DeviceMesh or (DeviceMesh, int), "
        f"but got {type(group)}"
    )


def _resolve_group_name(group, tag=""):
    return _group(group, tag).group_name


def _operation(name):
    if name.lower() not in _OPERATIONS:
        raise ValueError(f"unknown reduction {name!r}: one of {', '.join(_OPERATIONS)}")
    return getattr(c10d.ReduceOp, _OPERATIONS[name.lower()])


def _plain(tensor):
    return wait_tensor(tensor).detach()


def all_reduce(self, reduceOp, group, tag=""):
    """Return the reduction of all ranks' tensors."""
    out = _plain(self).clone(memory_format=torch.contiguous_format)
    return AsyncCollectiveTensor(out, c10d.all_reduce(out, _operation(reduceOp), _group(group, tag), async_op=True))


def broadcast(self, src, group, tag=""):
    """Return the tensor of rank ``src``."""
    out, group = _plain(self).clone(memory_format=torch.contiguous_format), _group(group, tag)
    return AsyncCollectiveTensor(out, c10d.broadcast(out, src, group, async_op=True))


def _gathered(tensor, group):
    out = tensor.new_empty((tensor.shape[0] * group.size(), *tensor.shape[1:]))
    return out, c10d.all_gather_into_tensor(out, tensor.contiguous(), group, async_op=True)


def all_gather_tensor(self, gather_dim, group, tag=""):
    """Return the tensors of all ranks, concatenated along a dimension."""
    tensor, group = _plain(self), _group(group, tag)
    out, work = _gathered(tensor, group)
    if gather_dim == 0:
        return AsyncCollectiveTensor(out, work)
    work.wait()
    return torch.cat(out.chunk(group.size(), 0), gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """Return this rank's chunk, along a dimension, of the reduction of all ranks' tensors."""
    tensor, group = _plain(self), _group(group, tag)
    if tensor.size(scatter_dim) % group.size():
        raise AssertionError(f"input dimension 0 ({tensor.size(0)} must be a multiple of group_size {group.size()})")
    if scatter_dim != 0:
        tensor = torch.cat(tensor.chunk(group.size(), scatter_dim))
    out = tensor.new_empty((tensor.shape[0] // group.size(), *tensor.shape[1:]))
    return AsyncCollectiveTensor(
        out, c10d.reduce_scatter_tensor(out, tensor.contiguous(), _operation(reduceOp), group, async_op=True)
    )


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """Return the pieces of all ranks' tensors that are addressed to this rank."""
    tensor, group = _plain(self).contiguous(), _group(group, tag)
    rows = tensor.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    out = tensor.new_empty((rows, *tensor.shape[1:]))
    return AsyncCollectiveTensor(
        out, c10d.all_to_all_single(out, tensor, output_split_sizes, input_split_sizes, group, async_op=True)
    )


def permute_tensor(self, src_dst, group, tag=""):
    """Return the tensor of the rank that ``src_dst`` maps to this rank."""
    group, sent = _group(group, tag), self.numel()
    to, of = src_dst[group.rank()], src_dst.index(group.rank())
    sizes = lambda peer: [sent if r == peer else 0 for r in range(group.size())]
    return wait_tensor(all_to_all_single(self.reshape(-1), sizes(of), sizes(to), group)).view(self.shape)


def all_reduce_coalesced(self, reduceOp, group, tag=""):
    """Apply all_reduce to each tensor of a list."""
    return [all_reduce(t, reduceOp, group, tag) for t in self]


def all_gather_into_tensor_coalesced(self, group, tag=""):
    """Apply all_gather_tensor to each tensor of a list."""
    return [all_gather_tensor(t, 0, group, tag) for t in self]


def reduce_scatter_tensor_coalesced(inputs, reduceOp, scatter_dim, group, tag=""):
    """Apply reduce_scatter_tensor to each tensor of a list."""
    return [reduce_scatter_tensor(t, reduceOp, d, group, tag) for t, d in zip(inputs, scatter_dim)]


all_gather_single, reduce_scatter_single = all_gather_tensor, reduce_scatter_tensor
all_gather_single_coalesced, reduce_scatter_single_coalesced = (
    all_gather_into_tensor_coalesced,
    reduce_scatter_tensor_coalesced,
)


# ------------------------------------------------------------------------------------------------ differentiable
class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, dim, group):
        ctx.given = dim, group
        return wait_tensor(all_gather_tensor(tensor, dim, group))

    @staticmethod
    def backward(ctx, grad):
        dim, group = ctx.given
        return wait_tensor(reduce_scatter_tensor(grad, "sum", dim, group)), None, None


class _ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, operation, dim, group):
        if operation.lower() not in ("sum", "avg"):
            raise NotImplementedError(f"the gradient of reduce_scatter with {operation} is not supported")
        ctx.given = operation.lower(), dim, group
        return wait_tensor(reduce_scatter_tensor(tensor, operation, dim, group))

    @staticmethod
    def backward(ctx, grad):
        operation, dim, group = ctx.given
        whole = wait_tensor(all_gather_tensor(grad, dim, group))
        return (whole if operation == "sum" else whole / group.size()), None, None, None


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, received, sent, group):
        ctx.given = received, sent, group
        return wait_tensor(all_to_all_single(tensor, received, sent, group))

    @staticmethod
    def backward(ctx, grad):
        received, sent, group = ctx.given
        return wait_tensor(all_to_all_single(grad, sent, received, group)), None, None, None


def all_gather_tensor_autograd(self, gather_dim, group, tag=""):
    """Differentiable all_gather_tensor; its backward is a reduce_scatter with sum."""
    return _AllGather.apply(self, gather_dim, _group(group, tag))


def reduce_scatter_tensor_autograd(self, reduceOp, scatter_dim, group, tag=""):
    """Differentiable reduce_scatter_tensor; its backward is an all_gather."""
    return _ReduceScatter.apply(self, reduceOp, scatter_dim, _group(group, tag))


def all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, group, tag=""):
    """Differentiable all_to_all_single; its backward sends the gradients back."""
    return _AllToAll.apply(self, output_split_sizes, input_split_sizes, _group(group, tag))


all_gather_single_autograd, reduce_scatter_single_autograd = all_gather_tensor_autograd, reduce_scatter_tensor_autograd


# ------------------------------------------------------------------------------------------------ in-place
def all_reduce_inplace(tensor, op="sum", group=None, async_op=False, tag=""):
    """In-place form of all_reduce."""
    if async_op:
        raise AssertionError("Can't remap async version of inplace op to functional collective")
    return tensor.copy_(
        wait_tensor(all_reduce(tensor, op if isinstance(op, str) else str(op), group or c10d._get_default_group(), tag))
    )


def all_gather_tensor_inplace(output_tensor, input_tensor, group=None, async_op=False, tag="", gather_dim=0):
    """Form of all_gather_tensor that writes to ``output_tensor``."""
    if async_op:
        raise AssertionError("Can't remap async version of inplace op to functional collective")
    return output_tensor.copy_(
        wait_tensor(all_gather_tensor(input_tensor, gather_dim, group or c10d._get_default_group(), tag))
    )


def reduce_scatter_tensor_inplace(output, input, op="sum", group=None, async_op=False, scatter_dim=0, tag=""):
    """Form of reduce_scatter_tensor that writes to ``output``."""
    if async_op:
        raise AssertionError("Can't remap async version of inplace op to functional collective")
    return output.copy_(
        wait_tensor(reduce_scatter_tensor(input, op, scatter_dim, group or c10d._get_default_group(), tag))
    )


def all_to_all_inplace(
    output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False, tag=""
):
    """Form of all_to_all_single that writes to ``output``."""
    if async_op:
        raise AssertionError("Can't remap async version of inplace op to functional collective")
    return output.copy_(
        wait_tensor(
            all_to_all_single(input, output_split_sizes, input_split_sizes, group or c10d._get_default_group(), tag)
        )
    )
