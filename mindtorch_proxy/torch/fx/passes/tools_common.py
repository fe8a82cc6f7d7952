"""Names of what nodes call, and topological sorting of graphs."""

import collections
import heapq
import operator

import torch

from ..graph import Graph
from ..node import Node, _get_qualified_name

__all__ = [
    "CALLABLE_NODE_OPS",
    "Names",
    "NodeList",
    "NodeSet",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]
NodeList, NodeSet, Names = list[Node], set[Node], list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k):
    """Return the name of a class or function with its module."""
    if isinstance(k, str):
        return k
    if k.__module__ and "acc_ops" in k.__module__:
        return f"acc_ops.{k.__name__}"
    return f"{(k.__module__ or '').replace('torch._ops', 'torch.ops')}.{k.__name__}"


def get_node_target(submodules, node):
    """Return the name of the method, function or submodule class that a node calls."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}")
    if node.op == "call_method":
        return node.target
    if node.op == "call_module":
        module = submodules[node.target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if "acc_ops" in (getattr(node.target, "__module__", None) or ""):
        return f"acc_ops.{node.target.__name__}"
    return _get_qualified_name(node.target)


def is_node_output_tensor(node):
    """Whether a node returns a tensor, as found by ShapeProp."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, torch.Tensor)


def _in_order(gm, ready):
    """Replace the graph of a module by one with the same nodes in dependency order.

    ready: a queue with push(node) and pop().
    """
    missing = {n: len(n.all_input_nodes) for n in gm.graph.nodes}
    for node, count in missing.items():
        if count == 0:
            ready.push(node)
    graph, copies = Graph(), {}
    while ready.nodes:
        node = ready.pop()
        copies[node] = graph.node_copy(node, lambda n: copies[n])
        for user in node.users:
            missing[user] -= 1
            if missing[user] == 0:
                ready.push(user)
    left = [n for n in missing if n not in copies]
    if left:
        raise RuntimeError(f"Input graph has cycles, unable to add {left}")
    graph._codegen = gm.graph._codegen
    gm.graph = graph
    return gm


class _FirstCome:
    """A queue in the order in which nodes become ready, with size checks first."""

    def __init__(self):
        aten = torch.ops.aten
        self.nodes, self.urgent = (
            collections.deque(),
            {getattr(operator, n) for n in "add mul sub floordiv truediv mod le lt ge gt eq ne".split()},
        )
        self.urgent |= {
            aten.sym_constrain_range.default,
            aten.sym_constrain_range_for_size.default,
            aten.scalar_tensor.default,
            aten._assert_async.msg,
        }

    def push(self, node):
        (self.nodes.appendleft if node.op == "call_function" and node.target in self.urgent else self.nodes.append)(
            node
        )

    def pop(self):
        return self.nodes.popleft()


class _Stable:
    """A queue in the original order of the nodes."""

    def __init__(self, nodes):
        self.nodes, self.places, self.all = [], {n: i for i, n in enumerate(nodes)}, list(nodes)

    def push(self, node):
        heapq.heappush(self.nodes, self.places[node])

    def pop(self):
        return self.all[heapq.heappop(self.nodes)]


def legalize_graph(gm):
    """Sort the nodes of a module's graph topologically and return the module."""
    return _in_order(gm, _FirstCome())


def stable_topological_sort(gm):
    """Sort the nodes topologically, and otherwise keep their order."""
    return _in_order(gm, _Stable(gm.graph.nodes))
