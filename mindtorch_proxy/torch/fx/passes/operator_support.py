"""Which nodes a backend can run."""

import abc

from ..node import Node
from .shape_prop import TensorMetadata
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]


class OperatorSupportBase(abc.ABC):
    """Says of nodes whether they can be run."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        """Whether a node can be run; submodules: the graph's, by name."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """By a table: to what a node calls, as get_node_target names it, the dtypes of its arguments ((positional ones),
    {keyword ones}); None: all.
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
    """An OperatorSupportBase of a function ``(submodules, node) -> bool``."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules, node):
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support):
    """What all of them say can be run."""
    return create_op_support(lambda submodules, node: all(s.is_node_supported(submodules, node) for s in op_support))


def any_chain(*op_support):
    """What one of them says can be run."""
    return create_op_support(lambda submodules, node: any(s.is_node_supported(submodules, node) for s in op_support))


class OpSupports:
    """Parts for ``chain``."""

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """Not what has an argument of the dtype."""
        return create_op_support(lambda submodules, node: all(_get_arg_dtype(n) != dtype for n in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """Not the nodes of these names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)


def _get_arg_dtype(arg):
    """The dtype that ShapeProp found, or the class of what is no tensor."""
    if not isinstance(arg, Node):
        raise AssertionError(f"Expected torch.fx.Node, got {type(arg)}")
    meta = arg.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else arg.meta["type"]
