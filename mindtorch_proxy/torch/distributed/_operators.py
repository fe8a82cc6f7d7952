"""The operators of process groups, torch.ops.c10d, and those of functional collectives, torch.ops._c10d_functional.

A tensor subclass or a mode with a ``__torch_dispatch__`` sees them. Those of torch.ops.c10d write to their arguments;
those of torch.ops._c10d_functional return new tensors, which hold their values once wait_tensor has waited for them.
"""

import threading
import weakref
from datetime import timedelta

import torch
from torch._library.kernels import OPERATORS
from torch.library import Library, register_autograd, register_fake

from ._process_group import COLLECTIVES, ProcessGroup, taking_short_forms
from ._types import AllgatherOptions, AllreduceCoalescedOptions, AllreduceOptions, AllToAllOptions, BroadcastOptions
from ._types import ReduceOp, ReduceScatterOptions
from ._world import _resolve_process_group

# ------------------------------------------------------------------------------------------------ torch.ops.c10d
_NAMES = {
    "group": "__torch__.torch.classes.c10d.ProcessGroup process_group",
    "op": "__torch__.torch.classes.c10d.ReduceOp reduce_op",
    "Work": "__torch__.torch.classes.c10d.Work",
    "end": "bool async_op=True, int timeout=-1",
}
_COLLECTIVES = """
allreduce_(Tensor[] tensors, {group}, {op}, Tensor? sparse_indices, {end}) -> (Tensor[], {Work})
allreduce_coalesced_(Tensor[] tensors, {group}, {op}, {end}) -> {Work}
broadcast_(Tensor[] tensors, {group}, int root_rank, int root_tensor, {end}) -> (Tensor[], {Work})
reduce_(Tensor[] tensors, {group}, {op}, int root_rank, int root_tensor, {end}) -> {Work}
allgather_(Tensor[][] output_tensors, Tensor[] input_tensors, {group}, {end}) -> (Tensor[][], {Work})
allgather_coalesced_(Tensor[][] output_lists, Tensor[] input_list, {group}, bool async_op=True) -> {Work}
allgather_into_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {group}, bool async_op=True) -> {Work}
_allgather_base_(Tensor output_tensor, Tensor input_tensor, {group}, {end}) -> (Tensor, {Work})
gather_(Tensor[][] output_tensors, Tensor[] input_tensors, {group}, int root_rank, {end}) -> {Work}
scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {group}, int root_rank, {end}) -> (Tensor[], {Work})
reduce_scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {group}, {op}, {end}) -> (Tensor[], {Work})
reduce_scatter_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {group}, {op}, {end}) -> {Work}
_reduce_scatter_base_(Tensor output_tensor, Tensor input_tensor, {group}, {op}, {end}) -> (Tensor, {Work})
alltoall_(Tensor[] output_tensors, Tensor[] input_tensors, {group}, {end}) -> (Tensor[], {Work})
alltoall_base_(Tensor output, Tensor input, {group}, int[] output_split_sizes, int[] input_split_sizes, {end}) -> {Work}
barrier(Tensor tensor, {group}, int[] device_ids, {end}) -> {Work}
"""
# an argument of an operator: the attribute of the options in which a backend finds it
_OPTIONS = {
    "root_rank": "rootRank",
    "root_tensor": "rootTensor",
    "reduce_op": "reduceOp",
    "device_ids": "device_ids",
    "async_op": "asyncOp",
    "timeout": "timeout",
}
_library = Library("c10d", "DEF")


def _option(options, name):
    """Return an option as an operator takes it: milliseconds for a time."""
    value = getattr(options, _OPTIONS[name]) if name in _OPTIONS else None
    return round(value / timedelta(milliseconds=1)) if isinstance(value, timedelta) else value


def _implement(operator, kernel, keeps_history):
    """Give an operator its kernel. With keeps_history, what it writes to in place keeps its history."""
    operator.kernels["CompositeExplicitAutograd"] = kernel
    if keeps_history:
        operator.kernels["Autograd"] = lambda *args, **named: operator.below_autograd(args, named)


