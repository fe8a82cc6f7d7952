"""Saves exported programs: a zip file with the graph as JSON and the tensors as torch.save writes them.

Loading a file does not run any code in it.
"""

import ast
import io
import json
import math
import operator
import re
import zipfile

import sympy

import torch

from ..fx.graph import Graph
from ..fx.node import Node
from ..utils._sympy.functions import FloorDiv
from ..utils._sympy.numbers import int_oo
from ..utils._sympy.value_ranges import ValueRanges
from ..utils._pytree import treespec_dumps, treespec_loads
from .exported_program import ExportedProgram, Guards, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

_FORMAT = "mindtorch_proxy exported program 2"
_NAMED = (torch.dtype, torch.layout, torch.memory_format)
_OPERATORS = "getitem add sub mul floordiv mod truediv pow neg eq ne lt le gt ge and_ or_ xor lshift rshift abs".split()
_FUNCTIONS = {f"operator.{n}": getattr(operator, n) for n in _OPERATORS}
_FUNCTIONS |= {"math.floor": math.floor, "math.ceil": math.ceil, "math.trunc": math.trunc}
_OF_TORCH = "int float not max min ite sum".split()
_FUNCTIONS |= {f"torch.sym_{n}": getattr(torch, f"sym_{n}") for n in _OF_TORCH}
_FUNCTIONS |= {"torch._sym_sqrt": torch._sym_sqrt, "round": round}
_ARGUMENTS = {c.__name__: c for c in (TensorArgument, SymIntArgument, SymFloatArgument, SymBoolArgument)}


def _encode(value):
    """Convert an argument of a node to JSON values."""
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, (list, tuple)):
        return {"tuple" if isinstance(value, tuple) else "list": [_encode(v) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[_encode(k), _encode(v)] for k, v in value.items()]}
    if isinstance(value, _NAMED):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, slice):
        return {"slice": [_encode(v) for v in (value.start, value.stop, value.step)]}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise NotImplementedError(f"torch.export.save: an argument of type {type(value).__name__}")


def _decode(value, nodes):
    if not isinstance(value, dict):
        return value
    ((kind, v),) = value.items()
    read = {
        "node": lambda: nodes[v],
        "list": lambda: [_decode(x, nodes) for x in v],
        "tuple": lambda: tuple(_decode(x, nodes) for x in v),
        "dict": lambda: {_decode(k, nodes): _decode(x, nodes) for k, x in v},
        "torch": lambda: getattr(torch, v),
        "device": lambda: torch.device(v),
        "float": lambda: float.fromhex(v),
        "complex": lambda: complex(*map(float.fromhex, v)),
        "slice": lambda: slice(*(_decode(x, nodes) for x in v)),
    }
    return read[kind]()


