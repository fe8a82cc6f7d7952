"""torch.autograd.graph."""

import abc
import collections
import contextlib
import threading
import weakref
from functools import partial
from typing import NamedTuple

from mindtorch_proxy.runtime.context import CONTEXT
from mindtorch_proxy.runtime.autograd import disable_saved_tensors_hooks, edge, saved_tensors_hooks, will_execute
from mindtorch_proxy.runtime.autograd import Node as _Node
from mindtorch_proxy.runtime.autograd import RemovableHandle
from mindtorch_proxy.runtime.call.dispatch import intercept, tensors_of


class Node(abc.ABC):
    """What every node of the graph is an instance of, without inheriting from it."""

    @abc.abstractmethod
    def name(self):
        """The name of the operator's backward."""

    @property
    @abc.abstractmethod
    def next_functions(self):
        """The nodes that get this one's gradients, with the number of the result each time."""

    @property
    @abc.abstractmethod
    def metadata(self):
        """A dictionary for whatever a program notes of this node."""

    @abc.abstractmethod
    def register_hook(self, fn):
        """Call ``hook(grad_inputs, grad_outputs)`` after the node has run; what it returns replaces the first.

        Returns a handle.
        """

    @abc.abstractmethod
    def register_prehook(self, fn):
        """Call ``hook(grad_outputs)`` before the node runs; what it returns replaces them. Returns a handle."""


Node.register(_Node)


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors on the CPU until backward."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


class GradientEdge(NamedTuple):
    """Where a gradient goes: the `output_nr`-th output of `node`."""

    node: Node
    output_nr: int
    ownership_token: object = None


def get_gradient_edge(tensor):
    """Where the gradient of a tensor goes: a GradientEdge, which autograd.grad and backward take in a tensor's
    place.
    """
    e = edge(tensor)
    if e is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*e)


def _get_grad_fn_or_grad_acc(t):
    """The node that a tensor's gradient goes to: that of its operator, or the one that accumulates it. AssertionError
    without one.
    """
    if isinstance(t, GradientEdge):
        return t.node
    found = edge(t)
    if found is None:
        raise AssertionError("Expected gradient function to be set")
    return found[0]


def increment_version(tensor):
    """Tell autograd that the values changed."""
    if not hasattr(tensor, "__iter__"):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in (tensor,) if hasattr(tensor, "_bump") else tensor:
        if not hasattr(t, "_bump"):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not t.is_inference():
            t._bump()


class _MultiHandle(RemovableHandle):
    """Removes the hooks of several tensors."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for h in self.handles:
            h.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """A hook of several tensors, once for each backward.

    mode "all": fn(gradients) when those of all tensors that this backward reaches are there, None for the others;
    "any": fn(gradient) with the first.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    edges, lock, arrived = [edge(t) for t in tensors], threading.Lock(), {}
    if None in edges:
        raise AssertionError("Expected gradient function to be set")
    nodes = [e[0] for e in edges]

    def all_of(i, g):
        run = CONTEXT.backward.id
        with lock:
            if run not in arrived:
                arrived[run] = [sum(map(will_execute, nodes)), [None] * len(nodes)]
            arrived[run][0] -= 1
            arrived[run][1][i] = g
            gradients = arrived.pop(run)[1] if arrived[run][0] == 0 else None
        if gradients is not None:
            fn(gradients)

    def any_of(i, g):
        run = CONTEXT.backward.id
        with lock:
            first = arrived.get("run") != run
            arrived["run"] = run
        if first:
            fn(g)

    return _MultiHandle(t.register_hook(partial(all_of if mode == "all" else any_of, i)) for i, t in enumerate(tensors))


class _Handle:
    """What nodes hold instead of a tensor that was saved inside.

    Those that saved one version of one tensor share it.
    """


def _get_tid(tensor):
    """One version of one tensor."""
    return id(tensor), tensor.data_ptr(), tensor._version


def _get_sid(tensor):
    """One version of the memory that a tensor shares with its views, wherever in it they begin (PyTorch tells them
    apart, and misses writes).
    """
    return tensor.data_ptr() - tensor.storage_offset() * tensor.itemsize, tensor._version


def _written(args, call):
    """The tensors that a call below autograd writes to."""
    found = call.resolve(args)
    if found is None:  # an operator that PyTorch does not have
        return tensors_of([args[0]] if call.suffix else [args[i] for i in call.op.options.mutates])
    schema, given, named = found
    values = schema.bound(given, named)
    return tensors_of([values[a.name] for a in schema.arguments if a.is_write and a.name in values])


class _AllowMutationOnSavedContext:
    """What was saved inside, as long as the nodes that saved it need it: handle -> the tensor, or its copy where it has
    been written to since.
    """

    def __init__(self):
        self.cloned = weakref.WeakKeyDictionary()
        self.original = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle = weakref.WeakValueDictionary()
        self.sid_to_tid = collections.defaultdict(set)

    def clear(self):
        """Forget all that was saved: the graphs that were recorded cannot be walked back any more."""
        for kept in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            kept.clear()

    def _pack(self, tensor):
        tid = _get_tid(tensor)
        self.sid_to_tid[_get_sid(tensor)].add(tid)
        handle = self.tid_to_weakhandle.get(tid)
        if (
            handle is None or handle in self.cloned
        ):  # the copy is of another tensor, whose address and memory this one got
            handle = self.tid_to_weakhandle[tid] = _Handle()
            self.original[handle] = tensor
        return handle

    def _unpack(self, handle):
        if not _allow_mutation_on_saved_tensors_enabled or handle not in self.cloned and handle not in self.original:
            raise AssertionError(
                # as PyTorch writes it
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
                "originally recorded."
            )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def _before_write(self, tensor):
        """Copy what was saved of the memory that is about to be written to."""
        for tid in self.sid_to_tid.pop(_get_sid(tensor), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle in self.original:
                self.cloned[handle] = self.original[handle].clone()
                del self.original[handle]

    def _on_call(self, name, args, call):
        """The handler of calls below autograd: looks at what a call writes to, then lets it go on."""
        with call.outer():
            for tensor in _written(args, call):
                self._before_write(tensor)
        return call(*args)


_allow_mutation_on_saved_tensors_enabled = False


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Saved tensors that are written to in place are copied before, so that the write does not matter.

    backward() must run inside too.
    """
    global _allow_mutation_on_saved_tensors_enabled
    if _allow_mutation_on_saved_tensors_enabled:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()
    _allow_mutation_on_saved_tensors_enabled = True
    try:
        with saved_tensors_hooks(context._pack, context._unpack), intercept(context._on_call):
            yield context
    finally:
        context.clear()
        _allow_mutation_on_saved_tensors_enabled = False


__all__ = [
    "saved_tensors_hooks",
    "save_on_cpu",
    "disable_saved_tensors_hooks",
    "register_multi_grad_hook",
    "allow_mutation_on_saved_tensors",
    "Node",
    "GradientEdge",
    "get_gradient_edge",
    "increment_version",
]
