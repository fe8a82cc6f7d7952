"""Graphs of exported programs as JSON values, in the schema of PyTorch's .pt2 files (version 8.20 of PyTorch 2.13)."""

import math
import operator

import torch

from ..fx.node import Node
from ..utils._pytree import treespec_dumps
from . import _expressions
from .graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

SCHEMA_VERSION = {"major": 8, "minor": 20}
DTYPES = {
    torch.uint8: 1,
    torch.int8: 2,
    torch.int16: 3,
    torch.int32: 4,
    torch.int64: 5,
    torch.float16: 6,
    torch.float32: 7,
    torch.float64: 8,
    torch.complex32: 9,
    torch.complex64: 10,
    torch.complex128: 11,
    torch.bool: 12,
    torch.bfloat16: 13,
    torch.uint16: 28,
    torch.float8_e4m3fn: 29,
    torch.float8_e5m2: 30,
    torch.float8_e4m3fnuz: 31,
    torch.float8_e5m2fnuz: 32,
    torch.float8_e8m0fnu: 33,
    torch.uint32: 34,
    torch.uint64: 35,
}
LAYOUTS = {torch.sparse_coo: 1, torch.sparse_csr: 2, torch.sparse_csc: 3, torch.sparse_bsr: 4, torch.sparse_bsc: 5}
LAYOUTS |= {torch._mkldnn: 6, torch.strided: 7}
FORMATS = {torch.contiguous_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3, torch.preserve_format: 4}
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_KINDS = {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}


def number(value):
    """Return a float as JSON has it."""
    return "Infinity" if value == math.inf else "-Infinity" if value == -math.inf else value


def symbolic(value):
    """Return a symbolic number, or a plain one, as JSON."""
    if not isinstance(value, _SYMBOLIC):
        kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"
        return {f"as_{kind}": value}
    kind, hint = _KINDS[type(value)], value.node.hint
    given = {"expr_str": _expressions.written(value.node.expr), "hint": None if hint is None else {f"as_{kind}": hint}}
    return {"as_expr": given}


def device(d):
    """Return a device as JSON."""
    return {"type": d.type, "index": d.index}


def tensor_meta(t):
    """Return a tensor's dtype, geometry and device as JSON."""
    return {
        "dtype": DTYPES[t.dtype],
        "sizes": [symbolic(n) for n in t.shape],
        "requires_grad": t.requires_grad,
        "device": device(t.device),
        "strides": [symbolic(n) for n in t.stride()],
        "storage_offset": symbolic(t.storage_offset()),
        "layout": LAYOUTS[t.layout],
    }


