"""Which nodes a backend supports."""

import abc

from ..node import Node
from .shape_prop import TensorMetadata
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]


class OperatorSupportBase(abc.ABC):
    """Base class that decides which nodes are supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        """Whether a node is supported; ``submodules`` are the graph's submodules by name."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """Support by a table with the names of get_node_target as keys.

    The values are the allowed dtypes of arguments, ((positional), {keyword}), or None for all.
    """

    def __init__(self, support_dict=None):
        self._support_dict = getattr(self, "_support_dict", {}) if support_dict is None else support_dict

    def is_node_supported(self, submodules, node):
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        if self._support_dict[target] is None:
            return True
        positional, named = self._support_dict[target]
        pairs = [*zip(node.args, positional), *((node.kwargs[k], v) for k, v in named.items() if k in node.kwargs)]
        return all(dtypes is None or not isinstance(a, Node) or _get_arg_dtype(a) in dtypes for a, dtypes in pairs)


def create_op_support(is_node_supported):
    """Return an OperatorSupportBase for a function ``(submodules, node) -> bool``."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules, node):
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support):
    """Return the support of nodes that all given supports accept."""
    return create_op_support(lambda submodules, node: all(s.is_node_supported(submodules, node) for s in op_support))


def any_chain(*op_support):
    """Return the support of nodes that any given support accepts."""
    return create_op_support(lambda submodules, node: any(s.is_node_supported(submodules, node) for s in op_support))


class OpSupports:
    """Predefined supports, for use with ``chain``."""

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """Reject nodes that have an argument of the dtype."""
        return create_op_support(lambda submodules, node: all(_get_arg_dtype(n) != dtype for n in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """Reject nodes with these names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)


def _get_arg_dtype(arg):
    """Return the dtype found by ShapeProp, or the class of a value that is not a tensor."""
    if not isinstance(arg, Node):
        raise AssertionError(f"Expected torch.fx.Node, got {type(arg)}")
    meta = arg.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else arg.meta["type"]
