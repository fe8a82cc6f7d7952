"""Search for subgraphs that match a pattern."""

import copy
import operator
from dataclasses import dataclass, field

import torch

from ...node import Node
from ._partitions import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A match.

    It has the last nodes of the pattern, the matched node of each pattern node, its arguments and its results.
    """

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)
    name_node_map: dict = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            self.anchors,
            dict(self.nodes_map),
            list(self.placeholder_nodes),
            list(self.returning_nodes),
            dict(self.name_node_map),
        )


def _fetch(node):
    """Return the attribute or module to which a node refers."""
    return operator.attrgetter(node.target)(node.graph.owning_module)


class SubgraphMatcher:
    """Finds subgraphs with the same calls as ``pattern``; its placeholders match anything.

    ``match_output`` and ``match_placeholder`` require nodes of these kinds; ``ignore_literals`` lets numbers and
    strings differ.
    """

    def __init__(
        self,
        pattern,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=False,
    ):
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph, node_name_match=""):
        """Return an InternalMatch for each matching subgraph, in graph order."""
        found = []
        candidates = {a: [n for n in graph.nodes if self._same(a, n)] for a in self.pattern_anchors}

        def backtracking(i, match):
            if i == len(self.pattern_anchors):
                match.placeholder_nodes = [
                    match.nodes_map[p] for p in self.pattern_placeholder_nodes if p in match.nodes_map
                ]
                match.returning_nodes = [match.nodes_map[p] for p in self.pattern_returning_nodes]
                found.append(match)
                return
            for node in candidates[self.pattern_anchors[i]]:
                trial = copy.copy(match)
                if self._match_nodes(self.pattern_anchors[i], node, trial):
                    backtracking(i + 1, trial)

        backtracking(0, InternalMatch(anchors=self.pattern_anchors))
        found = [m for m in found if self._is_contained(m.nodes_map) and self._is_convex(m.nodes_map)]
        found = [m for m in found if not node_name_match or self._names(m, node_name_match)]
        return self._remove_overlapping(found) if self.remove_overlapping_matches else found

    @staticmethod
    def _names(match, text):
        return any(isinstance(n, Node) and text in n.name for n in match.nodes_map.values())

    def _same(self, pn, gn):
        """Whether two nodes do the same, apart from their arguments."""
        if pn.op == "placeholder" and not self.match_placeholder:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._same_attribute(pn, gn)
        if pn.op == "call_module" and pn.graph.owning_module is not None and gn.graph.owning_module is not None:
            return type(_fetch(pn)) is type(_fetch(gn))
        return pn.target == gn.target

    @staticmethod
    def _same_attribute(pn, gn):
        mine, theirs = _fetch(pn), _fetch(gn)
        return type(mine) is type(theirs) and isinstance(mine, torch.Tensor)

    def _match_nodes(self, pn, gn, match):
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if any(n is gn for n in match.nodes_map.values()) and pn.op != "placeholder" or not self._same(pn, gn):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        (pattern_args, pattern_kwargs), (args, kwargs) = _normalized(pn), _normalized(gn)
        if self._match_args(pattern_args, args, match) and pattern_kwargs.keys() == kwargs.keys():
            if all(self._match_value(v, kwargs[k], match) for k, v in pattern_kwargs.items()):
                return True
        match.nodes_map = saved.nodes_map
        return False

    def _match_args(self, patterns, values, match):
        return len(patterns) == len(values) and all(self._match_value(p, v, match) for p, v in zip(patterns, values))

    def _match_value(self, pattern, value, match):
        if isinstance(pattern, Node):
            if isinstance(value, Node):
                return self._match_nodes(pattern, value, match)
            # a placeholder of the pattern may match a number
            if pattern.op != "placeholder" or self.match_placeholder:
                return False
            return match.nodes_map.setdefault(pattern, value) == value
        if isinstance(value, Node):
            return False
        if isinstance(pattern, (list, tuple)) and isinstance(value, (list, tuple)):
            return self._match_args(pattern, value, match)
        return self.ignore_literals or type(pattern) is type(value) and pattern == value

    def _is_contained(self, nodes_map):
        """Whether inner nodes are only used inside the match."""
        inside = {n for n in nodes_map.values() if isinstance(n, Node)}
        for pn, gn in nodes_map.items():
            if pn.op != "placeholder" and pn not in self.pattern_returning_nodes and isinstance(gn, Node):
                if any(
                    u not in inside and u.op != "output" or u.op == "output" and not self.match_output for u in gn.users
                ):
                    return False
        return True

    @staticmethod
    def _is_convex(nodes_map):
        """Whether no outside node lies between two matched nodes, so that a single call can replace them."""
        return validate_partition(
            [n for p, n in nodes_map.items() if p.op not in ("placeholder", "output") and isinstance(n, Node)]
        )

    @staticmethod
    def _remove_overlapping(matches):
        kept, taken = [], set()
        for match in matches:
            inner = {
                n for p, n in match.nodes_map.items() if p.op not in ("placeholder", "output") and isinstance(n, Node)
            }
            if not inner & taken:
                kept.append(match)
                taken |= inner
        return kept


def _normalized(node):
    """Return (args, kwargs); for PyTorch's operators with defaults, and positional where possible."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return node.args, node.kwargs
    args, kwargs = list(node.args), dict(node.kwargs)
    for a in schema.arguments[len(args) :]:
        value = kwargs.pop(a.name, a.default_value)
        if a.kwarg_only:
            kwargs[a.name] = value
        else:
            args.append(value)
    return tuple(args), kwargs
