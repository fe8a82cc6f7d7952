"""Which ONNX function computes an operator of PyTorch."""

import math
import operator

import torch
from onnxscript._framework_apis import torch_2_9 as onnxscript_apis

OPSET = 18  # of which the functions of onnxscript are


def target_of(name):
    """Return the operator with a name such as aten::add.Tensor, or None where there is none of that name here."""
    namespace, _, rest = name.partition("::")
    if namespace == "_operator":
        return getattr(operator, rest)
    if namespace == "math":
        return getattr(math, rest)
    packet, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
    except (AttributeError, RuntimeError):
        return None


class ONNXRegistry:
    """The ONNX functions of operators: {operator: function}, one table for real and one for complex operands."""

    def __init__(self, opset_version=OPSET):
        self.opset_version = opset_version
        self.functions, self.complex_functions = {}, {}

    @classmethod
    def from_torchlib(cls, opset_version=OPSET):
        """Return a registry with onnxscript's functions for the operators that exist here."""
        registry = cls(opset_version)
        for entry in onnxscript_apis.get_torchlib_ops():
            target = target_of(entry.qualified_name)
            if target is not None:
                registry._table(entry.is_complex).setdefault(target, entry.function)
        return registry

    def _table(self, is_complex):
        return self.complex_functions if is_complex else self.functions

    def register_op(self, target, function, is_complex=False):
        """Let a function compute an operator (an OpOverload or a Python function), before any other.

        Raises:
            TypeError: if target is a packet of overloads.
        """
        if isinstance(target, torch._ops.OpOverloadPacket):
            raise TypeError(
                f"Target '{target}' should be provided as an OpOverload instead of an OpOverloadPacket. You can get "
                "the default overload with <op>.default"
            )
        self._table(is_complex)[target] = function

    def find(self, node):
        """Return the function for a node of a graph, or None."""
        return self._table(any(_is_complex(arg) for arg in (*node.args, *node.kwargs.values()))).get(node.target)

    def is_registered(self, target):
        """Whether there is a function for an operator."""
        return target in self.functions or target in self.complex_functions


def _is_complex(arg):
    if isinstance(arg, (list, tuple)):
        return any(map(_is_complex, arg))
    example = arg.meta.get("val") if isinstance(arg, torch.fx.Node) else None
    return isinstance(example, torch.Tensor) and example.is_complex()
