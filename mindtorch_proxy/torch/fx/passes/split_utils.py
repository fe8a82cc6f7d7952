"""Splitting of a graph into modules by tags on its nodes."""

import copy
from dataclasses import dataclass, field

import torch

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from ..proxy import Proxy
from .utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj, name):
    """Return the attribute with a dotted name, or None."""
    for atom in name.split("."):
        if isinstance(obj, torch.nn.ModuleList):
            obj = obj._modules.get(atom)
        else:
            obj = getattr(obj, atom, None)
        if obj is None:
            return None
    return obj


def setattr_recursive(obj, attr, value):
    """Set the attribute with a dotted name."""
    *path, last = attr.split(".")
    for atom in path:
        obj = getattr(obj, atom)
    setattr(obj, last, value)


@dataclass
class Component:
    """The part of a graph with one tag, which becomes a module."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None

    def argument(self, node):
        """Return the node in this part that represents an outside node of the original graph."""
        if node.op == "get_attr":
            if node not in self.getattr_maps:
                self.getattr_maps[node] = self.graph.get_attr(node.target, type_expr=node.type)
                self.getattr_maps[node].meta = copy.copy(node.meta)
            return self.getattr_maps[node]
        if node not in self.orig_inputs:
            placeholder = self.graph.placeholder(node.name, type_expr=node.type)
            placeholder.meta = copy.copy(node.meta)
            self.orig_inputs.append(node)
            self.input_placeholders.append(placeholder)
        return self.input_placeholders[self.orig_inputs.index(node)]


def split_by_tags(gm, tags, return_fqn_mapping=False, return_tuple=False, GraphModuleCls=GraphModule):
    """Split a module into children by the ``tag`` of its nodes, in the order of ``tags``.

    return_fqn_mapping: return the original names of the children's attributes too.
    """
    parts = {tag: Component(Graph(), i, str(tag)) for i, tag in enumerate(tags)}
    main, values, home, copies = Graph(), {}, {}, {}
    output = None
    for node in gm.graph.nodes:
        if node.op == "output":
            if output is not None:
                raise RuntimeError("Multiple output nodes in graph!")
            output = node
        elif node.op == "placeholder":
            values[node] = main.placeholder(node.name, type_expr=node.type)
            values[node].meta = copy.copy(node.meta)
        elif node.op != "get_attr":
            _into_part(node, parts, home, copies)
    if output is None:
        raise RuntimeError("Graph had no output node!")
    used = dict.fromkeys(n for part in parts.values() for n in part.orig_inputs)
    direct = [n for n in output.all_input_nodes if n.op == "get_attr"]
    used |= dict.fromkeys(n for n in output.all_input_nodes if n.op != "get_attr")
    values.update((n, main.get_attr(n.name, type_expr=n.type)) for n in direct)
    for n in used:
        if n in home:
            home[n].orig_outputs.append(n)
    names = {}
    for part in parts.values():
        names.update(_call_part(gm, part, main, values, copies, return_tuple))
    main.output(map_arg(output.args[0], values.__getitem__))
    main._codegen = gm.graph._codegen
    root = HolderModule({part.name: part.gm for part in parts.values()})
    for n in direct:
        setattr(root, n.name, getattr_recursive(gm, n.target))
    result = GraphModuleCls(root, main)
    return (result, names) if return_fqn_mapping else result


def _into_part(node, parts, home, copies):
    """Copy a node to the part of its tag, which must not come before the parts that it depends on."""
    if not hasattr(node, "tag"):
        raise AssertionError(f"Node does not have tag: {node.format_node()}")
    part = home[node] = parts[node.tag]
    latest = max((home[n].order for n in node.all_input_nodes if n in home), default=0)
    if part.order < latest:
        raise AssertionError(
            f"Component {part.name} order must be >= max of its upstream components, "
            f"order={part.order} and max={latest}"
        )
    copies[node] = part.graph.node_copy(node, lambda n: copies[n] if home.get(n) is part else part.argument(n))
    copies[node].tag = node.tag


def _call_part(gm, part, main, values, copies, return_tuple):
    """Create the module of a part and call it in the main graph; return the original names of its attributes."""
    results = tuple(copies[n] for n in part.orig_outputs)
    single = len(results) == 1 and not return_tuple
    part.graph.output(results[0] if single else results)
    part.gm, names = lift_subgraph_as_module(gm, subgraph=part.graph, comp_name=part.name)
    call = main.call_module(part.name, args=tuple(values[n] for n in part.orig_inputs))
    for i, n in enumerate(part.orig_outputs):
        values[n] = call if single else Proxy(call)[i].node
    return names
