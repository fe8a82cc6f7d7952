"""The gloo backend.

Collectives on CPU tensors are run by gloo in a separate process (`_engine`); point-to-point messages use `_mailbox`.
"""

import os
import time
from datetime import timedelta
from functools import reduce as fold

import torch
from torch.autograd.profiler import recorders

from ._address import Device, interface_address, local_address
from ._engine import memcpy
from ._errors import DistBackendError, DistError
from ._gloo_calls import Call, OrderedCalls, describe, fill, nbytes
from ._mailbox import Mailbox, Receive
from ._process_group import _Options
from ._store import PrefixStore
from ._types import BarrierOptions, RedOpType, Work, reduction
from .constants import default_pg_timeout

# dtype: its index in the dtype list of `_engine_process`
_GLOO = {
    d: i
    for i, d in enumerate(
        [torch.int8, torch.uint8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64]
    )
}
_MOVED = {*_GLOO, torch.bfloat16, torch.bool}
_REDUCE = {RedOpType.SUM: 0, RedOpType.AVG: 0, RedOpType.PRODUCT: 1, RedOpType.MIN: 2, RedOpType.MAX: 3}
_OF_BOOL = {
    RedOpType.SUM: 3,
    RedOpType.PRODUCT: 2,
    RedOpType.MIN: 2,
    RedOpType.MAX: 3,
    RedOpType.BAND: 2,
    RedOpType.BOR: 3,
}
_BITWISE = {RedOpType.BAND: torch.bitwise_and, RedOpType.BOR: torch.bitwise_or, RedOpType.BXOR: torch.bitwise_xor}


class _GlooOptions(_Options):
    def __init__(self, timeout=default_pg_timeout):
        super().__init__("gloo", timeout)
        self._devices, self._threads = [], 2


