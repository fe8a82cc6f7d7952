"""torch.autograd.graph."""

import contextlib

from mindtorch_proxy.runtime.autograd import MODE, Node, disable_saved_tensors_hooks, edge, saved_tensors_hooks
from mindtorch_proxy.runtime.autograd import RemovableHandle


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors on the CPU until backward."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


class GradientEdge(tuple):
    """(node, output_nr)."""

    def __new__(cls, node, output_nr, ownership_token=None):
        return super().__new__(cls, (node, output_nr))

    node = property(lambda self: self[0])
    output_nr = property(lambda self: self[1])


def get_gradient_edge(tensor):
    """Where the gradient of tensor goes."""
    e = edge(tensor)
    if e is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*e)


def increment_version(tensor):
    """Tell autograd that the values changed."""
    for t in (tensor,) if hasattr(tensor, "_bump") else tensor:
        t._bump()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call fn with the gradients of all (or any) of the tensors."""
    grads, seen = [None] * len(tensors), [0]

    def make(i):
        def hook(g):
            if mode == "any":
                if seen[0] == 0:
                    seen[0] = 1
                    fn(g)
                return
            grads[i] = g
            seen[0] += 1
            if seen[0] == len([t for t in tensors if t.requires_grad]):
                fn(list(grads))
                seen[0] = 0
                grads[:] = [None] * len(tensors)

        return hook

    handles = [t.register_hook(make(i)) for i, t in enumerate(tensors) if t.requires_grad]

    class Handle(RemovableHandle):
        def __init__(self):
            pass

        def remove(self):
            for h in handles:
                h.remove()

    return Handle()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Saved tensors are copies, so that later in-place changes do not matter."""

    class Context:
        def clear(self):
            pass

    with saved_tensors_hooks(lambda t: t.detach().clone().requires_grad_(t.requires_grad) if not t.requires_grad else t.clone(), lambda t: t):
        yield Context()


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
