"""Fusion of parts of a graph into submodules."""

import copy
import heapq

from ...graph import Graph
from ...proxy import Proxy
from ..tools_common import stable_topological_sort
from ._partitions import validate_partition
from .common import lift_subgraph_as_module

__all__ = [
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "topo_sort",
    "validate_partition",
]
validate_partition.__module__ = __name__


def topo_sort(nodes):
    """Sort the nodes topologically, and otherwise keep their order."""
    place = {n: i for i, n in enumerate(nodes)}
    missing = {n: sum(m in place for m in n.all_input_nodes) for n in nodes}
    ready = [i for n, i in place.items() if missing[n] == 0]
    heapq.heapify(ready)
    ordered = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        ordered.append(node)
        for user in node.users:
            if user in missing:
                missing[user] -= 1
                if missing[user] == 0:
                    heapq.heappush(ready, place[user])
    if len(ordered) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return ordered


def fuse_as_graphmodule(gm, nodes, module_name, partition_lookup_table=None, *, always_return_tuple=False):
    """Return (GraphModule of the nodes, its input nodes, its output nodes).

    The inputs are outside nodes that it uses; the outputs are inside nodes that are used outside.
    """
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = dict.fromkeys(nodes) if partition_lookup_table is None else partition_lookup_table
    graph, inputs, copies = Graph(), {}, {}

    def within(n):
        if n in inside:
            return copies[n]
        if n not in inputs:
            inputs[n] = graph.placeholder(n.name, type_expr=n.type)
            inputs[n].meta = copy.copy(n.meta)
        return inputs[n]

    for node in nodes:
        copies[node] = graph.node_copy(node, within)
    results = {n: copies[n] for n in nodes if any(user not in inside for user in n.users)}
    values = tuple(results.values())
    graph.output(values[0] if len(values) == 1 and not always_return_tuple else values)
    graph.lint()
    fused, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return fused, tuple(inputs), tuple(results)


def insert_subgm(gm, sub_gm, orig_inputs, orig_outputs, insertion_point=None):
    """Call a module in place of the nodes from which it was created; return ``gm``."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    if insertion_point is None:
        insertion_point = next((n for n in reversed(gm.graph.nodes) if n in orig_outputs), None)
    if insertion_point is None:
        raise AssertionError("there is no insertion_point, and none of the results says where to insert")
    with gm.graph.inserting_after(insertion_point):
        call = gm.graph.call_module(name, args=orig_inputs)
    if not orig_outputs:
        return gm
    if len(orig_outputs) == 1 and not isinstance(sub_gm.graph.output_node().args[0], tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    with gm.graph.inserting_before(call.next):
        for i, node in enumerate(orig_outputs):
            node.replace_all_uses_with(Proxy(call)[i].node, propagate_meta=True)
    call.meta["val"] = tuple(n.meta.get("val") for n in orig_outputs)
    return gm


def erase_nodes(gm, nodes):
    """Remove nodes, last one first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm, partitions, prefix="fused_", always_return_tuple=False):
    """Move each partition ({node: anything}) into a submodule ``prefix + number``; return ``gm``."""
    for number, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        fused, inputs, results = fuse_as_graphmodule(
            gm, nodes, prefix + str(number), partition, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, fused, inputs, results, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
