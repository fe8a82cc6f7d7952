"""Runs the functions of onnxscript so that they leave nodes of an ONNX graph instead of computing."""

import onnx_ir as ir
import torch
from onnxscript import evaluator

from ._errors import GraphConstructionError
from ._values import TorchTensor, Value

_NUMBERS = bool, int, float, complex
# the dtype of a constant that no other operand decides
_OF_PYTHON = {
    bool: ir.DataType.BOOL,
    int: ir.DataType.INT64,
    float: ir.DataType.FLOAT,
    complex: ir.DataType.FLOAT,
    str: ir.DataType.STRING,
}


def bind(signature, args, kwargs):
    """Return ([(parameter, operand)], {attribute's name: value}) of a call; unknown keyword arguments are dropped."""
    operands, attributes, given = [], {}, list(args)
    for parameter in signature.params:
        if parameter.is_param() and parameter.variadic:
            operands += [(parameter, given.copy())]
            given.clear()
            continue
        if given:
            value = given.pop(0)
        elif parameter.name in kwargs:
            value = kwargs[parameter.name]
        elif parameter.is_param():
            if parameter.required:
                raise TypeError(f"{signature.name}: the operand '{parameter.name}' is missing")
            value = None
        else:
            value = parameter.default
            if value is None and parameter.required:
                raise TypeError(f"{signature.name}: the attribute '{parameter.name}' is missing")
        if parameter.is_param():
            operands.append((parameter, value))
        elif value is not None:
            attributes[parameter.name] = _attribute(parameter, value)
    return operands, attributes


def _attribute(parameter, value):
    if isinstance(value, ir.Attr):  # a default: it has the value, and possibly another name
        value = value.value
    if parameter.type == ir.AttributeType.FLOAT and isinstance(value, int):
        return float(value)
    return value


def _takes_sequences(parameter):
    return all(isinstance(kind, ir.SequenceType) for kind in parameter.type_constraint.allowed_types)


class Recorder(evaluator.Evaluator):
    """An evaluator of onnxscript that appends what is called to `nodes`.

    functions: {identifier: function} of the functions that are called as a whole. constants: {key: value}, shared
    by all recorders of a graph, so that each constant is there once.
    """

    def __init__(self, opset, constants):
        self.opset, self.constants = opset, constants
        self.nodes, self.functions = [], {}

    # -------------------------------------------------------------------------------- onnxscript's calls
    def eval_op(self, op, args, kwargs):
        """Append a node for a call of an ONNX operator, and return its value, or a tuple of them."""
        signature = op.op_signature
        if signature is None:
            raise GraphConstructionError(f"ONNX has no operator '{op.name}' in opset {op.opset.version}")
        operands, attributes = bind(signature, args, kwargs)
        return self._node(signature, operands, attributes, _results(signature, attributes))

    def eval_function(self, function, args, kwargs):
        """Append a node that calls a function of onnxscript, which becomes a function of the model."""
        signature = function.op_signature
        operands, attributes = bind(signature, args, kwargs)
        if function.traceable:
            return function.function(**{parameter.name: value for parameter, value in operands}, **attributes)
        self.functions[function.function_ir.domain, function.name, ""] = function
        return self._node(signature, operands, attributes, len(signature.outputs))

    # ------------------------------------------------------------------------------------------------ nodes
    def _node(self, signature, operands, attributes, results):
        single = [(p, v) for p, value in operands for v in (value if p.variadic else [value])]
        known = {p.type_constraint.name: v.type for p, v in single if isinstance(v, ir.Value) and v.type is not None}
        inputs = [self._operand(parameter, value, known) for parameter, value in single]
        while inputs and inputs[-1] is None:
            inputs.pop()
        node = ir.Node(
            signature.domain,
            signature.name,
            inputs=inputs,
            attributes=ir.convenience.convert_attributes(attributes),
            outputs=[Value(self.opset) for _ in range(results)],
            version=signature.since_version,
        )
        self.nodes.append(node)
        return node.outputs[0] if results == 1 else tuple(node.outputs)

    def _operand(self, parameter, value, known):
        """Return the ONNX value for an operand: a value, a number, a tensor, or a list of such, or None."""
        if value is None or isinstance(value, ir.Value):
            return value
        if isinstance(value, torch.Tensor):
            value = TorchTensor(value)
        if isinstance(value, ir.TensorProtocol):
            return self.opset.Constant(value=value)
        if isinstance(value, (list, tuple)) and _takes_sequences(parameter):
            return self.opset.SequenceConstruct(*value) if value else self.opset.SequenceEmpty()
        dtype = self._dtype(parameter, value, known)
        if isinstance(value, (list, tuple)) and any(isinstance(v, (ir.Value, ir.TensorProtocol)) for v in value):
            parts = [self._row(v, dtype) for v in value if v is not None]
            return self.opset.Concat(*parts, axis=0)
        return self.constant(value, dtype)

    def _row(self, value, dtype):
        """Return a value with one dimension, of which several are joined."""
        if isinstance(value, ir.TensorProtocol):
            value = self.opset.Constant(value=value)
        if not isinstance(value, ir.Value):
            return self.constant([value], dtype)
        return self.opset.Reshape(value, self.constant([-1], ir.DataType.INT64))

    def _dtype(self, parameter, value, known):
        """Return the dtype of a constant: that of the operands of the same type, or the only one, or Python's."""
        constraint = parameter.type_constraint
        if constraint.name in known:
            return known[constraint.name].dtype
        if len(constraint.allowed_types) == 1:
            return next(iter(constraint.allowed_types)).dtype
        if not isinstance(value, (list, tuple)):
            return _OF_PYTHON[type(value)]
        for v in value:
            if isinstance(v, ir.Value) and v.dtype is not None:
                return v.dtype
        if any(isinstance(v, float) for v in value):
            return ir.DataType.FLOAT
        return ir.DataType.BOOL if value and all(isinstance(v, bool) for v in value) else ir.DataType.INT64

    def constant(self, value, dtype):
        """Return the constant with a value (a number, a string, or a list of numbers) and dtype."""
        if isinstance(value, complex):
            value = value.real, value.imag
        value = tuple(value) if isinstance(value, list) else value
        key = repr(value), dtype  # repr tells 0.0 from -0.0, and 1 from True
        if key not in self.constants:
            self.constants[key] = self.opset.Constant(value=ir.tensor(value, dtype=dtype))
        return self.constants[key]


def _results(signature, attributes):
    """Return how many results a node has; for two operators their number depends on attributes."""
    if signature.domain == "" and signature.name == "Split":
        return attributes["num_outputs"]
    if signature.domain == "" and signature.name == "BatchNormalization" and not attributes.get("training_mode"):
        return 1
    return len(signature.outputs)
