"""Partitions of the nodes that come from one call of a module or function in the original program."""

from dataclasses import dataclass, field

from ...node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes of one call of ``source``: all nodes, inputs from outside, outputs, and attributes that are read."""

    nodes: list
    source: object
    input_nodes: list = field(default_factory=list)
    output_nodes: list = field(default_factory=list)
    params: list = field(default_factory=list)


def get_source_partitions(graph, wanted_sources, filter_fn=None):
    """Return {source: its partitions} for the wanted module classes, functions or names.

    Sources are found in the ``source_fn_stack`` metadata of nodes.
    """
    found: dict = {}
    for node in graph.nodes:
        stack = node.meta.get("source_fn_stack") or node.meta.get("torch_fn")
        if stack is None:
            continue
        name, source = stack[-1] if isinstance(stack, list) else (stack[0], stack[1].split(".")[-1])
        if source in wanted_sources:
            found.setdefault(source, {}).setdefault(name, []).append(node)
    if filter_fn:
        found = {
            s: {name: kept for name, nodes in by.items() if (kept := [n for n in nodes if filter_fn(n)])}
            for s, by in found.items()
        }
    return {source: [_partition(nodes, source) for nodes in by.values()] for source, by in found.items() if by}


def _partition(nodes, source):
    inside, inputs, outputs, params = set(nodes), {}, {}, {}
    for node in nodes:
        for used in (a for a in node.args if isinstance(a, Node)):
            if used not in inside and used.op != "get_attr":
                inputs[used] = None
        if node.op == "get_attr":
            params[node] = None
        for user in node.users:
            if user not in inside:
                outputs[node] = None
    return SourcePartition(nodes, source, [n for n in inputs], list(outputs), list(params))


def check_subgraphs_connected(subgraph1, subgraph2):
    """Whether the second partition uses a value of the first."""
    return any(used in subgraph1.nodes for node in reversed(subgraph2.nodes) for used in node.all_input_nodes)
