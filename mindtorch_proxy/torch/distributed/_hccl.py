"""The hccl backend: collectives on tensors of NPUs, which HCCL runs between them.

HCCL takes contiguous memory, and for each rank one share of it; it reduces signed integers, half types and float32 by
sum, product, minimum and maximum. Everything else is made of that here: strided and complex tensors, bool, averages,
lists of tensors and several tensors at once.
"""

import os
import socket

import torch
from torch.npu import _device

from ._address import local_address
from ._errors import DistBackendError, DistError
from ._hccl_calls import StreamedCalls
from ._process_group import _Options
from ._types import BarrierOptions, RedOpType, reduction
from .constants import default_pg_timeout

_REDUCED = (torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32)
_REDUCE = {RedOpType.SUM: "sum", RedOpType.AVG: "sum", RedOpType.PRODUCT: "prod", RedOpType.MIN: "min"}
_REDUCE |= {RedOpType.MAX: "max"}
# of truth values: 0 and 1 as signed bytes
_OF_BOOL = {RedOpType.SUM: "max", RedOpType.MAX: "max", RedOpType.BOR: "max"}
_OF_BOOL |= {RedOpType.PRODUCT: "min", RedOpType.MIN: "min", RedOpType.BAND: "min"}
_BY_SIZE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class _HcclOptions(_Options):
    def __init__(self, timeout=default_pg_timeout):
        super().__init__("hccl", timeout)
        self.is_high_priority_stream, self.hccl_config = False, {}


