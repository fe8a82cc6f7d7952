"""Modules from parts of graphs, and comparison of graphs."""

import torch

from ...graph_module import GraphModule
from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(torch.nn.Module):
    """Holds modules by name."""

    def __init__(self, d):
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(gm, subgraph, comp_name="", class_name="GraphModule"):
    """Return a GraphModule for a part of ``gm``'s graph, and a dict of its attribute names to the original ones."""
    holder, renamed = HolderModule({}), {}
    for node in subgraph.nodes:
        if node.op not in ("get_attr", "call_module"):
            continue
        *path, last = node.target.split(".")
        source, place = gm, holder
        for atom in path:
            source = getattr(source, atom)
            if not hasattr(place, atom):
                place.add_module(atom, HolderModule({}))
            place = getattr(place, atom)
        setattr(place, last, getattr(source, last))
        if node.op == "get_attr":
            renamed[f"{comp_name}.{node.target}" if comp_name else node.target] = node.target
    subgraph.owning_module = None
    return GraphModule(holder, subgraph, class_name), renamed


def compare_graphs(left, right):
    """Whether two graphs are equivalent."""
    return len(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)) > 0
