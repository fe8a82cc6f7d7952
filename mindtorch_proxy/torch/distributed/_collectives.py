"""Collectives on tensors, and point-to-point messages between ranks."""

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import torch

from . import _world as _w
from ._types import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    RedOpType,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    Work,
    reduction,
)
from ._world import GroupMember, _group_or_default_group, _rank_not_in_group, _warn_not_in_group, get_group_rank

_COMPLEX = (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)


@dataclass
class _CollOp:
    """A collective that is deferred until its coalescing block ends."""

    op: Callable
    tensor: torch.Tensor
    dst_tensor: torch.Tensor | None = None
    redop: ReduceOp | None = None
    root: int | None = None


class _IllegalWork(Work):
    """The work returned for a deferred asynchronous collective; waiting for it is an error."""

    def __getattribute__(self, name):
        if name in ("is_success", "exception", "wait", "source_rank", "_source_rank", "result", "synchronize"):
            raise ValueError(f"Illegal to call {name} on IllegalWork object")
        return super().__getattribute__(name)


def supports_complex(op):
    """Whether a reduction works on complex tensors when they are viewed as pairs of real numbers."""
    return reduction(op) in _COMPLEX


def _check_single_tensor(param, name):
    if not isinstance(param, torch.Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got "
            f"{type(param)} instead."
        )


def _check_tensor_list(param, name):
    if not isinstance(param, list) or not all(isinstance(p, torch.Tensor) for p in param):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but got "
            f"{type(param)} with elements of type "
            f"{[type(p) for p in param] if isinstance(param, (list, tuple)) else None}."
        )


def _flat(values):
    for v in values:
        if isinstance(v, (list, tuple)):
            yield from _flat(v)
        elif v is not None:
            yield v