def _collective(name, operator):
    """Return the method of ProcessGroup that calls an operator, and make the method of backends its kernel."""
    schema = operator.schema
    group_at = next(i for i, a in enumerate(schema.arguments) if a.name == "process_group")
    sizes = [a.name for a in schema.arguments[group_at + 1 :] if a.name.endswith("split_sizes")]
    rest = schema.arguments[group_at + 1 + len(sizes) :]

    def method(self, *call):
        *given, options = call
        if name == "barrier":
            given = [torch.empty(1, dtype=torch.uint8, device=self._default_device())]
        args = [*given[:group_at], self, *given[group_at:], *(_option(options, a.name) for a in rest)]
        while schema.arguments[len(args) - 1].is_default(args[-1]):
            args.pop()
        out = operator.below_autograd(tuple(args), {})
        return out[1] if isinstance(out, tuple) else out

    def kernel(*args):
        args = operator.complete(args)
        tensors, group, values = args[:group_at], args[group_at], args[group_at + 1 :]
        named = {_OPTIONS[a.name]: v for a, v in zip(rest, values[len(sizes) :]) if a.name in _OPTIONS}
        if "timeout" in named:
            named["timeout"] = timedelta(milliseconds=named["timeout"])
        tensors = () if name == "barrier" else tensors
        backend = group._for(tensors)
        work = getattr(backend, name)(*tensors, *values[: len(sizes)], COLLECTIVES[name](**named))
        return (args[0], work) if len(schema.returns) == 2 else work

    _implement(operator, kernel, keeps_history=True)
    return method


for _text in _COLLECTIVES.format(**_NAMES).strip().splitlines():
    _operator = OPERATORS["c10d::" + _library.define(_text)]
    _name = _text.partition("(")[0]
    _name = _name if _name == "barrier" else _name[:-1]
    setattr(ProcessGroup, _name, taking_short_forms(_name, _collective(_name, _operator)))


def _message(name, operator):
    """Return the method of ProcessGroup that calls the operator of a message between two ranks."""

    def method(self, tensors, *args):
        return operator.below_autograd((tensors, self, *args), {})

    def kernel(tensors, group, *args):
        return getattr(group._for([tensors]), name)(tensors, *args)

    method.__name__, method.__doc__ = name, f"The backend's {name}."
    _implement(operator, kernel, keeps_history=True)
    return method


for _name, _text in {
    "send": "send(Tensor[] tensors, {group}, int dst, int tag) -> {Work}",
    "recv": "recv_(Tensor[] tensors, {group}, int src, int tag) -> {Work}",
    "recv_anysource": "recv_any_source_(Tensor[] tensors, {group}, int tag) -> {Work}",
}.items():
    _operator = OPERATORS["c10d::" + _library.define(_text.format(**_NAMES))]
    setattr(ProcessGroup, _name, _message(_name, _operator))


# ------------------------------------------------------------------------------------------------ works in flight
_IN_FLIGHT = weakref.WeakKeyDictionary()  # storage: the works that write to it
_LOCK = threading.Lock()


def _started(tensors, work):
    """Keep a work until wait_tensor is called on one of the tensors."""
    with _LOCK:
        for t in tensors:
            _IN_FLIGHT.setdefault(t._get_storage(), []).append(work)


def _wait_tensor(tensor):
    with _LOCK:
        works = _IN_FLIGHT.pop(tensor._get_storage(), ())
    for work in works:
        work.wait()
    return tensor