class GraphWriter:
    """Collects the nodes of a graph and the values that they have."""

    def __init__(self):
        self.nodes, self.tensors, self.numbers = [], {}, {"int": {}, "float": {}, "bool": {}}

    def graph(self, graph, inputs):
        """Return a graph as JSON. inputs: the descriptions of its arguments."""
        placeholders = [n for n in graph.nodes if n.op == "placeholder"]
        given = [self._input(n, s) for n, s in zip(placeholders, inputs)]
        for node in graph.nodes:
            if node.op == "call_function" and node.target is not operator.getitem:
                self._node(node)
            elif node.op not in ("placeholder", "output", "call_function"):
                raise NotImplementedError(f"torch.export.save: a node {node.op} of {node.target}")
        return {
            "inputs": given,
            "outputs": [self.argument(v) for v in graph.output_node().args[0]],
            "nodes": self.nodes,
            "tensor_values": self.tensors,
            "sym_int_values": self.numbers["int"],
            "sym_bool_values": self.numbers["bool"],
            "is_single_tensor_return": False,
            "custom_obj_values": {},
            "sym_float_values": self.numbers["float"],
        }

    def _input(self, node, spec):
        if isinstance(spec.arg, ConstantArgument):
            return self.argument(spec.arg.value)
        return self._named(node.name, node.meta["val"])

    def _named(self, name, value):
        """Note the value of a node, and return its reference."""
        if isinstance(value, torch.Tensor):
            self.tensors[name] = tensor_meta(value)
            return {"as_tensor": {"name": name}}
        kind = _KINDS.get(type(value)) or {int: "int", bool: "bool", float: "float"}[type(value)]
        self.numbers[kind][name] = symbolic(value)
        return {f"as_sym_{kind}": {"as_name": name}}

    def _node(self, node):
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            names = "abcdef"
            inputs = [{"name": names[i], "arg": self.argument(a), "kind": 1} for i, a in enumerate(node.args)]
            target = f"{node.target.__module__}.{node.target.__name__}"
        else:
            inputs, target = self._inputs(node, schema), f"torch.ops.{node.target}"
        outputs = self._outputs(node, schema)
        self.nodes.append(
            {
                "target": target,
                "inputs": inputs,
                "outputs": outputs,
                "metadata": {},
                "is_hop_single_tensor_return": None,
                "name": node.name,
            }
        )

    def _inputs(self, node, schema):
        found, position = [], 0
        for a in schema.arguments:
            if a.name in node.kwargs:
                found.append({"name": a.name, "arg": self.argument(node.kwargs[a.name], a), "kind": 2})
            elif not a.kwarg_only and position < len(node.args):
                found.append({"name": a.name, "arg": self.argument(node.args[position], a), "kind": 1})
            position += not a.kwarg_only
        return found

    def _outputs(self, node, schema):
        value = node.meta.get("val")
        if value is None or schema is not None and not schema.returns:
            return []
        if not isinstance(value, (list, tuple)):
            return [self._named(node.name, value)]
        users = {u.args[1]: u for u in node.users if u.target is operator.getitem}
        names = [users[i].name if i in users else f"{node.name}_unused_{i}" for i in range(len(value))]
        named = [self._named(n, v) for n, v in zip(names, value) if v is not None]
        if schema is not None and len(schema.returns) == 1:
            return [{"as_tensors": [n["as_tensor"] for n in named]}]
        return named

    # -------------------------------------------------------------------------------------------- arguments
    def argument(self, v, declared=None):
        """Return an argument of a node as JSON; declared: the argument of the schema."""
        if isinstance(v, (list, tuple)):
            return self._sequence(list(v), declared)
        if isinstance(v, Node):
            return self._reference(v)
        return _plain(v)

    def _reference(self, node):
        value = node.meta.get("val")
        kind = _KINDS.get(type(value))
        if kind is None and isinstance(value, (int, float)):
            kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"
        return {"as_tensor": {"name": node.name}} if kind is None else {f"as_sym_{kind}": {"as_name": node.name}}

    def _sequence(self, items, declared):
        optional = declared is not None and declared.base.endswith("?")
        nodes = [i for i in items if isinstance(i, Node)]
        if not nodes and not (optional and any(i is None for i in items)):
            return self._plain_sequence(items)
        refs = [self._reference(i) if isinstance(i, Node) else None for i in items]
        if all(r is None or "as_tensor" in r for r in refs) and len(nodes) + items.count(None) == len(items):
            if optional or None in refs:
                return {"as_optional_tensors": [{"as_none": True} if r is None else r for r in refs]}
            return {"as_tensors": [r["as_tensor"] for r in refs]}
        kind = next(k for r in refs if r is not None for k in r).removeprefix("as_sym_")
        plain = [{f"as_{kind}": i} if r is None else r[f"as_sym_{kind}"] for r, i in zip(refs, items)]
        return {f"as_sym_{kind}s": plain}

    def _plain_sequence(self, items):
        for kind, name in ((bool, "as_bools"), (int, "as_ints"), (float, "as_floats"), (str, "as_strings")):
            if all(isinstance(i, kind) for i in items) and (kind is not int or not any(i is True for i in items)):
                return {name if items else "as_ints": [number(i) if kind is float else i for i in items]}
        if all(isinstance(i, (int, float)) for i in items):
            return {"as_floats": [number(float(i)) for i in items]}
        raise NotImplementedError(f"torch.export.save: an argument {items}")


