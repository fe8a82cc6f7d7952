"""torch.cond: control flow with branches as functions."""

import torch
import torch.utils._pytree as pytree
from torch._C import DispatchKey
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    disable_proxy_modes_tracing,
    get_proxy_mode,
    make_fx,
    track_tensor_tree,
)

__all__ = ["cond"]


def _watched(pred):
    """Whether both branches are needed: a graph is being traced, or pred is a fake tensor without a value."""
    return get_proxy_mode() is not None or isinstance(pred, FakeTensor)


class CondOp(HigherOrderOperator):
    """cond(pred, true_fn, false_fn, operands) returns the tuple that one of the functions returns.

    This is the operator in graphs, where the functions are GraphModules.
    """

    def __init__(self):
        super().__init__("cond")

    def __call__(self, pred, true_fn, false_fn, operands):
        # autograd and vmap apply to the branch that runs, as to any function
        if not _watched(pred):
            return _taken(pred, true_fn, false_fn, operands)
        return super().__call__(pred, true_fn, false_fn, operands)


cond_op = CondOp()


@cond_op.py_impl(DispatchKey.CompositeExplicitAutograd)
def _taken(pred, true_fn, false_fn, operands):
    return tuple((true_fn if bool(pred) else false_fn)(*operands))


@cond_op.py_impl(FakeTensorMode)
def _likeness(mode, pred, true_fn, false_fn, operands):
    """Return fake results of the first branch, after checking that the other's have the same metadata."""
    with mode:
        found, others = tuple(true_fn(*operands)), tuple(false_fn(*operands))
    _check_alike(found, others)
    return found


@cond_op.py_impl(ProxyTorchDispatchMode)
def _traced(mode, pred, true_fn, false_fn, operands):
    """Trace cond as one node; its functions become separate graphs, attributes of the traced module."""
    with disable_proxy_modes_tracing():
        graphs = {kind: make_fx(fn)(*operands) for kind, fn in (("true", true_fn), ("false", false_fn))}
    _check_alike(*(_results(g) for g in graphs.values()))
    root, create = mode.tracer.root, mode.tracer.create_proxy
    i = next(i for i in range(len(root._modules) + 1) if not hasattr(root, f"true_graph_{i}"))
    for kind, graph in graphs.items():
        root.add_module(f"{kind}_graph_{i}", graph)
    functions = [create("get_attr", f"{kind}_graph_{i}", (), {}) for kind in graphs]
    given = pytree.tree_map(mode.tracer.unwrap_proxy, (pred, tuple(operands)))
    proxy = create("call_function", cond_op, (given[0], *functions, given[1]), {})
    with disable_proxy_modes_tracing():
        out = cond_op(pred, *graphs.values(), operands)
    return track_tensor_tree(out, proxy, constant=None, tracer=mode.tracer)


def _results(graph):
    """Return the recorded (fake) results of a graph."""
    given = pytree.tree_leaves(next(n for n in reversed(graph.graph.nodes) if n.op == "output").args)
    return [x.meta.get("val") if isinstance(x, torch.fx.Node) else x for x in given]


def _check_alike(found, others):
    meta = lambda outs: [(tuple(t.shape), t.dtype, t.device) if isinstance(t, torch.Tensor) else type(t) for t in outs]  # noqa: E731
    if meta(found) != meta(others):
        raise RuntimeError(
            f"Expected both branches of cond to return results alike, but got {meta(found)} and {meta(others)}."
        )


def cond(pred, true_fn, false_fn, operands=()):
    """Return true_fn(*operands) or false_fn(*operands), depending on pred, a bool or a tensor with one element.

    A graph (make_fx) contains one node with both functions as graphs; they must then return tensors with the same
    shapes and dtypes.
    """
    if not isinstance(pred, (bool, int, float, torch.Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not isinstance(operands, (list, tuple)):
        raise RuntimeError(
            f"Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
            f"but got {operands}."
        )
    if not isinstance(pred, torch.Tensor) or not _watched(pred):
        return (true_fn if bool(pred) else false_fn)(*operands)
    leaves, spec = pytree.tree_flatten(tuple(operands))
    specs = []

    def flat(fn):
        def branch(*leaves):
            out, out_spec = pytree.tree_flatten(fn(*pytree.tree_unflatten(leaves, spec)))
            specs.append(out_spec)
            return tuple(out)

        return branch

    return pytree.tree_unflatten(cond_op(pred, flat(true_fn), flat(false_fn), tuple(leaves)), specs[0])