class ProcessGroupHCCL(StreamedCalls):
    """The hccl backend of one process group: ``ProcessGroupHCCL(store, rank, size, timeout)``.

    ranks: the ranks of the group's members in the world of the job; without them the group is the world.
    """

    Options = _Options = _HcclOptions
    supports_coalescing = True

    def __init__(self, store, rank, size, timeout=None, name="0", ranks=None):
        given = timeout if isinstance(timeout, _HcclOptions) else _HcclOptions(timeout or default_pg_timeout)
        ranks = list(range(size)) if ranks is None else list(ranks)
        super().__init__(store, rank, size, given._timeout, name, ranks)
        self._options, self._batch = given, None
        self._group = _opened(self)

    def _get_backend_name(self):
        return "hccl"

    # -- what HCCL takes

    def _dense(self, tensors):
        for t in tensors:
            if t.layout is not torch.strided or t.device.type != "npu":
                raise ValueError("Tensors must be NPU and dense")

    def _one(self, name, tensors):
        if len(tensors) != 1:
            raise RuntimeError(f"ProcessGroupHCCL::{name} takes a single tensor, one NPU in a process")
        self._dense(tensors)
        return tensors[0]

    def _root(self, name, root):
        if not 0 <= root < self._size:
            raise RuntimeError(f"ProcessGroupHCCL::{name}: invalid root rank: {root}")
        return root

    def _as_many(self, name, what, tensors):
        if len(tensors) != self._size:
            raise RuntimeError(
                f"ProcessGroupHCCL::{name}: Incorrect {what} list size {len(tensors)}. {what.capitalize()} list size "
                f"should be {self._size}, same as size of the process group."
            )

    def _alike(self, name, tensors, dtype, shape=None):
        for i, t in enumerate(tensors):
            if t.dtype is not dtype:
                raise RuntimeError(
                    f"ProcessGroupHCCL::{name}: invalid tensor type at index {i} (expected {dtype}, got {t.dtype})"
                )
            if shape is not None and t.shape != shape:
                raise RuntimeError(
                    f"ProcessGroupHCCL::{name}: invalid tensor size at index {i} (expected {tuple(shape)}, "
                    f"got {tuple(t.shape)})"
                )

    def _reduction(self, tensors, op):
        """Return HCCL's name of a reduction of tensors, which have one dtype; raise c10d's errors where it has none."""
        op, dtype = reduction(op), tensors[0].dtype
        if op is RedOpType.PREMUL_SUM or op in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR):
            if dtype is not torch.bool or op not in _OF_BOOL:
                raise RuntimeError(f"Cannot use ReduceOp.{op.name} with HCCL")
        if dtype is torch.bool:
            if op not in _OF_BOOL:
                raise RuntimeError(f"Cannot use ReduceOp.{op.name} with Boolean inputs")
            return op, _OF_BOOL[op]
        if dtype.is_complex:
            if op not in (RedOpType.SUM, RedOpType.AVG):
                raise RuntimeError(f"all_reduce does not support {op} on complex tensors")
            dtype = dtype.to_real()
        if dtype not in _REDUCED:
            raise RuntimeError(f"Input tensor data type is not supported for HCCL process group: {tensors[0].dtype}")
        if op is RedOpType.AVG and not dtype.is_floating_point:
            raise RuntimeError(f"Cannot use ReduceOp.AVG with HCCL on integers: {dtype}")
        return op, _REDUCE[op]

    # -- reductions

    def _in_place(self, name, tensors, opts, launch, root=None):
        """Run a reduction that overwrites the tensors; several of them are reduced as one."""
        self._dense(tensors)
        self._alike(name, tensors, tensors[0].dtype)
        op, kind = self._reduction(tensors, opts.reduceOp)
        flat, alias = _joined(tensors)
        mine = root in (None, self._rank)

        def after():
            if op is RedOpType.AVG:
                flat.div_(self._size)
            if not alias:
                _spread(flat, tensors)

        what = op.name if root is None else f"{op.name}, root {root}"
        return self._submit(
            name,
            tensors,
            opts,
            list(tensors),
            (lambda: launch(_sent(flat), kind)) if flat.numel() else None,
            after if mine and (op is RedOpType.AVG or not alias) else None,
            what,
        )

    def allreduce(self, tensors, opts):
        """Reduce the tensors of all ranks; every rank gets the result."""
        self._one("allreduce", tensors)
        return self._in_place("all_reduce", tensors, opts, self._group.all_reduce)

    def allreduce_coalesced(self, tensors, opts):
        """Reduce several tensors across all ranks in one operation."""
        if not tensors:
            raise RuntimeError("ProcessGroupHCCL::allreduce_coalesced: requires non-empty tensor list")
        return self._in_place("all_reduce_coalesced", tensors, opts, self._group.all_reduce)

    def reduce(self, tensors, opts):
        """Reduce the tensors of all ranks; only the root gets the result."""
        tensor, root = self._one("reduce", tensors), self._root("reduce", opts.rootRank)
        if root != self._rank:  # HCCL may write to the memory of any rank
            tensor = tensor.detach().clone()
        return self._in_place("reduce", [tensor], opts, lambda t, kind: self._group.reduce(t, kind, root), root)

    def _scatter_reduced(self, name, outputs, lists, opts):
        """Reduce lists of tensors, one for each rank, and keep this rank's of each list."""
        op, kind = self._reduction(outputs, opts.reduceOp)
        counts = [sum(pieces[r].numel() for pieces in lists) for r in range(self._size)]
        flat = _cat([pieces[r] for r in range(self._size) for pieces in lists])
        result, alias = _target(outputs)

        def launch():
            if len(set(counts)) == 1:
                return self._group.reduce_scatter(_sent(result), _sent(flat), kind)
            factor = _factor(outputs[0])
            return self._group.reduce_scatter_uneven(_sent(result), _sent(flat), [factor * n for n in counts], kind)

        def after():
            if op is RedOpType.AVG:
                result.div_(self._size)
            if not alias:
                _spread(result, outputs)

        return self._submit(
            name,
            outputs if len(set(counts)) == 1 else [p for pieces in lists for p in pieces],
            opts,
            list(outputs),
            launch if sum(counts) else None,
            after if op is RedOpType.AVG or not alias else None,
            op.name,
        )

    def reduce_scatter(self, outputs, inputs, opts):
        """Reduce the lists of all ranks element by element; each rank gets its own entry of the result."""
        output, pieces = self._one("reduce_scatter", outputs), inputs[0]
        self._as_many("reduce_scatter", "input", pieces)
        self._dense(pieces)
        self._alike("reduce_scatter", pieces, output.dtype)
        self._alike("reduce_scatter", [output], output.dtype, pieces[self._rank].shape)
        return self._scatter_reduced("reduce_scatter", [output], [pieces], opts)

    def _reduce_scatter_base(self, output, input, opts):
        return self.reduce_scatter_tensor_coalesced([output], [input], opts)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts):
        """Run reduce_scatter_tensor for several tensors."""
        self._dense([*outputs, *inputs])
        self._alike("reduce_scatter_tensor", [*outputs, *inputs], outputs[0].dtype)
        for output, tensor in zip(outputs, inputs):
            if output.numel() * self._size != tensor.numel():
                raise ValueError("input tensor must be the same size as output size times world size")
        lists = [list(t.detach().reshape(-1).chunk(self._size)) if t.numel() else [t] * self._size for t in inputs]
        return self._scatter_reduced("reduce_scatter_tensor", outputs, lists, opts)

    # -- copies

    def broadcast(self, tensors, opts):
        """Copy the root's tensor to all ranks."""
        tensor, root = self._one("broadcast", tensors), self._root("broadcast", opts.rootRank)
        flat, alias = _joined(tensors)
        return self._submit(
            "broadcast",
            tensors,
            opts,
            list(tensors),
            (lambda: self._group.broadcast(_sent(flat), root)) if tensor.numel() else None,
            None if alias or root == self._rank else lambda: _spread(flat, tensors),
            f"root {root}",
        )

    def _gathered(self, name, lists, inputs, opts, outputs):
        """Gather this rank's tensors into lists, one for each rank, of which each has a target for each tensor."""
        counts = [sum(t.numel() for t in targets) for targets in lists]
        flat = _cat(inputs)
        result, alias = _target([t for targets in lists for t in targets])
        uneven = len(set(counts)) > 1

        def launch():
            if not uneven:
                return self._group.all_gather(_sent(result), _sent(flat))
            return self._group.all_gather_uneven(_sent(result), _sent(flat), [_factor(inputs[0]) * n for n in counts])

        after = None if alias else lambda: _spread(result, [t for targets in lists for t in targets])
        shown = [t for targets in lists for t in targets] if uneven else inputs
        return self._submit(name, shown, opts, outputs, launch if sum(counts) else None, after)

    def allgather(self, outputs, inputs, opts):
        """Gather the tensors of all ranks into a list on every rank; they may differ in size."""
        tensor = self._one("allgather", inputs)
        if len(outputs) != 1:
            raise RuntimeError("ProcessGroupHCCL::allgather takes a single list of outputs")
        self._as_many("allgather", "output", outputs[0])
        self._dense(outputs[0])
        self._alike("allgather", outputs[0], tensor.dtype)
        self._alike("allgather", [tensor], tensor.dtype, outputs[0][self._rank].shape)
        return self._gathered("all_gather", [[t] for t in outputs[0]], inputs, opts, list(outputs[0]))

    def _allgather_base(self, output, input, opts):
        self._dense([output, input])
        if output.dtype is not input.dtype:
            raise TypeError("output tensor must have the same type as input tensor")
        if output.numel() != input.numel() * self._size:
            raise ValueError("output tensor size must be equal to world_size times input tensor size")
        return self._gathered_whole("all_gather_into_tensor", [output], [input], opts)

    def _gathered_whole(self, name, outputs, inputs, opts):
        pieces = [_chunks(o, self._size) for o in outputs]
        return self._gathered(name, list(zip(*pieces)), inputs, opts, list(outputs))

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts):
        """Run all_gather_into_tensor for several tensors."""
        self._dense([*outputs, *inputs])
        self._alike("all_gather_into_tensor", [*outputs, *inputs], inputs[0].dtype)
        for output, tensor in zip(outputs, inputs):
            if output.numel() != tensor.numel() * self._size:
                raise ValueError("output tensor size must be equal to world_size times input tensor size")
        return self._gathered_whole("all_gather_into_tensor", outputs, inputs, opts)

    def allgather_coalesced(self, outputs, inputs, opts):
        """Gather several tensors of every rank in one operation."""
        self._as_many("allgather_coalesced", "output", outputs)
        self._dense(inputs)
        for targets in outputs:
            if len(targets) != len(inputs):
                raise RuntimeError(
                    f"ProcessGroupHCCL::allgather_coalesced: invalid output size: (expected length {len(inputs)}, "
                    f"got {len(targets)})"
                )
            self._dense(targets)
            for target, tensor in zip(targets, inputs):
                self._alike("allgather_coalesced", [target], inputs[0].dtype, tensor.shape)
        return self._gathered("all_gather_coalesced", outputs, inputs, opts, [list(targets) for targets in outputs])

    def gather(self, outputs, inputs, opts):
        """Gather the tensors of all ranks into a list on the root."""
        tensor, root = self._one("gather", inputs), self._root("gather", opts.rootRank)
        mine = root == self._rank
        targets = outputs[0] if mine and outputs else []
        if mine:
            self._as_many("gather", "output", targets)
            self._dense(targets)
            self._alike("gather", targets, tensor.dtype, tensor.shape)
        elif outputs:
            raise RuntimeError("ProcessGroupHCCL::gather: requires empty output on non-root")
        flat = _cat([tensor])
        result, alias = _target(targets) if mine else (flat.new_empty(self._size * flat.numel()), True)
        return self._submit(
            "gather",
            inputs,
            opts,
            list(targets),
            (lambda: self._group.gather(_sent(result), _sent(flat), root)) if tensor.numel() else None,
            None if alias else lambda: _spread(result, targets),
            f"root {root}",
        )

    def scatter(self, outputs, inputs, opts):
        """Send each rank its tensor from the root's list."""
        output, root = self._one("scatter", outputs), self._root("scatter", opts.rootRank)
        mine = root == self._rank
        if mine:
            sources = inputs[0] if inputs else []
            self._as_many("scatter", "input", sources)
            self._dense(sources)
            self._alike("scatter", sources, output.dtype, output.shape)
        elif inputs:
            raise RuntimeError("ProcessGroupHCCL::scatter: requires empty input on non-root")
        result, alias = _target(outputs)
        flat = _cat(sources) if mine else result.new_empty(self._size * result.numel())
        return self._submit(
            "scatter",
            outputs,
            opts,
            list(outputs),
            (lambda: self._group.scatter(_sent(result), _sent(flat), root)) if output.numel() else None,
            None if alias else lambda: _spread(result, outputs),
            f"root {root}",
        )

    # -- every rank to every rank

    def _exchanged(self, name, targets, sources, opts, outputs, even):
        received, sent = [t.numel() for t in targets], [t.numel() for t in sources]
        if sent[self._rank] != received[self._rank]:
            raise RuntimeError(f"Split sizes of rank {self._rank} for itself differ: {sent} and {received} elements")
        flat = _cat(sources)
        result, alias = _target(targets)
        factor = _factor(sources[0])

        def launch():
            counts = [factor * n for n in received], [factor * n for n in sent]
            return self._group.all_to_all(_sent(result), _sent(flat), *counts)

        # where splits are given, a rank without elements cannot know that the others have none either
        needless = even and not sum(sent) + sum(received) or self._size == 1 and not sum(sent)
        after = None if alias else lambda: _spread(result, targets)
        shown = sources if even else []
        return self._submit(name, shown, opts, outputs, None if needless else launch, after)

    def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, opts):
        """Send a piece of each rank's input to every rank; pieces may differ in length."""
        self._dense([output, input])
        if output.dtype is not input.dtype:
            raise RuntimeError("Tensors are not equal in data type")
        targets = list(output.detach().split(self._splits(output, output_split_sizes)))
        sources = list(input.detach().split(self._splits(input, input_split_sizes)))
        even = not output_split_sizes and not input_split_sizes
        return self._exchanged("all_to_all_single", targets, sources, opts, [output], even)

    def alltoall(self, outputs, inputs, opts):
        """Send tensor i of each rank's list to rank i."""
        for what, tensors in (("input", inputs), ("output", outputs)):
            self._as_many("alltoall", what, tensors)
            self._dense(tensors)
            self._alike("alltoall", tensors, inputs[0].dtype)
        return self._exchanged("all_to_all", outputs, inputs, opts, list(outputs), False)

    def barrier(self, opts=None):
        """Wait until all ranks of the group reach the barrier; the host waits too."""
        opts = BarrierOptions() if opts is None else opts
        return self._submit("barrier", (), opts, [], self._group.barrier, blocks=True)

    # -- messages

    def _message(self, name, tensors, peer):
        """Launch a message, or keep it for the end of the block of messages that are launched as one."""
        tensor = self._one(name, tensors)
        if not 0 <= peer < self._size or peer == self._rank:
            raise RuntimeError(f"ProcessGroupHCCL::{name}: invalid rank {peer}")
        flat, alias = _joined(tensors)
        if self._batch is not None:
            self._batch.append((name, tensor, flat, alias, peer))
            return None
        launch = self._group.send if name == "send" else self._group.receive
        return self._submit(
            name,
            tensors,
            None,
            list(tensors),
            (lambda: launch(_sent(flat), peer)) if tensor.numel() else None,
            None if alias or name == "send" else lambda: _spread(flat, tensors),
            f"{'to' if name == 'send' else 'from'} rank {peer}",
            message=True,
        )

    def send(self, tensors, target, tag=0):
        """Start to send a tensor to a rank. HCCL knows no tags: messages arrive in order."""
        return self._message("send", tensors, target)

    def recv(self, tensors, source, tag=0):
        """Start to receive a tensor from a rank."""
        return self._message("recv", tensors, source)

    def recv_anysource(self, tensors, tag=0):
        """Raise an error: HCCL receives from a rank that is named."""
        raise RuntimeError("ProcessGroupHCCL does not support recvAnysource")

    def _start_coalescing(self):
        self._batch = []

    def _end_coalescing(self):
        batch, self._batch = self._batch, None
        moved = [m for m in batch if m[1].numel()]
        kinds = [int(name == "recv") for name, *_ in moved]
        copied = [(t, flat) for name, t, flat, alias, _ in moved if name == "recv" and not alias]

        def after():
            for t, flat in copied:
                _spread(flat, [t])

        tensors, peers = [m[1] for m in batch], [m[4] for m in moved]
        launch = lambda: self._group.messages([_sent(m[2]) for m in moved], kinds, peers)
        text = ", ".join(f"{name} {'to' if name == 'send' else 'from'} rank {peer}" for name, *_, peer in batch)
        return self._submit(
            "batch_isend_irecv",
            tensors,
            None,
            tensors,
            launch if moved else None,
            after if copied else None,
            text,
            message=True,
        )

    def shutdown(self):
        """Close the group in MindSpore's engine; the last one ends the engine."""
        if self._closed:
            return
        self._closed = True
        broken = self._watch.forget(self)
        if not broken:
            self._group.close()
        if not _device.communication().running():
            self._watch.end()

    abort = shutdown