class ProcessGroupGloo(OrderedCalls):
    """The gloo backend of one process group: ``ProcessGroupGloo(store, rank, size, timeout)``."""

    Options = _Options = _GlooOptions
    Device = Device

    def __init__(self, store, rank, size, timeout=None):
        options = (
            timeout
            if isinstance(timeout, _GlooOptions)
            else _GlooOptions(default_pg_timeout if timeout is None else timeout)
        )
        device = options._devices[0] if options._devices else self.create_default_device(store)
        self._host = interface_address(device.interface) if device.interface else device.hostname
        super().__init__(store, rank, size, options._timeout, self._host, device.interface)
        self._options, self._mailbox, self._barriers = options, None, 0

    @staticmethod
    def create_device(hostname="", interface="", lazy_init=None):
        """Return the device on which gloo listens."""
        if interface:
            interface_address(interface)
        return Device(hostname, interface)

    @staticmethod
    def create_default_device(store=None, lazy_init=None):
        """Return the first interface of GLOO_SOCKET_IFNAME, or the address used to reach the store's host."""
        name = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
        return Device("", name) if name else Device(local_address(store))

    def _get_backend_name(self):
        return "gloo"

    def _one_dtype(self, name, tensors):
        """Return the dtype of the tensors.

        Raise an error if one is not dense or not on the CPU, or if gloo does not support the dtype.
        """
        for t in tensors:
            if t.layout is not torch.strided:
                raise RuntimeError(f"ProcessGroupGloo::{name}: only supports dense tensors")
            if t.device.type != "cpu":
                raise RuntimeError(f"ProcessGroupGloo::{name}: unsupported device type {t.device.type}")
        if tensors and tensors[0].dtype not in _MOVED:
            raise RuntimeError("Invalid scalar type")
        return tensors[0].dtype if tensors else None

    def _check_root(self, name, root):
        if not 0 <= root < self._size:
            raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")

    def _check_root_tensor(self, name, root, tensors):
        if not 0 <= root < len(tensors):
            raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root tensor: {root}")

    def _check_layouts(self, name, tensors):
        """Check that there is at least one tensor and that all have the same layout."""
        if not tensors:
            raise RuntimeError(f"ProcessGroupGloo::{name}: requires non-empty tensor list")
        for i, t in enumerate(tensors):
            if t.layout is not tensors[0].layout:
                raise RuntimeError(
                    f"ProcessGroupGloo::{name}: invalid tensor layout at index {i} (expected {tensors[0].layout}, "
                    f"got {t.layout})"
                )

    def _check_like(self, name, tensors, like):
        for i, t in enumerate(tensors):
            if t.dtype is not like.dtype:
                raise RuntimeError(
                    f"ProcessGroupGloo::{name}: invalid tensor type at index {i} (expected {like.dtype}, got {t.dtype})"
                )
            if t.shape != like.shape:
                raise RuntimeError(
                    f"ProcessGroupGloo::{name}: invalid tensor size at index {i} (expected {_size(like)}, "
                    f"got {_size(t)})"
                )

    def _single(self, name, tensors, what="tensor"):
        if len(tensors) != 1:
            raise RuntimeError(f"ProcessGroupGloo::{name}: requires a single-element {what} list")
        return tensors[0]

    def _list_of_all(self, name, lists, what):
        """Return the root's list, which has one tensor for each rank."""
        if len(lists) != 1:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: requires a single-element {what} list containing a list with {self._size} "
                "tensors."
            )
        return lists[0]

    # -- collectives

    def broadcast(self, tensors, opts):
        """Copy the root's tensor to all ranks."""
        root = opts.rootRank
        self._check_root("broadcast", root)
        self._check_root_tensor("broadcast", opts.rootTensor, tensors)
        self._one_dtype("broadcast", [_real(t) for t in tensors])
        self._check_like("broadcast", tensors[1:], tensors[0])
        tensor, mine = _real(tensors[opts.rootTensor]), root == self._rank

        def body(call):
            if self._size > 1 and tensor.numel():
                ask = lambda s, t, tag: self._ask(call, "broadcast", s, nbytes(tensor), root, tag)
                self._exchange(call, [tensor] if mine else [], [] if mine else [tensor], ask, inplace=True)
            for i, t in enumerate(tensors):
                if i != opts.rootTensor:
                    t.copy_(tensors[opts.rootTensor])

        detail = f"{describe([tensor])}, root {root}"
        return self._submit(
            Call("broadcast", body, list(tensors), None, detail, f"{tensor.dtype} {nbytes(tensor)} {root}"),
            opts,
            tensors,
        )

    def _reals(self, name, tensors, op):
        """Return the tensors with complex ones viewed as real.

        Raise an error if the reduction does not support complex tensors.
        """
        if op not in (RedOpType.SUM, RedOpType.AVG) and any(t.is_complex() for t in tensors):
            raise RuntimeError(f"{name} does not support {op} on complex tensors")
        return [_real(t) for t in tensors]

    def _reduction(self, name, tensor, op):
        """Return how gloo reduces a tensor: (the dtype to send, gloo's operation number).

        Return None if gloo does not support it; the tensor is then gathered and reduced here. Errors are PyTorch's.
        """
        dtype = self._one_dtype(name, [tensor])
        if op is RedOpType.PREMUL_SUM:
            raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
        if dtype.is_floating_point and op in _BITWISE:
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
        if op is RedOpType.AVG and not dtype.is_floating_point:
            raise RuntimeError(f"result type Float can't be cast to the desired output type {_SCALAR[dtype]}")
        if dtype is torch.bool:
            return (torch.uint8, _OF_BOOL[op]) if op in _OF_BOOL else None
        if op in _BITWISE:
            return None
        return (torch.float32 if dtype is torch.bfloat16 else dtype), _REDUCE[op]

    def _reduce_in(self, call, tensor, op, root, how):
        """Reduce a tensor in place, on all ranks if ``root`` is None, otherwise on the root."""
        if self._size == 1 or not tensor.numel():
            return
        if how is None:
            everything = tensor.new_empty((self._size, *tensor.shape))
            self._exchange(
                call, [tensor], [everything], lambda s, t, tag: self._ask(call, "allgather", s, t, nbytes(tensor), tag)
            )
            if root in (None, self._rank):
                tensor.copy_(fold(_BITWISE[op], everything.unbind(0)))
            return
        dtype, operation = how
        sent = tensor if tensor.dtype is dtype else tensor.to(dtype)
        result = sent if sent is tensor else torch.empty_like(sent)
        number, count = _GLOO[dtype], sent.numel()
        if root is None:
            self._exchange(
                call,
                [sent],
                [result],
                lambda s, t, tag: self._ask(call, "allreduce", s, count, number, operation, tag),
                inplace=True,
            )
        else:
            ask = lambda s, t, tag: self._ask(call, "reduce", s, t, count, number, operation, root, tag)
            mine = root == self._rank
            self._exchange(call, [sent], [result], ask) if mine else self._exchange(
                call, [sent], [], lambda s, t, tag: ask(s, s, tag)
            )
            if not mine:
                return
        if op is RedOpType.AVG:
            result.div_(self._size)
        if result is not tensor:
            tensor.copy_(result)

    def allreduce(self, tensors, opts):
        """Reduce the tensors of all ranks; every rank gets the result."""
        op = reduction(opts.reduceOp)
        self._check_layouts("allreduce", tensors)
        self._check_like("allreduce", tensors[1:], tensors[0])
        if tensors[0].layout is torch.sparse_coo:
            return self._allreduce_sparse(tensors, op, opts)
        reals = self._reals("allreduce", tensors, op)
        how = [self._reduction("allreduce", t, op) for t in reals]

        def body(call):
            first = reals[0]
            for t in reals[1:]:  # several tensors of one rank are reduced with each other first
                first.copy_(_LOCAL[op](first, t))
            self._reduce_in(call, first, op, None, how[0])
            for t in reals[1:]:
                t.copy_(first)

        return self._submit(
            Call("all_reduce", body, list(tensors), None, f"{describe(reals)}, {op.name}", _key(reals, op)),
            opts,
            tensors,
        )

    def _allreduce_sparse(self, tensors, op, opts):
        """Sum sparse tensors by gathering the indices and values of all ranks."""
        if op is not RedOpType.SUM:
            raise RuntimeError(
                "ProcessGroupGloo::allreduce: unsupported reduction operation (allreduce of sparse tensors only "
                "works with ReduceOp.SUM)"
            )
        tensor, mine = tensors[0], fold(torch.add, tensors).coalesce()

        def body(call):
            if self._size == 1:
                for t in tensors:
                    t.copy_(mine)
                return
            counts = torch.empty(self._size, dtype=torch.int64)
            count = torch.tensor([mine._nnz()])
            self._exchange(call, [count], [counts], lambda s, t, tag: self._ask(call, "allgather", s, t, 8, tag))
            most = max(counts.tolist())
            parts = []
            for part in (mine.indices().t().contiguous(), mine.values()):
                padded = part.new_zeros((most, *part.shape[1:]))
                padded[: part.shape[0]] = part
                everything = part.new_empty((self._size, *padded.shape))
                if padded.numel():
                    size = nbytes(padded)
                    self._exchange(
                        call,
                        [padded],
                        [everything],
                        lambda s, t, tag, size=size: self._ask(call, "allgather", s, t, size, tag),
                    )
                parts.append([everything[r, : counts[r]] for r in range(self._size)])
            indices, values = torch.cat(parts[0]).t(), torch.cat(parts[1])
            total = torch.sparse_coo_tensor(indices, values, tensor.shape).coalesce()
            for t in tensors:
                t.copy_(total)

        return self._submit(
            Call(
                "all_reduce",
                body,
                list(tensors),
                None,
                f"{list(tensor.shape)} sparse",
                f"sparse {tensor.dtype} {list(tensor.shape)}",
            ),
            opts,
            tensors,
        )

    def allreduce_coalesced(self, tensors, opts):
        """Reduce several tensors across all ranks in one operation."""
        op = reduction(opts.reduceOp)
        self._check_layouts("allreduce_coalesced", tensors)
        if tensors[0].layout is not torch.strided:
            raise RuntimeError("ProcessGroupGloo::allreduce_coalesced: unsupported layout")
        reals = self._reals("allreduce_coalesced", tensors, op)
        if any(t.dtype is not reals[0].dtype for t in reals):
            raise RuntimeError("ProcessGroupGloo::allreduce_coalesced: tensors must all have the same type")
        how = self._reduction("allreduce_coalesced", reals[0], op)

        def body(call):
            flat = torch.cat([t.reshape(-1) for t in reals])
            self._reduce_in(call, flat, op, None, how)
            for t, piece in zip(reals, flat.split([t.numel() for t in reals])):
                t.copy_(piece.view(t.shape))

        return self._submit(
            Call("all_reduce_coalesced", body, list(tensors), None, f"{describe(reals)}, {op.name}", _key(reals, op)),
            opts,
            reals,
        )

    def reduce(self, tensors, opts):
        """Reduce the tensors of all ranks; only the root gets the result."""
        op, root = reduction(opts.reduceOp), opts.rootRank
        self._check_root("reduce", root)
        self._check_root_tensor("reduce", opts.rootTensor, tensors)
        (tensor,) = self._reals("reduce", [self._single("reduce", tensors)], op)
        how = self._reduction("reduce", tensor, op)
        body = lambda call: self._reduce_in(call, tensor, op, root, how)
        return self._submit(
            Call(
                "reduce",
                body,
                list(tensors),
                None,
                f"{describe([tensor])}, {op.name}, root {root}",
                f"{_key([tensor], op)} {root}",
            ),
            opts,
            tensors,
        )

    def _gather_all(self, name, outputs, inputs, opts, result):
        """Run an all_gather and fill each output list with the inputs of all ranks."""
        self._one_dtype(name, inputs)

        def body(call):
            first, size = outputs[0], sum(map(nbytes, inputs))
            if self._size > 1 and size:
                self._exchange(call, inputs, first, lambda s, t, tag: self._ask(call, "allgather", s, t, size, tag))
            copies = zip(first, inputs) if self._size == 1 else ()
            for target, source in (*copies, *(pair for others in outputs[1:] for pair in zip(others, first))):
                target.copy_(source.view(target.shape))

        return self._submit(Call(name, body, result, None, describe(inputs), _key(inputs)), opts, inputs)

    def allgather(self, outputs, inputs, opts):
        """Gather the tensors of all ranks into a list on every rank."""
        if not inputs:
            raise RuntimeError("ProcessGroupGloo::allgather: requires non-empty input tensor list")
        if len(inputs) != len(outputs):
            raise RuntimeError(
                "ProcessGroupGloo::allgather: requires input/output tensor lists to have the same length"
            )
        length = self._size * len(inputs)
        for i, targets in enumerate(outputs):
            if len(targets) != length:
                raise RuntimeError(
                    f"ProcessGroupGloo::allgather: invalid output tensor list at index {i} (expected length {length}, "
                    f"got {len(targets)})"
                )
        for tensors in (inputs, *outputs):
            self._check_like("allgather", tensors, inputs[0])
        result = list(outputs[0]) if len(inputs) == 1 else [list(targets) for targets in outputs]
        return self._gather_all(
            "all_gather", [[_real(t) for t in targets] for targets in outputs], [_real(t) for t in inputs], opts, result
        )

    def _allgather_base(self, output, input, opts):
        if output.numel() != input.numel() * self._size:
            share = (
                output.numel() // self._size
                if output.numel() % self._size == 0
                else output.numel() - (self._size - 1) * (output.numel() // self._size + 1)
            )
            raise RuntimeError(
                f"ProcessGroupGloo::allgather: invalid tensor size at index {self._size - 1} (expected "
                f"({input.numel()}), got ({share}))"
            )
        if output.dtype is not input.dtype:
            raise RuntimeError(
                f"ProcessGroupGloo::allgather: invalid tensor type at index 0 (expected {input.dtype}, "
                f"got {output.dtype})"
            )
        return self._gather_all(
            "all_gather_into_tensor", [_pieces(_real(output), self._size)], [_real(input)], opts, [output]
        )

    def allgather_coalesced(self, outputs, inputs, opts):
        """Gather several tensors of every rank in one operation."""
        if not inputs:
            raise RuntimeError("ProcessGroupGloo::allgather_coalesced: requires non-empty input tensor list")
        if len(outputs) != self._size:
            raise RuntimeError("ProcessGroupGloo::allgather_coalesced: output lists should be equal to world size")
        for targets in outputs:
            if len(targets) != len(inputs):
                raise RuntimeError(
                    f"ProcessGroupGloo::allgather_coalesced: invalid output size: (expected length {len(inputs)}, "
                    f"got {len(targets)})"
                )
        reals = [_real(t) for t in inputs]
        self._one_dtype("allgather_coalesced", reals)
        for targets in outputs:
            for i, (target, tensor) in enumerate(zip(targets, inputs)):
                self._check_like(f"allgather_coalesced: output {i}", [target], tensor)

        def body(call):
            targets = [_real(t) for row in outputs for t in row]
            size = sum(map(nbytes, reals))
            if self._size > 1 and size:
                self._exchange(call, reals, targets, lambda s, t, tag: self._ask(call, "allgather", s, t, size, tag))
            elif self._size == 1:
                for t, source in zip(targets, reals):
                    t.copy_(source)

        return self._submit(
            Call(
                "all_gather_coalesced", body, [list(targets) for targets in outputs], None, describe(reals), _key(reals)
            ),
            opts,
            inputs,
        )

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts):
        """Run all_gather_into_tensor for several tensors."""
        return self._several([self._allgather_base(o, i, opts) for o, i in zip(outputs, inputs)], outputs)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts):
        """Run reduce_scatter_tensor for several tensors."""
        return self._several([self._reduce_scatter_base(o, i, opts) for o, i in zip(outputs, inputs)], outputs)

    def _several(self, works, outputs):
        """Return the last of several works as the work for all of them.

        Collectives run in order, so all are done when the last one is.
        """
        works[-1]._result = list(outputs)
        works[-1]._call.outputs = list(outputs)
        return works[-1]

    def gather(self, outputs, inputs, opts):
        """Gather the tensors of all ranks into a list on the root."""
        tensor, root = self._single("gather", inputs, "input tensor"), opts.rootRank
        self._check_root("gather", root)
        mine = root == self._rank
        targets = []
        if mine:
            targets = self._list_of_all("gather", outputs, "output")
            if len(targets) != self._size:
                raise RuntimeError(
                    f"ProcessGroupGloo::gather: Incorrect output list size {len(targets)}. "
                    f"{_AS_MANY % ('Output', self._size)}"
                )
            self._check_like("gather", targets, tensor)
        elif outputs:
            raise RuntimeError("ProcessGroupGloo::gather: requires empty output on non-root")
        self._one_dtype("gather", [tensor])

        def body(call):
            if self._size == 1 or not tensor.numel():
                targets[0].copy_(tensor) if mine else None
            else:
                self._exchange(
                    call,
                    [tensor],
                    targets,
                    lambda s, t, tag: self._ask(call, "gather", s, t if mine else s, nbytes(tensor), root, tag),
                )

        return self._submit(
            Call("gather", body, list(targets), None, f"{describe([tensor])}, root {root}", f"{_key([tensor])} {root}"),
            opts,
            inputs,
        )

    def scatter(self, outputs, inputs, opts):
        """Send each rank its tensor from the root's list."""
        output, root = self._single("scatter", outputs, "output tensor"), opts.rootRank
        self._check_root("scatter", root)
        mine = root == self._rank
        sources = []
        if mine:
            sources = self._list_of_all("scatter", inputs, "input")
            if len(sources) != self._size:
                raise RuntimeError(
                    f"ProcessGroupGloo::scatter: Incorrect input list size {len(sources)}. "
                    f"{_AS_MANY % ('Input', self._size)}"
                )
            self._check_like("scatter", sources, output)
        elif inputs:
            raise RuntimeError("ProcessGroupGloo::scatter: requires empty input on non-root")
        target, sources = _real(output), [_real(t) for t in sources]
        self._one_dtype("scatter", [target])

        def body(call):
            if self._size == 1 or not target.numel():
                target.copy_(sources[0]) if mine else None
            else:
                ranks = self._size if mine else 0
                self._exchange(
                    call,
                    sources,
                    [target],
                    lambda s, t, tag: self._ask(call, "scatter", s, t, nbytes(target), ranks, root, tag),
                )

        return self._submit(
            Call(
                "scatter", body, list(outputs), None, f"{describe([target])}, root {root}", f"{_key([target])} {root}"
            ),
            opts,
            sources,
        )

    def _scatter_reduced(self, name, output, inputs, result, opts):
        """Implement reduce_scatter as an all_reduce of all inputs, as PyTorch's gloo does.

        Each rank keeps only its own part of the result.
        """
        op = reduction(opts.reduceOp)
        inputs = self._reals(name, inputs, op)
        how = self._reduction(name, inputs[0], op)

        def body(call):
            flat = torch.cat([t.reshape(-1) for t in inputs]) if len(inputs) > 1 else inputs[0].reshape(-1).clone()
            self._reduce_in(call, flat, op, None, how)
            start = sum(t.numel() for t in inputs[: self._rank]) if len(inputs) > 1 else self._rank * output.numel()
            output.copy_(flat[start : start + output.numel()].view(output.shape))

        return self._submit(
            Call(name, body, result, None, f"{describe(inputs)}, {op.name}", _key(inputs, op)), opts, inputs
        )

    def reduce_scatter(self, outputs, inputs, opts):
        """Reduce the lists of all ranks element by element; each rank gets its own entry of the result."""
        for what, lists in (("output", outputs), ("input", inputs)):
            if len(lists) != 1:
                raise RuntimeError(f"reduce_scatter only supports 1 {what}")
        output, sources = outputs[0], inputs[0]
        if len(sources) != self._size:
            raise RuntimeError("invalid input tensor list size, must be world size")
        if (wrong := next((t for t in sources if t.dtype is not output.dtype), None)) is not None:
            raise RuntimeError(
                f"ProcessGroupGloo::reduce_scatter: invalid tensor type (expected {output.dtype}, got {wrong.dtype})"
            )
        if output.numel() != sources[self._rank].numel():
            raise RuntimeError(
                f"ProcessGroupGloo::reduce_scatter: invalid tensor size at index {self._rank} (expected "
                f"{_size(output)}, got {_size(sources[self._rank])})"
            )
        return self._scatter_reduced("reduce_scatter", _real(output), sources, [output], opts)

    def _reduce_scatter_base(self, output, input, opts):
        if output.numel() * self._size != input.numel():
            raise RuntimeError(
                f"Check failed: outputShape[0] * worldSize == inputShape[0] ({output.numel() * self._size} vs. "
                f"{input.numel()})"
            )
        return self._scatter_reduced("reduce_scatter_tensor", _real(output), [input], [output], opts)

    def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, opts):
        """Send a piece of each rank's input to every rank; pieces may differ in length."""
        source, target = _real(input), _real(output)
        self._one_dtype("alltoall_base", [source, target])
        if source.dtype is not target.dtype:
            raise RuntimeError("ProcessGroupGloo::alltoall_base: Tensors are not equal in data type")
        sent = self._splits(input, input_split_sizes)
        received = self._splits(output, output_split_sizes)
        row = nbytes(source) // source.shape[0] if source.dim() and source.shape[0] else 0
        row = row or (nbytes(target) // target.shape[0] if target.dim() and target.shape[0] else 0)
        pieces = list(source.split(sent)), list(target.contiguous().split(received)) if target.is_contiguous() else None
        if pieces[1] is None:
            raise RuntimeError("ProcessGroupGloo::alltoall_base: the output must be contiguous")
        even = not output_split_sizes and not input_split_sizes
        name = "all_to_all_single"
        detail = describe([source]) if even else f"{describe([source])} in {sent} to {describe([target])} in {received}"
        body = lambda call: self._all_to_all(call, *pieces, even)
        return self._submit(
            Call(name, body, [output], None, detail, _key([source]) if even else f"{source.dtype} {row}"), opts, [input]
        )

    def alltoall(self, outputs, inputs, opts):
        """Send tensor i of each rank's list to rank i."""
        for what, tensors in (("input", inputs), ("output", outputs)):
            if len(tensors) != self._size:
                raise RuntimeError(
                    f"ProcessGroupGloo::alltoall: {what} tensor list size {len(tensors)} does not match world size "
                    f"{self._size}"
                )
        sources, targets = [_real(t) for t in inputs], [_real(t) for t in outputs]
        self._one_dtype("alltoall", sources)
        body = lambda call: self._all_to_all(call, sources, targets, False)
        return self._submit(
            Call(
                "all_to_all",
                body,
                list(outputs),
                None,
                f"{describe(sources)} to {describe(targets)}",
                f"{sources[0].dtype}",
            ),
            opts,
            inputs,
        )

    def _all_to_all(self, call, sources, targets, even):
        """Exchange pieces between all ranks.

        Pieces that may differ in size are sent in slots of the largest size, each preceded by its length.
        """
        if self._size == 1:
            targets[0].copy_(sources[0].view(targets[0].shape))
            return
        if even:
            if size := nbytes(sources[0]):
                self._exchange(call, sources, targets, lambda s, t, tag: self._ask(call, "alltoall", s, t, size, tag))
            return
        most = torch.tensor([max(map(nbytes, sources))])
        self._exchange(
            call,
            [most],
            [most],
            lambda s, t, tag: self._ask(call, "allreduce", s, 1, _GLOO[torch.int64], 3, tag),
            inplace=True,
        )
        slot = 8 + int(most) + -int(most) % 8
        packed = torch.zeros(self._size, slot, dtype=torch.uint8)
        for r, t in enumerate(sources):
            lengths = torch.tensor([nbytes(t)])
            kept = t.contiguous()
            memcpy(packed[r].data_ptr(), lengths.data_ptr(), 8)
            memcpy(packed[r].data_ptr() + 8, kept.data_ptr(), nbytes(t))
        arrived = torch.empty_like(packed)
        self._exchange(call, [packed], [arrived], lambda s, t, tag: self._ask(call, "alltoall", s, t, slot, tag))
        lengths = [int(arrived[r, :8].clone().view(torch.int64)) for r in range(self._size)]
        wrong = next((r for r, t in enumerate(targets) if lengths[r] != nbytes(t)), None)
        if wrong is not None:
            raise RuntimeError(
                f"[Rank {self._rank}] {call}: rank {wrong} sent {lengths[wrong]} bytes, but {nbytes(targets[wrong])} "
                f"were expected"
            )
        for r, t in enumerate(targets):
            fill(t, arrived[r].data_ptr() + 8)

    def barrier(self, opts=None):
        """Wait until all ranks of the group reach the barrier."""
        opts = BarrierOptions() if opts is None else opts

        def body(call):
            if self._size > 1:
                self._ask(call, "barrier", call.tag())

        return self._submit(Call("barrier", body, [], None), opts)

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """Wait for all ranks through rank 0, which reports the ranks that do not arrive in time.

        It reports only the first such rank, or all of them with ``wait_all_ranks``.
        """
        timeout = self._timeout if timeout is None else timeout
        self._barriers += 1
        name, start = f"monitored_barrier/{self._barriers}", time.monotonic()
        left = lambda: timedelta(seconds=max(timeout.total_seconds() - (time.monotonic() - start), 0.001))
        if self._rank:
            self._store.set(f"{name}/{self._rank}", b"1")
            try:
                self._store.wait([f"{name}/done"], timeout)
                answer = self._store.get(f"{name}/done").decode()
            except DistError as error:
                answer = str(error)
            if answer != "1":
                raise RuntimeError(
                    f"Rank {self._rank} successfully reached monitoredBarrier, but received errors while waiting for "
                    f"send/recv from rank 0. Please check rank 0 logs for faulty rank.\n Original exception: {answer}"
                )
            return
        missing = []
        for r in range(1, self._size):
            try:
                self._store.wait([f"{name}/{r}"], left())
            except DistError:
                missing.append(r)
                if not wait_all_ranks:
                    break
        who = f"Ranks {', '.join(map(str, missing))}" if wait_all_ranks else f"Rank {missing[0] if missing else ''}"
        text = f"[Rank 0]: {who} failed to pass monitoredBarrier in {int(timeout.total_seconds() * 1000)} ms"
        self._store.set(f"{name}/done", text if missing else b"1")
        if missing:
            raise RuntimeError(text)

    # -- point-to-point messages

    def _message(self, name, tensors):
        if len(tensors) != 1:
            raise RuntimeError(f"ProcessGroupGloo::{name} takes a single tensor")
        return tensors[0]

    def _box(self):
        with self._order:
            self._check_usable()
            if self._mailbox is None:
                self._mailbox = Mailbox(
                    PrefixStore("mail", self._store), self._rank, self._size, self._host or "127.0.0.1"
                )
            return self._mailbox

    def send(self, tensors, target, tag=0):
        """Start to send a tensor to a rank."""
        tensor = self._message("send", tensors)
        kept = tensor.detach().contiguous()
        work = _MessageWork(
            "send",
            tensors,
            kept,
            self._timeout,
            f"send of {describe([tensor])} from rank {self._rank} to rank {target} (tag {tag})",
        )
        self._box().send(target, tag, kept.data_ptr(), nbytes(kept), lambda error: work._finish(list(tensors), error))
        return work

    def recv(self, tensors, source, tag=0):
        """Start to receive a tensor from a rank, or from any rank if ``source`` is None."""
        tensor = self._message("recv", tensors)
        kept = tensor.detach() if tensor.is_contiguous() else tensor.detach().contiguous()
        where = "any rank" if source is None else f"rank {source}"
        work = _MessageWork(
            "recvAnySource" if source is None else "recv",
            tensors,
            kept,
            self._timeout,
            f"recv of {describe([tensor])} on rank {self._rank} from {where} (tag {tag})",
        )

        def done(rank, error):
            if error is None and not tensor.is_contiguous():
                with torch.no_grad():
                    tensor.copy_(kept)
            work._source = -1 if rank is None else rank
            work._finish(list(tensors), error)

        box = self._box()
        receive = Receive(source, tag, kept.data_ptr(), nbytes(kept), done)
        work._withdraw = lambda: box.withdraw(receive)
        box.receive(receive)
        return work

    def recv_anysource(self, tensors, tag=0):
        """Start to receive a tensor from any rank."""
        return self.recv(tensors, None, tag)

    def shutdown(self):
        """End the gloo process and close the connections."""
        if self._mailbox is not None and self._pid == os.getpid():
            self._mailbox.close()
        super().shutdown()

    abort = shutdown


class _MessageWork(Work):
    """A message in flight. It keeps the memory that is sent or filled alive."""

    def __init__(self, name, tensors, kept, timeout, what):
        super().__init__()
        self._recorded = recorders[-1].begin_async(f"gloo:{name}", tensors) if recorders else None
        self._tensors, self._kept, self._timeout, self._what, self._withdraw = tensors, kept, timeout, what, None

    def _finish(self, result=None, error=None):
        if self._recorded is not None:
            self._recorded.end_now()
        super()._finish(result, error)

    def wait(self, timeout=timedelta(0)):
        """Wait until the message is sent or received, or until the timeout expires."""
        seconds = timeout.total_seconds() or self._timeout.total_seconds()
        if not self._event.wait(seconds) and (self._withdraw is None or self._withdraw()):
            raise DistBackendError(f"{self._what} failed: Timed out waiting {int(seconds * 1000)}ms")
        return super().wait()


def _real(tensor):
    """Return the tensor detached, with complex tensors viewed as real.

    Collectives are not differentiable, so the graph is not kept.
    """
    tensor = tensor.detach()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def _pieces(tensor, n):
    """Return ``n`` equal chunks of a contiguous tensor's memory."""
    if tensor.is_contiguous():
        return list(tensor.view(-1).chunk(n)) if tensor.numel() else [tensor] * n
    raise RuntimeError("ProcessGroupGloo::allgather: the output must be contiguous")


def _size(tensor):
    return f"({', '.join(map(str, tensor.shape))})"


def _key(tensors, op=None):
    return (
        f"{tensors[0].dtype} {sum(map(nbytes, tensors))}" + (f" {op.name}" if op is not None else "") if tensors else ""
    )


_AS_MANY = "%s list size should be %d, same as size of the process group."
_LOCAL = {
    RedOpType.SUM: torch.add,
    RedOpType.AVG: torch.add,
    RedOpType.PRODUCT: torch.mul,
    RedOpType.MIN: torch.minimum,
    RedOpType.MAX: torch.maximum,
    **_BITWISE,
}
_SCALAR = {torch.int8: "Char", torch.uint8: "Byte", torch.int32: "Int", torch.int64: "Long", torch.bool: "Bool"}
ProcessGroupGloo.__module__ = "torch.distributed.distributed_c10d"
