"""Splitting of a graph into modules."""

import operator

import torch

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes that become one module."""

    def __init__(self, name):
        self.name, self.nodes = name, []
        self.inputs, self.outputs, self.dependencies, self.dependents = {}, {}, {}, {}

    def __repr__(self):
        return (
            f"name: {self.name},\n nodes: {[n.name for n in self.nodes]},\n inputs: {list(self.inputs)},\n outputs: "
            f"{list(self.outputs)},\n"
            f" partitions depended on: {list(self.dependencies)},\n partition dependents: {list(self.dependents)}"
        )


def split_module(
    m,
    root_m,
    split_callback,
    qualname_map=None,
    keep_original_order=False,
    keep_original_node_name=False,
    keep_original_input_name=True,
    *,
    partition_affix=None,
    tuple_return=False,
):
    """Split a module into children ``submod_K``, with the nodes for which ``split_callback(node)`` is K.

    ``qualname_map`` is filled with the original names of the attributes of the children. With ``keep_original_order``,
    the children are called in the order of their first nodes, otherwise in dependency order. Raise RuntimeError if they
    depend on each other in a cycle.
    """
    affix = f"{partition_affix}_" if partition_affix else ""
    home, partitions = {}, {}
    for node in m.graph.nodes:
        if node.op in ("call_function", "call_method", "call_module"):
            key = str(split_callback(node))
            home[node] = partitions.setdefault(key, Partition(affix + key))
            home[node].nodes.append(node)
    for node in m.graph.nodes:
        for used in node.all_input_nodes:
            _cross(used, home.get(used), home.get(node))
    order = list(partitions.values()) if keep_original_order else _sorted(list(partitions.values()))
    base, values, attributes = Graph(), {}, {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            values[node] = base.node_copy(node, lambda n: values[n])
            if node.op == "get_attr":
                attributes[node.target] = operator.attrgetter(node.target)(m)
    for part in order:
        name = f"submod_{part.name}"
        attributes[name] = _child(
            m, part, qualname_map, name, keep_original_node_name, keep_original_input_name, tuple_return
        )
        results = list(part.outputs)
        call = base.call_module(name, tuple(values[n] for n in part.inputs))
        if len(results) == 1 and not tuple_return:
            values[results[0]] = call
        else:
            for i, n in enumerate(results):
                proxy = torch.fx.Proxy(call)[i]
                values[n] = proxy.node
    for node in m.graph.nodes:
        if node.op == "output":
            base.output(map_arg(node.args[0], lambda n: values[n]), node.type)
    return GraphModule(attributes, base)


def _cross(used, source, target):
    """Record that a node's value is passed from one partition to another (None: the outer graph)."""
    if source is target:
        return
    if source is not None:
        source.outputs[used] = None
    if target is not None:
        target.inputs[used] = None
    if source is not None and target is not None:
        source.dependents[target.name] = None
        target.dependencies[source.name] = None


def _sorted(partitions):
    """Return the partitions in dependency order."""
    done, left = {}, partitions
    while left:
        ready = [p for p in left if all(d in done for d in p.dependencies)]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        done[ready[0].name] = ready[0]
        left = [p for p in left if p is not ready[0]]
    return list(done.values())


def _child(m, part, qualname_map, name, keep_node_name, keep_input_name, tuple_return):
    graph, values, attributes = Graph(), {}, {}
    for i, n in enumerate(part.inputs):
        default = n.args if n.op == "placeholder" else ()
        values[n] = graph.create_node(
            "placeholder", n.name if keep_input_name else f"arg_{i}", default, type_expr=n.type
        )
        values[n].meta = dict(n.meta)
    for node in part.nodes:
        target = node.target
        if node.op == "call_module":
            attributes[target := node.target.replace(".", "_")] = operator.attrgetter(node.target)(m)
            if qualname_map is not None:
                qualname_map[f"{name}.{target}"] = node.target
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: values[n])
        values[node] = graph.create_node(
            node.op, target, args, kwargs, node.name if keep_node_name else None, node.type
        )
        values[node].meta = dict(node.meta)
    results = tuple(values[n] for n in part.outputs)
    graph.output(results[0] if len(results) == 1 and not tuple_return else results)
    return GraphModule(attributes, graph)