def _factor(tensor):
    """Return how many elements HCCL is given for one of a tensor."""
    return 2 if tensor.is_complex() else 1


def _carried(tensor):
    """Return (a tensor of numbers that HCCL can move for a tensor, whether it is on the tensor's memory).

    Collectives are not differentiable, so it has no graph.
    """
    tensor = tensor.detach()
    if tensor.dtype is torch.bool:
        return tensor.to(torch.int8), False
    if tensor.is_complex():
        real = torch.view_as_real(tensor)
        return (real, True) if real.dtype in _REDUCED else (real.clone(), False)
    return tensor, True


def _sent(flat):
    """Return a flat tensor of numbers on the same memory, of a dtype that HCCL takes."""
    return flat if flat.dtype in _REDUCED else flat.view(_BY_SIZE[flat.element_size()])


def _cat(tensors):
    """Return the numbers of tensors in one flat tensor, which may be on their memory."""
    pieces = [_carried(t)[0].reshape(-1) for t in tensors]
    joined = _adjacent(pieces)
    return torch.cat(pieces) if joined is None else joined


def _adjacent(pieces):
    """Return flat pieces that follow each other in memory as one, else None."""
    first = pieces[0]
    if len(pieces) == 1 and first.is_contiguous():
        return first
    at, storage = first.storage_offset(), first._get_storage()
    for p in pieces:
        if not p.is_contiguous() or p._get_storage() is not storage:
            return None
        if p.storage_offset() != at and p.numel():
            return None
        at += p.numel()
    return first.as_strided((sum(p.numel() for p in pieces),), (1,))


