"""Types of what is taken out of values of known types."""

import operator
import typing

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph):
    """Give nodes that take an item of a tuple, a list or a named tuple with a type of its own that of the item."""
    for node in graph.nodes:
        if node.target is not operator.getitem or len(node.args) != 2:
            continue
        sequence, index = node.args
        kind = getattr(sequence, "type", None)
        if kind is None:
            continue
        if typing.get_origin(kind) in (tuple, list):
            types = typing.get_args(kind)
            node.type = types[0] if len(types) == 1 or types[1] is ... else types[index]
        elif isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "__annotations__"):
            node.type = list(kind.__annotations__.values())[index]
