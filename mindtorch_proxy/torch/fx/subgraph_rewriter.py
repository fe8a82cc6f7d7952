"""Replacement of subgraphs that match a pattern."""

from dataclasses import dataclass
from typing import NamedTuple

import torch

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A replaced subgraph: the last node of the pattern, and the node for each pattern node."""

    anchor: Node
    nodes_map: dict


@dataclass
class ReplacedPatterns:
    """A replaced subgraph and its replacement nodes."""

    anchor: Node
    nodes_map: dict
    replacements: list


def _graph(of):
    return of.graph if isinstance(of, GraphModule) else of if isinstance(of, Graph) else symbolic_trace(of).graph


def replace_pattern(gm, pattern, replacement):
    """Replace, in place, each subgraph that matches ``pattern`` by ``replacement``; return the matches.

    Both are functions or GraphModules with the same arguments. Of overlapping matches, only one is replaced.
    """
    return [Match(r.anchor, r.nodes_map) for r in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm,
    pattern,
    replacement=None,
    match_filters=None,
    ignore_literals=False,
    replacement_callback=None,
    node_name_match="",
):
    """Do what ``replace_pattern`` does for the matches that all filters accept.

    Filters are called with (match, graph, pattern graph). ``replacement_callback`` returns a replacement graph for each
    match.
    """
    from .passes.utils.matcher_utils import SubgraphMatcher

    if (replacement is None) == (replacement_callback is None):
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    graph, wanted = gm.graph, _graph(pattern)
    fixed = None if replacement is None else _graph(replacement)
    matcher = SubgraphMatcher(
        wanted,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=ignore_literals,
    )
    matches = [
        m for m in matcher.match(graph, node_name_match) if all(f(m, graph, wanted) for f in match_filters or ())
    ]
    replaced, later = [], {}  # later: replaced result of an earlier match -> its replacement
    for match in matches:
        new = fixed if fixed is not None else replacement_callback(match, graph, wanted)
        inputs = [n for n in new.nodes if n.op == "placeholder"]
        if len(inputs) != len(match.placeholder_nodes):
            raise AssertionError(
                f"the replacement takes {len(inputs)} arguments, the pattern {len(match.placeholder_nodes)}"
            )
        values = {p: later.get(n, n) if isinstance(n, Node) else n for p, n in zip(inputs, match.placeholder_nodes)}
        copied = _insert(graph, new, values, match)
        results = list(copied) if isinstance(copied, (list, tuple)) else [copied]
        if len(results) != len(match.returning_nodes):
            raise AssertionError("the replacement and the pattern return different numbers of values")
        for old, result in zip(match.returning_nodes, results):
            old.replace_all_uses_with(result)
            later[old] = result
        for node in reversed(wanted.nodes):
            if node.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[node])
        replaced.append(
            ReplacedPatterns(
                match.anchors[0],
                match.nodes_map,
                [values[n] for n in new.nodes if n in values and n.op != "placeholder"],
            )
        )
    if isinstance(replacement, torch.nn.Module):
        gm.delete_all_unused_submodules()
        for node in graph.nodes:
            if node.op in ("call_module", "get_attr") and not _has(gm, node.target):
                _copy_attr(replacement, gm, node.target)
    gm.recompile()
    return replaced


def _insert(graph, new, values, match):
    """Copy the replacement nodes before the first user of a result, and return the replacement's output."""
    users = {u for n in match.returning_nodes for u in n.users}
    order = list(graph.nodes)
    place = next((n for n in order if n in users), None)
    if place is None:
        place = order[
            max(order.index(n) for n in match.nodes_map.values() if isinstance(n, Node) and n.graph is graph)
        ].next
    with graph.inserting_before(place):
        return graph.graph_copy(new, values)


def _has(module, path):
    try:
        for atom in path.split("."):
            module = getattr(module, atom)
    except AttributeError:
        return False
    return True
