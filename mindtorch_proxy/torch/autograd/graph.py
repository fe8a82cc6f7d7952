"""torch.autograd.graph."""

import abc
import contextlib
import threading
import weakref
from functools import partial
from typing import NamedTuple

from mindtorch_proxy.runtime.autograd import MODE, TASK, disable_saved_tensors_hooks, edge, saved_tensors_hooks, will_execute
from mindtorch_proxy.runtime.autograd import Node as _Node
from mindtorch_proxy.runtime.autograd import RemovableHandle


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
        """Call ``hook(grad_inputs, grad_outputs)`` after the node has run; what it returns replaces the first. Returns a handle."""

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
    """Where the gradient of a tensor goes: a GradientEdge, which autograd.grad and backward take in a tensor's place."""
    e = edge(tensor)
    if e is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*e)


def increment_version(tensor):
    """Tell autograd that the values changed."""
    for t in (tensor,) if hasattr(tensor, "_bump") else tensor:
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

    mode "all": fn(gradients) when those of all tensors that this backward reaches are there, None for the others; "any": fn(gradient) with the first.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes, lock, arrived = [edge(t)[0] for t in tensors], threading.Lock(), {}

    def all_of(i, g):
        run = TASK.run.id
        with lock:
            if run not in arrived:
                arrived[run] = [sum(map(will_execute, nodes)), [None] * len(nodes)]
            arrived[run][0] -= 1
            arrived[run][1][i] = g
            gradients = arrived.pop(run)[1] if arrived[run][0] == 0 else None
        if gradients is not None:
            fn(gradients)

    def any_of(i, g):
        run = TASK.run.id
        with lock:
            first = arrived.get("run") != run
            arrived["run"] = run
        if first:
            fn(g)

    return _MultiHandle(t.register_hook(partial(all_of if mode == "all" else any_of, i)) for i, t in enumerate(tensors))


class _AllowMutationOnSavedContext:
    """The copies that were saved inside, as long as the nodes that saved them need them."""

    def __init__(self):
        self.copies = weakref.WeakKeyDictionary()

    def clear(self):
        """Forget all copies: the graphs that were recorded cannot be walked back any more."""
        self.copies.clear()


class _Kept:
    """What a node holds instead of a copy."""


_mutation = threading.local()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Saved tensors are copies, so that later in-place changes do not matter; backward() must run inside too."""
    if getattr(_mutation, "allowed", False):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()

    def pack(t):
        kept = _Kept()
        context.copies[kept] = t.clone() if t.requires_grad else t.detach().clone()
        return kept

    def unpack(kept):
        if kept not in context.copies:
            raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally recorded.")
        return context.copies[kept]

    _mutation.allowed = True
    try:
        with saved_tensors_hooks(pack, unpack):
            yield context
    finally:
        context.clear()
        _mutation.allowed = False


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
    "MODE",
]