_AS = {bool: "as_bool", int: "as_int", str: "as_string"}


def _plain(v):
    """Return an argument that is no node as JSON."""
    if v is None:
        return {"as_none": True}
    if type(v) in _AS:
        return {_AS[type(v)]: v}
    if isinstance(v, float):
        return {"as_float": number(v)}
    if isinstance(v, complex):
        return {"as_complex": {"real": v.real, "imag": v.imag}}
    if isinstance(v, torch.device):
        return {"as_device": device(v)}
    for table, name in ((DTYPES, "as_scalar_type"), (LAYOUTS, "as_layout"), (FORMATS, "as_memory_format")):
        if isinstance(v, type(next(iter(table)))) and v in table:
            return {name: table[v]}
    raise NotImplementedError(f"torch.export.save: an argument of type {type(v).__name__}")


# ------------------------------------------------------------------------------------------------ signatures
_SPECS = {SymIntArgument: "as_sym_int", SymFloatArgument: "as_sym_float", SymBoolArgument: "as_sym_bool"}


def described(a):
    """Return the description of an argument or a result as JSON."""
    if isinstance(a, ConstantArgument):
        return _plain(a.value)
    if isinstance(a, TensorArgument):
        return {"as_tensor": {"name": a.name}}
    return {_SPECS[type(a)]: {"as_name": a.name}}


def _input_spec(s):
    if s.kind is InputKind.PARAMETER:
        return {"parameter": {"arg": {"name": s.arg.name}, "parameter_name": s.target}}
    if s.kind is InputKind.BUFFER:
        return {"buffer": {"arg": {"name": s.arg.name}, "buffer_name": s.target, "persistent": bool(s.persistent)}}
    if s.kind is InputKind.CONSTANT_TENSOR:
        return {"tensor_constant": {"arg": {"name": s.arg.name}, "tensor_constant_name": s.target}}
    if s.kind is not InputKind.USER_INPUT:
        raise NotImplementedError(f"torch.export.save: an input {s.kind.name}")
    if isinstance(s.arg, ConstantArgument):
        return {"constant_input": {"name": s.arg.name, "value": _plain(s.arg.value)}}
    return {"user_input": {"arg": described(s.arg)}}


def _output_spec(s):
    if s.kind is OutputKind.USER_OUTPUT:
        return {"user_output": {"arg": described(s.arg)}}
    names = {
        OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
        OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
        OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
    }
    if s.kind not in names:
        raise NotImplementedError(f"torch.export.save: an output {s.kind.name}")
    kind, target = names[s.kind]
    return {kind: {"arg": {"name": s.arg.name}, target: s.target}}


def _call(entry):
    s = entry.signature
    if s is None:
        return {"fqn": entry.fqn, "signature": None}
    given = {
        "inputs": [described(a) for a in s.inputs],
        "outputs": [described(a) for a in s.outputs],
        "in_spec": treespec_dumps(s.in_spec, 1),
        "out_spec": treespec_dumps(s.out_spec, 1),
        "forward_arg_names": s.forward_arg_names,
    }
    return {"fqn": entry.fqn, "signature": given}


def _bound(n):
    return int(n) if getattr(n, "is_Integer", isinstance(n, int)) else None


def program(ep, guards):
    """Return an exported program as JSON. guards: conditions on the arguments as PyTorch writes them."""
    signature = ep.graph_signature
    return {
        "graph_module": {
            "graph": GraphWriter().graph(ep.graph, signature.input_specs),
            "signature": {
                "input_specs": list(map(_input_spec, signature.input_specs)),
                "output_specs": list(map(_output_spec, signature.output_specs)),
            },
            "module_call_graph": list(map(_call, ep.module_call_graph)),
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": {
            str(e): {"min_val": _bound(r.lower), "max_val": _bound(r.upper)} for e, r in ep.range_constraints.items()
        },
        "schema_version": SCHEMA_VERSION,
        "verifiers": [ep.dialect],
        "torch_version": torch.__version__,
        "guards_code": guards,
    }