def _target(tensors):
    """Return (a flat tensor for the numbers of tensors, whether it is on their own memory)."""
    carried = [_carried(t) for t in tensors]
    if all(own and t.is_contiguous() for t, own in carried):
        joined = _adjacent([t.view(-1) for t, _ in carried])
        if joined is not None:
            return joined, True
    return carried[0][0].new_empty(sum(t.numel() for t, _ in carried)), False


def _joined(tensors):
    """Return (the numbers of tensors in one flat tensor, whether it is on their own memory)."""
    flat, alias = _target(tensors)
    return (flat, True) if alias else (torch.cat([_carried(t)[0].reshape(-1) for t in tensors]), False)


def _spread(flat, tensors):
    """Copy the numbers of a flat tensor to tensors."""
    for t, piece in zip(tensors, flat.split([t.numel() * _factor(t) for t in tensors])):
        t = torch.view_as_real(t.detach()) if t.is_complex() else t.detach()
        t.copy_(piece.view(t.shape))


def _chunks(tensor, n):
    """Return views of the tensor's ``n`` equal parts, in the order of its elements."""
    tensor = tensor.detach()
    if not tensor.numel():
        return [tensor] * n
    if not tensor.is_contiguous() and tensor.shape[0] % n:
        raise RuntimeError("Tensors must be contiguous")
    return list((tensor.view(-1) if tensor.is_contiguous() else tensor).chunk(n))


