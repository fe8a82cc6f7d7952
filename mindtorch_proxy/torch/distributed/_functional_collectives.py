"""Functional collectives: they return new tensors, which wait for the collective when they are first used.

They call the operators torch.ops._c10d_functional, which have derivatives, and wrap their results.
"""

import torch
from torch.library import Library, custom_op
from torch.utils._pytree import tree_map_only

from . import _operators as _operators
from . import distributed_c10d as c10d
from .device_mesh import DeviceMesh

_functional = torch.ops._c10d_functional


class AsyncCollectiveTensor(torch.Tensor):
    """The result of a collective in flight; the first operator on it that is no view waits for the collective."""

    __slots__ = ("elem", "completed")

    @staticmethod
    def __new__(cls, elem):
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            elem.shape,
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            device=elem.device,
            requires_grad=elem.requires_grad,
        )
        made.elem, made.completed = elem, False
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __tensor_flatten__(self):
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(inner_tensors, meta, outer_size, outer_stride):
        return AsyncCollectiveTensor(inner_tensors["elem"])

    def trigger_wait(self):
        """Wait for the collective and return its result."""
        if not self.completed:
            out, self.completed = wait_tensor(self.elem), True
            return out
        return self.elem

    def wait(self):
        """Wait for the collective and return its result."""
        return wait_tensor(self.elem)

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
        inner = (lambda t: t.elem) if func.is_view else AsyncCollectiveTensor.trigger_wait
        args, kwargs = tree_map_only(AsyncCollectiveTensor, inner, (args, kwargs or {}))
        out = func(*args, **kwargs)
        return tree_map_only(torch.Tensor, AsyncCollectiveTensor, out) if func.is_view else out


@custom_op("_c10d_functional::_wrap_tensor_autograd", mutates_args=(), schema="(Tensor input) -> Tensor")
def _wrap_tensor_autograd(input):
    """Return a tensor as the result of a collective in flight; gradients pass through unchanged."""
    return AsyncCollectiveTensor(input)


_wrap_tensor_autograd.register_fake(torch.empty_like)
_wrap_tensor_autograd.register_autograd(lambda ctx, grad: grad)


def wait_tensor(tensor):
    """Return the result of a functional collective, and wait for it first if needed."""
    return _functional.wait_tensor(tensor)


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


def all_reduce(self, reduceOp, group, tag=""):
    """Return the reduction of all ranks' tensors."""
    return _wrap_tensor_autograd(_functional.all_reduce(self, reduceOp.lower(), _resolve_group_name(group, tag)))


def broadcast(self, src, group, tag=""):
    """Return the tensor of rank ``src``."""
    return _wrap_tensor_autograd(_functional.broadcast(self, src, _resolve_group_name(group, tag)))


