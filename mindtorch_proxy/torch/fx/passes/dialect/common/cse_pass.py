"""Common subexpressions: what is computed twice from the same is computed once."""

import torch
from torch.utils._pytree import tree_flatten

from ....graph import Graph
from ....graph_module import GraphModule
from ....node import Node
from ...infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]
aten = torch.ops.aten
inplace_ops = {getattr(aten, n) for n in "add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_".split()}
rand_ops = {
    getattr(aten, n)
    for n in (
        "dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial rrelu rand_like rand randint randn "
        "randperm randint_like randn_like normal_functional uniform_ random_"
    ).split()
    if hasattr(aten, n)
}


def get_CSE_banned_ops():
    """The operators that give something else each time, or write."""
    return rand_ops | inplace_ops


class CSEPass(PassBase):
    """Leaves one node of those that call the same with the same; banned_ops stay as they are."""

    def __init__(self, banned_ops=None):
        super().__init__()
        self.banned_ops = set() if banned_ops is None else banned_ops

    def call(self, graph_module):
        """The module with a new graph, and whether that is smaller."""
        graph, made, known, modified = Graph(), {}, {}, False
        for node in graph_module.graph.nodes:
            packet = getattr(node.target, "overloadpacket", node.target)
            if node.op in ("placeholder", "output", "get_attr") or packet in self.banned_ops or _writes(node.target):
                made[node] = graph.node_copy(node, lambda n: made[n])
                continue
            args, args_spec = _substituted(node.args, made)
            kwargs, kwargs_spec = _substituted(node.kwargs, made)
            key = (node.op, node.target, args, args_spec, kwargs, kwargs_spec)
            if key in known:
                modified, made[node] = True, known[key]
                continue
            made[node] = known[key] = graph.node_copy(node, lambda n: made[n])
        return PassResult(GraphModule(graph_module, graph), modified)


def _writes(target):
    """Whether an operator changes an argument: then another call of it is another change."""
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.is_mutable


def _substituted(tree, made):
    leaves, spec = tree_flatten(tree)
    return tuple((type(x), made[x] if isinstance(x, Node) else x if _hashable(x) else id(x)) for x in leaves), str(spec)


def _hashable(x):
    try:
        hash(x)
    except TypeError:
        return False
    return True
