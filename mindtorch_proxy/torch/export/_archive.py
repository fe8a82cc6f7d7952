"""Saves exported programs: a zip file with the graph as JSON and the tensors as torch.save writes them.

Loading a file does not run any code in it.
"""

import io
import json
import operator
import zipfile

import torch

from ..fx.graph import Graph
from ..fx.node import Node
from ..utils._pytree import treespec_dumps, treespec_loads
from .exported_program import CallSpec, ExportedProgram, _check_shapes, _outputs
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, InputSpec, TensorArgument

_FORMAT = "mindtorch_proxy exported program 1"
_NAMED = (torch.dtype, torch.layout, torch.memory_format)
_FUNCTIONS = {"operator.getitem": operator.getitem, "check_shapes": _check_shapes}


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


def _bytes(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()


def save(program, file, extra_files=None):
    """Write a program to a path or a binary file."""
    nodes = []
    for n in program.graph.nodes:
        target = _function_name(n.target) if n.op == "call_function" else n.target
        nodes.append([n.op, target, _encode(tuple(n.args)), _encode(dict(n.kwargs)), n.name, n.meta.get("shape")])
    inputs = []
    for s in program.graph_signature.input_specs:
        constant = [_encode(s.arg.value)] if isinstance(s.arg, ConstantArgument) else None
        inputs.append([s.kind.name, s.arg.name, s.target, s.persistent, constant])
    spec = program.call_spec
    text = {
        "format": _FORMAT,
        "nodes": nodes,
        "inputs": inputs,
        "names": program._names,
        "in_spec": treespec_dumps(spec.in_spec),
        "out_spec": treespec_dumps(spec.out_spec),
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
    for op, target, args, kwargs, name, shape in text["nodes"]:
        target = _function(target) if op == "call_function" else target
        nodes[name] = graph.create_node(op, target, _decode(args, nodes), _decode(kwargs, nodes), name)
        nodes[name].meta |= {} if shape is None else {"shape": shape}
    specs = []
    for kind, name, target, persistent, constant in text["inputs"]:
        argument = TensorArgument(name) if constant is None else ConstantArgument(name, _decode(constant[0], nodes))
        specs.append(InputSpec(InputKind[kind], argument, target, persistent))
    signature = ExportGraphSignature(specs, _outputs(graph))
    call = CallSpec(treespec_loads(text["in_spec"]), treespec_loads(text["out_spec"]))
    return ExportedProgram(
        tensors["attributes"], graph, signature, tensors["state"], tensors["constants"], call, text["names"]
    )