# --------------------------------------------------------------------------------------- torch.ops._c10d_functional
_REDUCTIONS = {name.lower(): name for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")}


def _group(group, name):
    """Return the process group for an operator's argument, which is the group or its name."""
    if isinstance(group, ProcessGroup):
        return group
    if not isinstance(group, str):
        raise RuntimeError(
            f"{name}(): argument 'group_name' must be either a string (group name) or a ProcessGroup object, but got "
            f"{type(group).__name__}"
        )
    try:
        return _resolve_process_group(group)
    except LookupError as error:
        raise RuntimeError(*error.args) from None


def _reduction(name):
    if name not in _REDUCTIONS:
        raise RuntimeError(f"Unrecognized reduce_op: {name}")
    return getattr(ReduceOp, _REDUCTIONS[name])


def _copies(tensors):
    return [t.clone(memory_format=torch.contiguous_format) for t in tensors]


def _all_reduce_coalesced_(inputs, reduce_op, group_name):
    options = AllreduceCoalescedOptions(reduceOp=_reduction(reduce_op))
    _started(inputs, _group(group_name, "all_reduce_coalesced").allreduce_coalesced(inputs, options))
    return inputs


def _all_reduce_(input, reduce_op, group_name):
    options = AllreduceOptions(reduceOp=_reduction(reduce_op))
    _started([input], _group(group_name, "all_reduce").allreduce([input], options))
    return input


def _gathered(tensor, group_size):
    """Return an empty tensor for the tensors of all ranks, concatenated along the first dimension."""
    first, *rest = tensor.shape or (1,)
    return tensor.new_empty((first * group_size, *rest))


def _all_gather(outputs, inputs, group_name):
    group = _group(group_name, "all_gather_into_tensor")
    inputs = [t.contiguous() for t in inputs]
    _started(outputs, group.allgather_into_tensor_coalesced(outputs, inputs, AllgatherOptions()))
    return outputs


def _all_gather_into_tensor_coalesced(inputs, group_size, group_name):
    return _all_gather([_gathered(t, group_size) for t in inputs], inputs, group_name)


def _scattered(tensor, group_size):
    """Return an empty tensor for a rank's chunk along the first dimension."""
    first, *rest = tensor.shape or (1,)
    return tensor.new_empty((first // group_size, *rest))


def _reduce_scatter(outputs, inputs, reduce_op, group_name):
    group = _group(group_name, "reduce_scatter_tensor")
    options = ReduceScatterOptions(reduceOp=_reduction(reduce_op))
    inputs = [t.contiguous() for t in inputs]
    _started(outputs, group.reduce_scatter_tensor_coalesced(outputs, inputs, options))
    return outputs


def _reduce_scatter_tensor_coalesced(inputs, reduce_op, group_size, group_name):
    return _reduce_scatter([_scattered(t, group_size) for t in inputs], inputs, reduce_op, group_name)


def _exchanged(tensor, output_split_sizes, *rest):
    return tensor.new_empty((sum(output_split_sizes), *tensor.shape[1:]))


def _all_to_all_single(input, output_split_sizes, input_split_sizes, group_name):
    out, group = _exchanged(input, output_split_sizes), _group(group_name, "all_to_all_single")
    sizes = list(output_split_sizes), list(input_split_sizes)
    _started([out], group.alltoall_base(out, input.contiguous(), *sizes, AllToAllOptions()))
    return out


def _broadcast_(input, src, group_name):
    _started([input], _group(group_name, "broadcast").broadcast([input], BroadcastOptions(rootRank=src)))
    return input


_GROUP = "Any group_name"
_FUNCTIONAL = {
    f"all_reduce(Tensor input, str reduce_op, {_GROUP}) -> Tensor": (
        lambda x, op, group: _all_reduce_(*_copies([x]), op, group),
        lambda x, *rest: torch.empty_like(x, memory_format=torch.contiguous_format),
    ),
    f"all_reduce_(Tensor(a!) input, str reduce_op, {_GROUP}) -> Tensor(a!)": (_all_reduce_, lambda x, *rest: x),
    f"all_reduce_coalesced(Tensor[] inputs, str reduce_op, {_GROUP}) -> Tensor[]": (
        lambda xs, op, group: _all_reduce_coalesced_(_copies(xs), op, group),
        lambda xs, *rest: [torch.empty_like(x) for x in xs],
    ),
    f"all_reduce_coalesced_(Tensor[](a!) inputs, str reduce_op, {_GROUP}) -> Tensor[](a!)": (
        _all_reduce_coalesced_,
        lambda xs, *rest: xs,
    ),
    f"all_gather_into_tensor(Tensor input, int group_size, {_GROUP}) -> Tensor": (
        lambda x, size, group: _all_gather_into_tensor_coalesced([x], size, group)[0],
        lambda x, size, group: _gathered(x, size),
    ),
    f"all_gather_into_tensor_out(Tensor input, int group_size, {_GROUP}, *, Tensor(a!) out) -> Tensor(a!)": (
        lambda x, size, group, *, out: _all_gather([out], [x], group)[0],
        lambda x, size, group, *, out: out,
    ),
    f"all_gather_into_tensor_coalesced(Tensor[] inputs, int group_size, {_GROUP}) -> Tensor[]": (
        _all_gather_into_tensor_coalesced,
        lambda xs, size, group: [_gathered(x, size) for x in xs],
    ),
    f"reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, {_GROUP}) -> Tensor": (
        lambda x, op, size, group: _reduce_scatter_tensor_coalesced([x], op, size, group)[0],
        lambda x, op, size, group: _scattered(x, size),
    ),
    f"reduce_scatter_tensor_out(Tensor input, str reduce_op, int group_size, {_GROUP}, *, Tensor(a!) out) -> "
    "Tensor(a!)": (
        lambda x, op, size, group, *, out: _reduce_scatter([out], [x], op, group)[0],
        lambda x, op, size, group, *, out: out,
    ),
    f"reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, int group_size, {_GROUP}) -> Tensor[]": (
        _reduce_scatter_tensor_coalesced,
        lambda xs, op, size, group: [_scattered(x, size) for x in xs],
    ),
    f"all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, {_GROUP}) -> Tensor": (
        _all_to_all_single,
        _exchanged,
    ),
    f"broadcast(Tensor input, int src, {_GROUP}) -> Tensor": (
        lambda x, src, group: _broadcast_(*_copies([x]), src, group),
        lambda x, *rest: torch.empty_like(x),
    ),
    f"broadcast_(Tensor(a!) input, int src, {_GROUP}) -> Tensor(a!)": (_broadcast_, lambda x, *rest: x),
    "wait_tensor(Tensor tensor) -> Tensor": (_wait_tensor, torch.empty_like),
}
# the operators of this namespace are the same; they had derivatives before those of the other one did
_WITH_AUTOGRAD = ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single")


def _define(library, schema, kernel, fake):
    operator = OPERATORS[f"{library.ns}::{library.define(schema)}"]
    _implement(operator, kernel, keeps_history=operator.schema.is_mutable)
    register_fake(operator.name, fake)


_library_functional = Library("_c10d_functional", "DEF")
_library_autograd = Library("_c10d_functional_autograd", "DEF")
for _text, _implementations in _FUNCTIONAL.items():
    _define(_library_functional, _text, *_implementations)
    if _text.partition("(")[0] in _WITH_AUTOGRAD:
        _define(_library_autograd, _text, *_implementations)


# ------------------------------------------------------------------------------------------------ derivatives
_functional = torch.ops._c10d_functional


def _keep(*names):
    """Return a setup_context that keeps all arguments but the tensors, as ctx.name."""

    def setup_context(ctx, inputs, output):
        for name, value in zip(names, inputs[1:]):
            setattr(ctx, name, value)

    return setup_context


def _only_sum(ctx, name):
    if ctx.reduce_op != "sum":
        raise RuntimeError(f"{name} backward only supports 'sum' reduction, got '{ctx.reduce_op}'")


def _waited(out):
    return [*map(_functional.wait_tensor, out)] if isinstance(out, list) else _functional.wait_tensor(out)


def _contiguous(grad):
    return [g.contiguous() for g in grad] if isinstance(grad, (list, tuple)) else grad.contiguous()


def _derivatives(suffix):
    """Yield (operator, backward, setup_context) for operators on a tensor or, with a suffix, on a list of tensors."""
    all_reduce = getattr(_functional, "all_reduce" + suffix)
    gather, scatter = (getattr(_functional, n + suffix) for n in ("all_gather_into_tensor", "reduce_scatter_tensor"))

    def of_all_reduce(ctx, grad):
        _only_sum(ctx, "all_reduce" + suffix)
        return _waited(all_reduce(_contiguous(grad), "sum", ctx.group)), None, None

    def of_all_gather(ctx, grad):
        return _waited(scatter(_contiguous(grad), "sum", ctx.size, ctx.group)), None, None

    def of_reduce_scatter(ctx, grad):
        _only_sum(ctx, "reduce_scatter_tensor" + suffix)
        return _waited(gather(_contiguous(grad), ctx.size, ctx.group)), None, None, None

    yield "all_reduce" + suffix, of_all_reduce, _keep("reduce_op", "group")
    yield "all_gather_into_tensor" + suffix, of_all_gather, _keep("size", "group")
    yield "reduce_scatter_tensor" + suffix, of_reduce_scatter, _keep("reduce_op", "size", "group")


def _of_all_to_all(ctx, grad):
    out = _functional.all_to_all_single(grad.contiguous(), ctx.sent, ctx.received, ctx.group)
    return _waited(out), None, None, None


_unchanged = lambda ctx, grad: grad
for _name, _backward, _setup in (
    *_derivatives(""),
    *_derivatives("_coalesced"),
    ("all_to_all_single", _of_all_to_all, _keep("received", "sent", "group")),
    ("broadcast", _unchanged, None),
    ("wait_tensor", _unchanged, None),
):
    for _space in ("_c10d_functional", "_c10d_functional_autograd")[: 1 + (_name in _WITH_AUTOGRAD)]:
        register_autograd(f"{_space}::{_name}", _backward, setup_context=_setup)