def _ensure_all_tensors_same_dtype(*tensors):
    last = None
    for t in _flat(tensors):
        dtype = {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(t.dtype, t.dtype)
        if last is not None and dtype is not last:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {last} and  {t.dtype}")
        last = dtype


def _finish(work, async_op):
    """Return the work if the call is asynchronous; otherwise wait for it and return None."""
    if async_op:
        return work
    if work is not None:
        work.wait()
    return None


def _future(work, async_op):
    """Return the work's future if the call is asynchronous, as coalesced collectives do; otherwise wait."""
    return work.get_future() if async_op else _finish(work, async_op)


def _outside(group, name):
    if _rank_not_in_group(group):
        _warn_not_in_group(name)
        return True
    return False


def _canonicalize_group_rank(group, global_rank=None, group_rank=None, return_global=False):
    """Convert a global rank or a group rank to a group rank, or to a global rank if ``return_global``."""
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        return _w.get_global_rank(group, group_rank) if return_global else group_rank
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return global_rank if return_global else get_group_rank(group, global_rank)


def _options(cls, async_op, **values):
    return cls(asyncOp=async_op, **values)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Copy the tensor of rank ``src`` to all ranks."""
    group = _group_or_default_group(group)
    if _outside(group, "broadcast"):
        return None
    root = _canonicalize_group_rank(group, src, group_src)
    _check_single_tensor(tensor, "tensor")
    return _finish(group.broadcast([tensor], _options(BroadcastOptions, async_op, rootRank=root)), async_op)


def _reducible(name, op, *tensors):
    op_type = reduction(op)
    if any(t.is_complex() for t in tensors) and op_type not in _COMPLEX:
        raise ValueError(f"{name} does not support {op_type} on complex tensors")
    return op


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce the tensors of all ranks; every rank gets the result."""
    _check_single_tensor(tensor, "tensor")
    if _outside(group, "all_reduce"):
        return None
    _reducible("all_reduce", op, tensor)
    group = _group_or_default_group(group)
    coalescing = _w._world.pg_coalesce_state.get(group)
    if isinstance(coalescing, list):
        coalescing.append(_CollOp(all_reduce, tensor, redop=op))
        return _IllegalWork() if async_op else None
    return _finish(group.allreduce([tensor], _options(AllreduceOptions, async_op, reduceOp=op)), async_op)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce several tensors across all ranks in one operation."""
    if isinstance(tensors, torch.Tensor):
        tensors = [tensors]
    _check_tensor_list(tensors, "tensor")
    _ensure_all_tensors_same_dtype(tensors)
    if _outside(group, "all_reduce_coalesced"):
        return None
    _reducible("all_reduce", op, *tensors)
    group = _group_or_default_group(group)
    return _future(
        group.allreduce_coalesced(tensors, _options(AllreduceCoalescedOptions, async_op, reduceOp=op)), async_op
    )


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Reduce the tensors of all ranks; only rank ``dst`` gets the result."""
    group = _group_or_default_group(group)
    if _outside(group, "reduce"):
        return None
    root = _canonicalize_group_rank(group, dst, group_dst)
    _check_single_tensor(tensor, "tensor")
    return _finish(group.reduce([tensor], _options(ReduceOptions, async_op, reduceOp=op, rootRank=root)), async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Gather the tensors of all ranks into a list on every rank."""
    _check_tensor_list(tensor_list, "tensor_list")
    _check_single_tensor(tensor, "tensor")
    _ensure_all_tensors_same_dtype(tensor_list, tensor)
    if _outside(group, "all_gather"):
        return None
    return _finish(
        _group_or_default_group(group).allgather([tensor_list], [tensor], _options(AllgatherOptions, async_op)),
        async_op,
    )


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Gather the tensors of all ranks, concatenated or stacked, into one tensor on every rank."""
    _check_single_tensor(input_tensor, "input_tensor")
    _check_single_tensor(output_tensor, "output_tensor")
    if _outside(group, "all_gather_into_tensor"):
        return None
    group = _group_or_default_group(group)
    coalescing = _w._world.pg_coalesce_state.get(group)
    if isinstance(coalescing, list):
        coalescing.append(_CollOp(all_gather_into_tensor, input_tensor, output_tensor))
        return _IllegalWork() if async_op else None
    return _finish(group._allgather_base(output_tensor, input_tensor, _options(AllgatherOptions, async_op)), async_op)


def all_gather_single(output, input, group=None, async_op=False):
    """Same as all_gather_into_tensor."""
    return all_gather_into_tensor(output, input, group, async_op)


def _all_gather_base(output_tensor, input_tensor, group=None, async_op=False):
    """Deprecated name of all_gather_into_tensor."""
    warnings.warn(
        "`torch.distributed._all_gather_base` is deprecated, use `torch.distributed.all_gather_into_tensor`",
        FutureWarning,
        stacklevel=2,
    )
    return all_gather_into_tensor(output_tensor, input_tensor, group, async_op)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """Gather several tensors at once; the output has one list of tensors for each rank."""
    if _outside(group, "all_gather_coalesced"):
        return None
    _check_tensor_list(input_tensor_list, "input_tensor_list")
    _ensure_all_tensors_same_dtype(input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for output in output_tensor_lists:
        _check_tensor_list(output, "output_tensor_lists")
        _ensure_all_tensors_same_dtype(output)
    group = _group_or_default_group(group)
    return _future(
        group.allgather_coalesced(output_tensor_lists, input_tensor_list, _options(AllgatherOptions, async_op)),
        async_op,
    )


def _validate_output_list_for_rank(my_rank, dst, gather_list):
    if dst == my_rank:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Gather the tensors of all ranks into a list on rank ``dst``."""
    _check_single_tensor(tensor, "tensor")
    if gather_list:
        _check_tensor_list(gather_list, "gather_list")
    else:
        gather_list = []
    _ensure_all_tensors_same_dtype(tensor, gather_list)
    group = _group_or_default_group(group)
    if _outside(group, "gather"):
        return None
    root = _canonicalize_group_rank(group, 0 if dst is None and group_dst is None else dst, group_dst)
    _validate_output_list_for_rank(group.rank(), root, gather_list)
    outputs = [gather_list] if root == group.rank() else []
    return _finish(group.gather(outputs, [tensor], _options(GatherOptions, async_op, rootRank=root)), async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Send each rank its tensor from the list of rank ``src``."""
    _check_single_tensor(tensor, "tensor")
    if scatter_list:
        _check_tensor_list(scatter_list, "scatter_list")
    else:
        scatter_list = []
    _ensure_all_tensors_same_dtype(tensor, scatter_list)
    group = _group_or_default_group(group)
    if _outside(group, "scatter"):
        return None
    root = _canonicalize_group_rank(group, 0 if src is None and group_src is None else src, group_src)
    if root == group.rank():
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    inputs = [scatter_list] if root == group.rank() else []
    return _finish(group.scatter([tensor], inputs, _options(ScatterOptions, async_op, rootRank=root)), async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce the lists of all ranks element by element; each rank gets its own entry of the result."""
    _check_single_tensor(output, "output")
    _check_tensor_list(input_list, "input_list")
    _ensure_all_tensors_same_dtype(output, input_list)
    if _outside(group, "reduce_scatter"):
        return None
    group = _group_or_default_group(group)
    return _finish(
        group.reduce_scatter([output], [input_list], _options(ReduceScatterOptions, async_op, reduceOp=op)), async_op
    )


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce the inputs of all ranks; each rank gets its own chunk of the result."""
    _check_single_tensor(output, "output")
    _check_single_tensor(input, "input")
    if _outside(group, "reduce_scatter_tensor"):
        return None
    group = _group_or_default_group(group)
    coalescing = _w._world.pg_coalesce_state.get(group)
    if isinstance(coalescing, list):
        coalescing.append(_CollOp(reduce_scatter_tensor, input, output, op))
        return _IllegalWork() if async_op else None
    return _finish(
        group._reduce_scatter_base(output, input, _options(ReduceScatterOptions, async_op, reduceOp=op)), async_op
    )


def reduce_scatter_single(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Same as reduce_scatter_tensor."""
    return reduce_scatter_tensor(output, input, op, group, async_op)


def _reduce_scatter_base(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Deprecated name of reduce_scatter_tensor."""
    warnings.warn(
        "`torch.distributed._reduce_scatter_base` is deprecated, use `torch.distributed.reduce_scatter_tensor`",
        FutureWarning,
        stacklevel=2,
    )
    return reduce_scatter_tensor(output, input, op, group, async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Split each rank's input along the first dimension and send piece i to rank i."""
    if _outside(group, "all_to_all_single"):
        return None
    _check_single_tensor(output, "output")
    _check_single_tensor(input, "input")
    _ensure_all_tensors_same_dtype(output, input)
    group = _group_or_default_group(group)
    work = group.alltoall_base(
        output,
        input,
        list(output_split_sizes or ()),
        list(input_split_sizes or ()),
        _options(AllToAllOptions, async_op),
    )
    return _finish(work, async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Send tensor i of each rank's list to rank i."""
    if _outside(group, "all_to_all"):
        return None
    _check_tensor_list(output_tensor_list, "output_tensor_list")
    _check_tensor_list(input_tensor_list, "input_tensor_list")
    _ensure_all_tensors_same_dtype(output_tensor_list, input_tensor_list)
    group = _group_or_default_group(group)
    return _finish(group.alltoall(output_tensor_list, input_tensor_list, _options(AllToAllOptions, async_op)), async_op)


def barrier(group=None, async_op=False, device_ids=None):
    """Wait until all ranks of the group reach the barrier."""
    group = _group_or_default_group(group)
    if _outside(group, "barrier"):
        return None
    return _finish(group.barrier(BarrierOptions(asyncOp=async_op)), async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Wait for all ranks; the error on a time-out names the ranks that did not reach the barrier."""
    if _outside(group, "monitored_barrier"):
        return
    if _w.get_backend(group) != _w.Backend.GLOO:
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    if timeout is not None:
        _w._check_valid_timeout(timeout)
        if timeout <= timedelta(0):
            raise ValueError("timeout must be positive")
    _group_or_default_group(group).monitored_barrier(timeout, wait_all_ranks)


# -- point-to-point messages


def _check_not_self_rank(group, rank, kind):
    if group.rank() == rank:
        raise ValueError(f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process.")


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Start to send a tensor and return a work, which is complete once the tensor has been sent."""
    group = _group_or_default_group(group)
    if _outside(group, "isend"):
        return None
    target = _canonicalize_group_rank(group, dst, group_dst)
    _check_single_tensor(tensor, "tensor")
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return group.send([tensor], target, tag)


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Start to receive a tensor from rank ``src``, or from any rank if ``src`` is not given."""
    _check_single_tensor(tensor, "tensor")
    if _outside(group, "irecv"):
        return None
    group = _group_or_default_group(group)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if src is None and group_src is None:
        return group.recv_anysource([tensor], tag)
    return group.recv([tensor], _canonicalize_group_rank(group, src, group_src), tag)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to rank ``dst`` and wait until it has been sent."""
    group = _group_or_default_group(group)
    if _rank_not_in_group(group):
        _warn_not_in_group("send")
        return
    _check_not_self_rank(group, _canonicalize_group_rank(group, dst, group_dst), "destination")
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive a tensor and return the rank that sent it, or -1 if this process is outside the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    if src is not None or group_src is not None:
        return src if src is not None else _w.get_global_rank(_group_or_default_group(group), group_src)
    return _w.get_global_rank(_group_or_default_group(group), work.source_rank())


class P2POp:
    """A send or receive operation for batch_isend_irecv."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        _check_op(op)
        _check_single_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = _group_or_default_group(group)
        self.peer = _canonicalize_group_rank(self.group, peer, group_peer, return_global=True)
        self.group_peer = _canonicalize_group_rank(self.group, peer, group_peer)

    def __new__(cls, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        _check_op(op)
        _check_single_tensor(tensor, "tensor")
        return object.__new__(cls)

    def __repr__(self):
        mine, other = self.group.rank(), self.group_peer
        source, target = (mine, other) if self.op is isend else (other, mine)
        name = _w._get_process_group_name(self.group)
        return (
            f"P2POp({self.op.__name__} pg={name}, group_src={source}, group_dst={target},  {self.tensor.shape}, "
            f"{self.tensor.dtype})"
        )


def _check_op(op):
    if op not in (isend, irecv):
        raise ValueError(
            "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
        )


def _check_p2p_op_list(operations):
    if not isinstance(operations, list) or not operations or not all(isinstance(p, P2POp) for p in operations):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if any(p.group is not operations[0].group for p in operations):
        raise ValueError("All ops need to use the same group.")


def batch_isend_irecv(p2p_op_list):
    """Start several send and receive operations and return one work for each.

    A backend that runs them as one operation has one work for all.
    """
    _check_p2p_op_list(p2p_op_list)
    group, device = p2p_op_list[0].group, p2p_op_list[0].tensor.device
    together = group._get_backend(device).supports_coalescing
    if together:
        group._start_coalescing(device)
    works = [
        p.op(p.tensor, group=p.group, tag=p.tag, **{"group_dst" if p.op is isend else "group_src": p.group_peer})
        for p in p2p_op_list
    ]
    if together:
        works = [group._end_coalescing(device)]
    return [w for w in works if w is not None]


# -- coalescing


class _CoalescingManager:
    """The object that ``_coalescing_manager`` yields; it collects the works of the block."""

    def __init__(self):
        self.works = []

    def append(self, work=None):
        if work:
            self.works.append(work)

    def wait(self):
        """Wait for all collected works."""
        for work in self.works:
            work.wait()


@contextlib.contextmanager
def _coalescing_manager(group=None, device=None, async_ops=False):
    """Run the collectives of a block as one at its end; they must be of one kind."""
    group = _group_or_default_group(group)
    state = _w._world.pg_coalesce_state
    if isinstance(state.get(group), list):
        raise ValueError("ProcessGroup has non-empty op list at the start of coalescing")
    calls = state[group] = []
    manager = _CoalescingManager()
    try:
        yield manager
    finally:
        state.pop(group, None)
    if not calls:
        return
    first, tensors = calls[0], [c.tensor for c in calls]
    if any(c.op is not first.op or c.redop != first.redop for c in calls):
        raise RuntimeError(
            "Coalescing manager expects collectives of one kind and one reduction, "
            f"not {sorted({c.op.__name__ for c in calls})}"
        )
    if first.op is all_reduce:
        work = group.allreduce_coalesced(tensors, AllreduceCoalescedOptions(reduceOp=first.redop, asyncOp=async_ops))
    elif first.op is all_gather_into_tensor:
        work = group.allgather_into_tensor_coalesced(
            [c.dst_tensor for c in calls], tensors, AllgatherOptions(asyncOp=async_ops)
        )
    else:
        options = ReduceScatterOptions(reduceOp=first.redop, asyncOp=async_ops)
        work = group.reduce_scatter_tensor_coalesced([c.dst_tensor for c in calls], tensors, options)
    if async_ops:
        manager.append(work)
    else:
        work.wait()


def _make_nccl_premul_sum(factor):
    """Return the reduction that multiplies by a factor before summing. gloo does not support it."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


class reduce_op:
    """Deprecated name of ReduceOp."""

    __members__ = RedOpType.__members__

    def __getattribute__(self, key):
        warnings.warn(
            "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(ReduceOp, key)


_reduce_op = reduce_op
reduce_op = _reduce_op()
NON_GROUP_MEMBER = GroupMember.NON_GROUP_MEMBER