# ---------------------------------------------------------------- the engine
def _opened(group):
    """Open a group in MindSpore's engine. The first group of a process starts the engine: its ranks are the world."""
    engine, store, size = _device.communication(), group._store, group._size
    if not engine.running():
        if group._ranks != list(range(size)):
            raise RuntimeError(
                "hccl starts with a group of all ranks: use it for npu in init_process_group too, for example as "
                "backend='cpu:gloo,npu:hccl'"
            )
        _device.devices().propose(int(os.environ.get("LOCAL_RANK", group._rank)))  # before the engine takes the first
        turn = (store.add("turn", 1) - 1) // size
        group._watch.enter(f"{group._name}/{turn}")
        group._store = group._watch.place(group._name, store)
        found = engine.start(_address(group), group._rank, size, group._timeout.total_seconds())
        group._watch.begin(group._store, group._rank, size, group._timeout)
        return found
    group._store = group._watch.place(group._name, store)
    _wait_for_others(group)
    return engine.group(f"torch_{group._name}_{'_'.join(map(str, group._ranks))}", group._ranks, group._rank)


def _address(group):
    """Return where rank 0 of the world listens for MindSpore's engine, when all ranks are about to start it."""
    store = group._store
    if group._rank == 0:
        host = local_address(store)
        with socket.socket() as free:
            free.bind((host, 0))
            port = free.getsockname()[1]
        store.set("address", f"tcp://{host}:{port}")
    try:
        store.wait(["address"], group._timeout)
    except DistError:
        raise DistBackendError(
            f"[Rank {group._rank}] hccl: rank 0 did not come to init_process_group within {group._timeout}"
        ) from None
    found = store.get("address").decode()
    _wait_for_others(group)
    return found


def _wait_for_others(group):
    """Let the job's rank 0 enter MindSpore's engine last.

    The engine keeps Python's lock while it waits for the other ranks, and they may need the store that a thread of rank
    0 serves until they enter it as well.
    """
    if group._store.add("came", 1) == group._size:
        group._store.set("all", b"1")
    if group._ranks[0] == 0 and group._rank == 0:
        try:
            group._store.wait(["all"], group._timeout)
        except DistError:
            came = group._store.add("came", 0)
            raise DistBackendError(
                f"[Rank 0] hccl: {came} of {group._size} ranks came to a new group within {group._timeout}"
            ) from None


ProcessGroupHCCL.__module__ = "torch.distributed.distributed_c10d"