def _function(name):
    """Return the function with a name in a file; apart from those in _FUNCTIONS, only operators are possible."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    place, parts = torch.ops, name.split(".")
    if len(parts) != 3:
        raise ValueError(f"no operator {name!r}")
    for part in parts:
        place = getattr(place, part)
    return place


def _function_name(target):
    return next((n for n, f in _FUNCTIONS.items() if f is target), None) or str(target)


def _encode_argument(a):
    if isinstance(a, ConstantArgument):
        return ["ConstantArgument", a.name, _encode(a.value)]
    return [type(a).__name__, a.name]


def _decode_argument(given, nodes):
    if given[0] == "ConstantArgument":
        return ConstantArgument(given[1], _decode(given[2], nodes))
    return _ARGUMENTS[given[0]](given[1])


def _bytes(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()


def save(program, file, extra_files=None):
    """Write a program to a path or a binary file."""
    nodes = []
    for n in program.graph.nodes:
        target = _function_name(n.target) if n.op == "call_function" else n.target
        nodes.append([n.op, target, _encode(tuple(n.args)), _encode(dict(n.kwargs)), n.name])
    signature, call = program.graph_signature, program.module_call_graph[0].signature
    inputs = [[i.kind.name, _encode_argument(i.arg), i.target, i.persistent] for i in signature.input_specs]
    outputs = [[o.kind.name, _encode_argument(o.arg), o.target] for o in signature.output_specs]
    guards = program._guards
    text = {
        "format": _FORMAT,
        "nodes": nodes,
        "inputs": inputs,
        "outputs": outputs,
        "names": call.forward_arg_names,
        "modules": [e.fqn for e in program.module_call_graph[1:]],
        "in_spec": treespec_dumps(call.in_spec),
        "out_spec": treespec_dumps(call.out_spec),
        "guards": None if guards is None else [guards.names, [t for t, _ in guards.conditions]],
        "ranges": [[str(e), str(r.lower), str(r.upper)] for e, r in program.range_constraints.items()],
        "dialect": program.dialect,
    }
    attributes = {n.target: getattr(program.graph_module, n.target) for n in program.graph.nodes if n.op == "get_attr"}
    tensors = {"state": dict(program.state_dict), "constants": dict(program.constants), "attributes": attributes}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive_format", _FORMAT)
        archive.writestr("models/model.json", json.dumps(text))
        archive.writestr("data/tensors.pt", _bytes(tensors))
        for name, content in (extra_files or {}).items():
            archive.writestr(f"extra/{name}", content if isinstance(content, bytes) else str(content).encode())


def load(file, extra_files=None):
    """Read a program from a file that ``save`` wrote. Raises ValueError for others."""
    with zipfile.ZipFile(file) as archive:
        if (
            "models/model.json" not in archive.namelist()
            or json.loads(archive.read("models/model.json")).get("format") != _FORMAT
        ):
            raise ValueError("torch.export.load: the file was not written by this torch.export.save")
        text = json.loads(archive.read("models/model.json"))
        tensors = torch.load(io.BytesIO(archive.read("data/tensors.pt")), weights_only=True)
        for name in extra_files or ():
            extra_files[name] = archive.read(f"extra/{name}").decode()
    graph, nodes = Graph(), {}
    for op, target, args, kwargs, name in text["nodes"]:
        target = _function(target) if op == "call_function" else target
        nodes[name] = graph.create_node(op, target, _decode(args, nodes), _decode(kwargs, nodes), name)
    inputs = [InputSpec(InputKind[k], _decode_argument(a, nodes), t, p) for k, a, t, p in text["inputs"]]
    outputs = [OutputSpec(OutputKind[k], _decode_argument(a, nodes), t) for k, a, t in text["outputs"]]
    in_spec, out_spec = treespec_loads(text["in_spec"]), treespec_loads(text["out_spec"])
    call = ModuleCallSignature([], [], in_spec, out_spec, text["names"])
    return ExportedProgram(
        tensors["attributes"],
        graph,
        ExportGraphSignature(inputs, outputs),
        tensors["state"],
        {_expression(e): ValueRanges(_expression(a), _expression(b)) for e, a, b in text["ranges"]},
        [ModuleCallEntry("", call), *map(ModuleCallEntry, text["modules"])],
        None,
        tensors["constants"],
        guards=_read_guards(text["guards"]),
        dialect=text["dialect"],
    )


def _expression(text):
    return sympy.sympify(text, {"int_oo": int_oo, "FloorDiv": FloorDiv})


_SAFE = re.compile(r"[\w\s.()\[\]+*/%<>=!,-]*")  # comparisons of sizes


def _read_guards(given):
    """Return the guards of a file; only comparisons of sizes are accepted."""
    if given is None:
        return None
    names, texts = given
    for text in texts:
        called = {
            node.func.attr if isinstance(node.func, ast.Attribute) else ""
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call)
        }
        if not _SAFE.fullmatch(text) or called - {"size"}:
            raise ValueError(f"torch.export.load: {text!r} is no condition on sizes")
    return Guards(names, [(t, compile(t, "<guard>", "eval")) for t in texts])
