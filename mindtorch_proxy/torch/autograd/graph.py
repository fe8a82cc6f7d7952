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
    """Abstract base class of graph nodes; nodes are registered as virtual subclasses."""

    @abc.abstractmethod
    def name(self):
        """Return the name of the operator's backward."""

    @property
    @abc.abstractmethod
    def next_functions(self):
        """The nodes that get this node's gradients, each with an output number."""

    @property
    @abc.abstractmethod
    def metadata(self):
        """A dictionary in which a program can store data about this node."""

    @abc.abstractmethod
    def register_hook(self, fn):
        """Register ``hook(grad_inputs, grad_outputs)``, called after the node has run. Return a handle.

        The hook's result replaces the grad_inputs.
        """

    @abc.abstractmethod
    def register_prehook(self, fn):
        """Register ``hook(grad_outputs)``, called before the node runs. Return a handle.

        The hook's result replaces the grad_outputs.
        """


Node.register(_Node)


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors on the CPU until backward."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


class GradientEdge(NamedTuple):
    """An edge of the graph: the `output_nr`-th output of `node`."""

    node: Node
    output_nr: int
    ownership_token: object = None


def get_gradient_edge(tensor):
    """Return the GradientEdge of a tensor, which autograd.grad and backward accept in place of the tensor."""
    e = edge(tensor)
    if e is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*e)


def _get_grad_fn_or_grad_acc(t):
    """Return the grad_fn of a tensor, or the node that accumulates its gradient.

    Raise AssertionError if there is none.
    """
    if isinstance(t, GradientEdge):
        return t.node
    found = edge(t)
    if found is None:
        raise AssertionError("Expected gradient function to be set")
    return found[0]


def increment_version(tensor):
    """Increment the version counter of tensors, to tell autograd that their values have changed."""
    if not hasattr(tensor, "__iter__"):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in (tensor,) if hasattr(tensor, "_bump") else tensor:
        if not hasattr(t, "_bump"):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not t.is_inference():
            t._bump()


class _MultiHandle(RemovableHandle):
    """A handle that removes the hooks of several tensors."""

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
    """Register a hook on several tensors, called once in each backward.

    With mode "all", fn(gradients) is called when the gradients of all tensors that this backward reaches are ready; the
    others are None. With mode "any", fn(gradient) is called with the first gradient.
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
    """The object that nodes hold in place of a saved tensor.

    Nodes that saved the same version of the same tensor share it.
    """


def _get_tid(tensor):
    """Return a key for one version of one tensor."""
    return id(tensor), tensor.data_ptr(), tensor._version


def _get_sid(tensor):
    """Return a key for one version of the storage that a tensor shares with its views.

    It does not depend on where in the storage a view starts. PyTorch distinguishes such views, and misses some writes.
    """
    return tensor.data_ptr() - tensor.storage_offset() * tensor.itemsize, tensor._version


def _written(args, call):
    """Return the tensors that a call below autograd writes to."""
    found = call.resolve(args)
    if found is None:  # an operator that PyTorch does not have
        return tensors_of([args[0]] if call.suffix else [args[i] for i in call.op.options.mutates])
    schema, given, named = found
    values = schema.bound(given, named)
    return tensors_of([values[a.name] for a in schema.arguments if a.is_write and a.name in values])


class _AllowMutationOnSavedContext:
    """The saved tensors, for as long as their nodes need them.

    It maps each handle to the tensor, or to a copy if the tensor has been written to since.
    """

    def __init__(self):
        self.cloned = weakref.WeakKeyDictionary()
        self.original = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle = weakref.WeakValueDictionary()
        self.sid_to_tid = collections.defaultdict(set)

    def clear(self):
        """Drop all saved tensors; backward through the recorded graphs is no longer possible."""
        for kept in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            kept.clear()

    def _pack(self, tensor):
        tid = _get_tid(tensor)
        self.sid_to_tid[_get_sid(tensor)].add(tid)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None or handle in self.cloned:  # the copy belongs to an earlier tensor with the same id and memory
            handle = self.tid_to_weakhandle[tid] = _Handle()
            self.original[handle] = tensor
        return handle

    def _unpack(self, handle):
        if not _allow_mutation_on_saved_tensors_enabled or handle not in self.cloned and handle not in self.original:
            raise AssertionError(
                # spelled as in PyTorch
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
                "originally recorded."
            )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def _before_write(self, tensor):
        """Copy the saved tensors on the memory that is about to be written to."""
        for tid in self.sid_to_tid.pop(_get_sid(tensor), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle in self.original:
                self.cloned[handle] = self.original[handle].clone()
                del self.original[handle]

    def _on_call(self, name, args, call):
        """Handle a call below autograd: copy saved tensors that it writes to, then run it."""
        with call.outer():
            for tensor in _written(args, call):
                self._before_write(tensor)
        return call(*args)


_allow_mutation_on_saved_tensors_enabled = False


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Context manager in which saved tensors are copied before they are written to in-place.

    backward() must run inside it too.
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
