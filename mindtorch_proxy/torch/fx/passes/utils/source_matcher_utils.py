"""Which nodes of a graph come from one call of a module or a function of the program."""

from dataclasses import dataclass, field

from ...node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes of one call of ``source``: all, those that come from outside, those that others use, and the attributes
    that are read.
    """

    nodes: list
    source: object
    input_nodes: list = field(default_factory=list)
    output_nodes: list = field(default_factory=list)
    params: list = field(default_factory=list)


def get_source_partitions(graph, wanted_sources, filter_fn=None):
    """{source: its partitions} of the modules' classes, functions or names that are wanted, by what nodes say in
    ``source_fn_stack``.
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
    """Whether the second uses what the first gives."""
    return any(used in subgraph1.nodes for node in reversed(subgraph2.nodes) for used in node.all_input_nodes)