def all_gather_tensor(self, gather_dim, group, tag=""):
    """Return the tensors of all ranks, concatenated along a dimension."""
    group = _group(group, tag)
    out = _functional.all_gather_into_tensor(self, group.size(), group.group_name)
    out = _wrap_tensor_autograd(out)
    return torch.cat(wait_tensor(out).chunk(group.size(), 0), gather_dim) if gather_dim != 0 else out


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """Return this rank's chunk, along a dimension, of the reduction of all ranks' tensors."""
    group = _group(group, tag)
    size = group.size()
    if self.size(scatter_dim) % size:
        raise AssertionError(f"input dimension 0 ({self.size(0)} must be a multiple of group_size {size})")
    if scatter_dim != 0:
        self = torch.cat(self.chunk(size, scatter_dim))
    out = _functional.reduce_scatter_tensor(self, reduceOp.lower(), size, group.group_name)
    return _wrap_tensor_autograd(out)


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """Return the pieces of all ranks' tensors that are addressed to this rank."""
    group = _group(group, tag)
    if output_split_sizes is None or input_split_sizes is None:
        if output_split_sizes is not input_split_sizes:
            raise AssertionError(
                "output_split_sizes and input_split_sizes must either be specified together or both set to None"
            )
        output_split_sizes = input_split_sizes = [self.shape[0] // group.size()] * group.size()
    out = _functional.all_to_all_single(self, output_split_sizes, input_split_sizes, group.group_name)
    return _wrap_tensor_autograd(out)


def permute_tensor(self, src_dst, group, tag=""):
    """Return the tensor of the rank that ``src_dst`` maps to this rank; it has one dimension."""
    group, sent = _group(group, tag), self.numel()
    to, of = src_dst[group.rank()], src_dst.index(group.rank())
    sizes = lambda peer: [sent if r == peer else 0 for r in range(group.size())]
    return all_to_all_single(self, sizes(of), sizes(to), group)


def all_reduce_coalesced(self, reduceOp, group, tag=""):
    """Apply all_reduce to each tensor of a list."""
    return [
        *map(
            _wrap_tensor_autograd,
            _functional.all_reduce_coalesced(self, reduceOp.lower(), _resolve_group_name(group, tag)),
        )
    ]


def all_gather_into_tensor_coalesced(self, group, tag=""):
    """Apply all_gather_tensor to each tensor of a list."""
    group = _group(group, tag)
    out = _functional.all_gather_into_tensor_coalesced(self, group.size(), group.group_name)
    return [*map(_wrap_tensor_autograd, out)]


def reduce_scatter_tensor_coalesced(inputs, reduceOp, scatter_dim, group, tag=""):
    """Apply reduce_scatter_tensor to each tensor of a list."""
    group = _group(group, tag)
    size = group.size()
    for dim, t in zip(scatter_dim, inputs):
        if t.size(dim) % size:
            raise AssertionError(f"input dimension {dim} ({t.size(dim)} must be a multiple of group_size {size}")
    inputs = [torch.cat(t.chunk(size, dim)) if dim else t for dim, t in zip(scatter_dim, inputs)]
    out = _functional.reduce_scatter_tensor_coalesced(inputs, reduceOp.lower(), size, group.group_name)
    return [*map(_wrap_tensor_autograd, out)]


# names with the same meaning, from when the functions above had no derivatives, and newer ones
all_gather_single = all_gather_tensor_autograd = all_gather_single_autograd = all_gather_tensor
reduce_scatter_single = reduce_scatter_tensor_autograd = reduce_scatter_single_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single
all_gather_single_coalesced, reduce_scatter_single_coalesced = (
    all_gather_into_tensor_coalesced,
    reduce_scatter_tensor_coalesced,
)


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


# ---------------------------------------------------------------------------------------- torch.ops.c10d_functional
_RANKS = "str tag, int[] ranks, int group_size"


def _by_ranks(operator):
    """Return the older form of an operator, whose group is given by a tag and ranks, and which is followed by ranks."""
    sized = any(a.name == "group_size" for a in operator._schema.arguments)

    def run(*args):
        *given, tag, ranks, size = args
        group = c10d._resolve_group_name_by_ranks_and_tag(ranks, tag)
        return operator(*given, *([size] if sized else []), group)

    return run


def _all_to_all_by_ranks(input, received, sent, tag, ranks, size):
    if (received is None) != (sent is None):
        raise AssertionError(
            "output_split_sizes and input_split_sizes must either be specified together or both set to None"
        )
    even = [input.shape[0] // size] * size
    group = c10d._resolve_group_name_by_ranks_and_tag(ranks, tag)
    return _functional.all_to_all_single(
        input, even if received is None else received, even if sent is None else sent, group
    )


_library = Library("c10d_functional", "DEF")
for _text in f"""
broadcast(Tensor self, int src, {_RANKS}) -> Tensor
all_reduce(Tensor self, str reduceOp, {_RANKS}) -> Tensor
all_reduce_coalesced(Tensor[] self, str reduceOp, {_RANKS}) -> Tensor[]
all_gather_into_tensor(Tensor shard, {_RANKS}) -> Tensor
all_gather_into_tensor_coalesced(Tensor[] input, {_RANKS}) -> Tensor[]
reduce_scatter_tensor(Tensor input, str reduceOp, {_RANKS}) -> Tensor
reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduceOp, {_RANKS}) -> Tensor[]
""".strip().splitlines():
    _called = _library.define(_text)
    _library.impl(_called, _by_ranks(getattr(_functional, _called).default))
_SIZES = "SymInt[]? output_split_sizes, SymInt[]? input_split_sizes"
_library.impl(_library.define(f"all_to_all_single(Tensor input, {_SIZES}, {_RANKS}) -> Tensor"), _all_to_all_by_ranks)
_library.impl(_library.define("wait_tensor(Tensor self) -> Tensor"), _functional.wait_tensor)
