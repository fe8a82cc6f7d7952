"""The backward pass of a stage in two parts: the gradients of its inputs, and later those of its parameters.

A node of the graph that an input's gradient passes computes the gradients of the parameters that hang on it too, if it
is asked. The first part does not ask; it keeps what comes to such nodes, and the second part begins there. Parameters
that hang on several such nodes (tied ones) or on none get their gradients in the first part.
"""

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge


def _edges(node):
    return [(n, i) for n, i in node.next_functions if n is not None]


def _below(roots):
    """Return all nodes that can be reached from the given ones, each before those that lead to it."""
    found, stack = {}, [(n, False) for n in roots]
    while stack:
        node, left = stack.pop()
        if left:
            found[node] = None
        elif node not in found:
            stack.append((node, True))
            stack += [(n, False) for n, _ in _edges(node) if n not in found]
    return list(found)


def _hanging(nodes, passed, leaves):
    """Return {node: leaves} for the nodes that inputs' gradients pass, and the leaves that more or fewer lead to."""
    under: dict = {}  # leaves under a node that no input's gradient passes
    for node in nodes:
        if node not in passed:
            found = {node} if node in leaves else set()
            under[node] = found.union(*(under.get(n, ()) for n, _ in _edges(node)))
    parents: dict = {}
    for node in passed:
        for n, _ in _edges(node):
            for leaf in under.get(n, ()):
                parents.setdefault(leaf, set()).add(node)
    own: dict = {}
    for leaf, found in parents.items():
        if len(found) == 1:
            own.setdefault(next(iter(found)), []).append(leaf)
    placed = {leaf for found in own.values() for leaf in found}
    return own, [leaf for leaf in leaves if leaf not in placed]


class SplitBackward:
    """The backward pass of one microbatch through a stage.

    outputs: tensors with a graph; gradients: theirs, None for a number; inputs: whose gradients come first.
    """

    def __init__(self, outputs, gradients, inputs, parameters):
        roots = [get_gradient_edge(t) for t in outputs]
        nodes = _below([r.node for r in roots])
        leaves = {get_gradient_edge(p).node: p for p in parameters if p.requires_grad}
        starts = [get_gradient_edge(t).node for t in inputs]
        passed = set()
        for node in nodes:
            if node in starts or any(n in passed for n, _ in _edges(node)):
                passed.add(node)
        own, others = _hanging(nodes, passed, leaves)
        into: dict = {}  # the outputs of a node that something leads to
        for node, i in [(r.node, r.output_nr) for r in roots] + [e for n in nodes for e in _edges(n)]:
            if node in own and i not in into.setdefault(node, []):
                into[node].append(i)
        edges = [GradientEdge(n, i) for n, numbers in into.items() for i in numbers]
        others = [leaves[n] for n in others if n in nodes]
        found = torch.autograd.grad(
            outputs, [*inputs, *others, *edges], gradients, retain_graph=True, allow_unused=True
        )
        self.inputs = found[: len(inputs)]
        self._accumulate(others, found[len(inputs) : len(found) - len(edges)])
        arrived = {(e.node, e.output_nr): g for e, g in zip(edges, found[len(found) - len(edges) :])}
        self._left = [
            ([(GradientEdge(n, i), arrived[n, i]) for i in into[n] if arrived[n, i] is not None], found_leaves)
            for n, found_leaves in ((n, [leaves[leaf] for leaf in own[n]]) for n in into)
        ]
        self._outputs = outputs  # the graph

    @staticmethod
    def _accumulate(parameters, gradients):
        for p, g in zip(parameters, gradients):
            if g is not None:
                p.grad = g if p.grad is None else p.grad + g

    def finish(self):
        """Compute the gradients of the parameters, and let go of the graph."""
        with torch.no_grad():
            for begun, parameters in self._left:
                if begun:
                    edges, gradients = zip(*begun)
                    found = torch.autograd.grad(edges, parameters, gradients, retain_graph=True, allow_unused=True)
                    self._accumulate(parameters, found)
        self._left = self._outputs = None
