"""Exported programs from the JSON of PyTorch's .pt2 files. Nothing in a file is run as code."""

import builtins
import math
import operator
import re

import sympy

import torch

from .._subclasses.fake_tensor import FakeTensorMode
from ..fx.experimental._shape_env import ShapeEnv, int_oo
from ..fx.experimental.sym_node import SymNode
from ..fx.graph import Graph
from ..utils._pytree import treespec_loads
from ..utils._sympy.value_ranges import ValueRanges
from . import _expressions
from ._serialize import DTYPES, FORMATS, LAYOUTS
from .exported_program import ModuleCallEntry, ModuleCallSignature
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

_DTYPES, _LAYOUTS, _FORMATS = ({v: k for k, v in t.items()} for t in (DTYPES, LAYOUTS, FORMATS))
_TYPES = {"int": int, "float": float, "bool": bool}
_CLASSES = {"int": torch.SymInt, "float": torch.SymFloat, "bool": torch.SymBool}
_ARGUMENTS = {"int": SymIntArgument, "float": SymFloatArgument, "bool": SymBoolArgument}


def number(v):
    """Return a float from JSON."""
    return {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}[v] if isinstance(v, str) else float(v)


def function(name):
    """Return the function of a node: an operator, or one of Python's and torch's functions on numbers."""
    parts = name.split(".")
    if parts[:2] == ["torch", "ops"] and len(parts) == 5:
        place = torch.ops
        for part in parts[2:]:
            place = getattr(place, part)
        return place
    if parts[0] == "_operator" and len(parts) == 2 and hasattr(operator, parts[1]):
        return getattr(operator, parts[1])
    if parts[0] == "math" and parts[1] in ("floor", "ceil", "trunc"):
        return getattr(math, parts[1])
    if parts[0] == "torch" and re.fullmatch("_?sym_[a-z_0-9]+", parts[-1]):
        return getattr(torch, parts[-1])
    if name == "builtins.round":
        return builtins.round
    raise ValueError(f"torch.export.load: no operator {name!r}")


class GraphReader:
    """Builds a graph with fake values from JSON."""

    def __init__(self, given):
        self.env = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True)
        self.symbols, self.graph, self.nodes = {}, Graph(), {}
        self.given = given["graph_module"]["graph"]
        self.ranges = given["range_constraints"]

    # -------------------------------------------------------------------------------------------- values
    def expression(self, text, hint=None):
        """Return an expression of a file, and note its symbols."""
        expr = _expressions.read(text, self.symbols)
        for s in getattr(expr, "free_symbols", ()):
            if s.name not in self.symbols:
                self._note(s)
        if isinstance(expr, sympy.Symbol) and hint is not None:
            self.env.backed_var_to_val.setdefault(expr, sympy.Integer(int(hint)))
        return expr

    def _note(self, s):
        self.symbols[s.name] = s
        self.env._add(s, None, None)
        r = self.ranges.get(s.name, {})
        low, high = r.get("min_val"), r.get("max_val")
        if s.name.startswith("zuf"):
            self.env.var_to_range[s] = ValueRanges(-sympy.oo, sympy.oo)
            return
        least = -int_oo if not s.is_nonnegative else 0
        self.env.var_to_range[s] = ValueRanges(least if low is None else low, int_oo if high is None else high)
        if s.name.startswith("u") and low is not None and low >= 0:
            self.env.size_like.add(s)

    def symbolic(self, given, kind="int"):
        """Return a symbolic number, or a plain one."""
        if "as_expr" not in given:
            return _TYPES[kind](next(iter(given.values())))
        e = given["as_expr"]
        hint = None if e.get("hint") is None else next(iter(e["hint"].values()))
        expr = self.expression(e["expr_str"], hint)
        if getattr(expr, "is_number", False):
            return _TYPES[kind](expr)
        return _CLASSES[kind](SymNode(expr, self.env, _TYPES[kind]))

    def tensor(self, meta):
        """Return a fake tensor."""
        sizes, strides = ([self.symbolic(n) for n in meta[k]] for k in ("sizes", "strides"))
        with self.mode, self.env.in_framework():
            t = torch.empty_strided(
                sizes, strides, dtype=_DTYPES[meta["dtype"]], device=torch.device(_device(meta["device"]))
            )
        return t.requires_grad_() if meta["requires_grad"] and t.dtype.is_floating_point else t

    def value(self, name):
        """Return the fake value of a node."""
        if name in self.given["tensor_values"]:
            return self.tensor(self.given["tensor_values"][name])
        for kind in _TYPES:
            if name in self.given.get(f"sym_{kind}_values", {}):
                return self.symbolic(self.given[f"sym_{kind}_values"][name], kind)
        return None

    # -------------------------------------------------------------------------------------------- nodes
    def read(self, inputs):
        """Return the graph. inputs: the names of its arguments."""
        for name in inputs:
            node = self.nodes[name] = self.graph.placeholder(name)
            node.meta["val"] = self.value(name)
        for n in self.given["nodes"]:
            self._node(n)
        self.graph.output(tuple(self.argument(a) for a in self.given["outputs"]))
        return self.graph

    def _node(self, n):
        target = function(n["target"])
        args = tuple(self.argument(i["arg"]) for i in n["inputs"] if i.get("kind") != 2)
        kwargs = {i["name"]: self.argument(i["arg"]) for i in n["inputs"] if i.get("kind") == 2}
        outputs = n["outputs"]
        single = len(outputs) == 1 and "as_tensors" not in outputs[0]
        name = _name(outputs[0]) if single else n.get("name")
        node = self.graph.create_node("call_function", target, args, kwargs, name)
        if single:
            self.nodes[name] = node
            node.meta["val"] = self.value(name)
            return
        parts = outputs[0]["as_tensors"] if len(outputs) == 1 else outputs
        names = [p["name"] if "name" in p else _name(p) for p in parts]
        values = []
        for i, part in enumerate(names):
            values.append(self.value(part))
            if f"{node.name}_unused_" not in part:
                item = self.graph.create_node("call_function", operator.getitem, (node, i), {}, part)
                self.nodes[part], item.meta["val"] = item, values[-1]
        if values:
            node.meta["val"] = tuple(values) if len(outputs) > 1 else values

    def argument(self, a):
        """Return an argument of a node."""
        ((kind, v),) = a.items()
        if kind.startswith("as_sym_"):
            return [self._number(x) for x in v] if kind.endswith("s") else self._number(v)
        read = _READ.get(kind)
        if read is None:
            raise NotImplementedError(f"torch.export.load: an argument {kind}")
        return read(self, v)

    def _number(self, v):
        return self.nodes[v["as_name"]] if "as_name" in v else next(iter(v.values()))


def _name(output):
    v = next(iter(output.values()))
    return v["name"] if "name" in v else v["as_name"]


def _device(v):
    return v["type"] if v["index"] is None else f"{v['type']}:{v['index']}"


def _same(reader, v):
    return v


_READ = {
    **dict.fromkeys(("as_int", "as_ints", "as_bool", "as_bools", "as_string", "as_strings", "as_int_lists"), _same),
    "as_none": lambda r, v: None,
    "as_tensor": lambda r, v: r.nodes[v["name"]],
    "as_tensors": lambda r, v: [r.nodes[t["name"]] for t in v],
    "as_optional_tensors": lambda r, v: [r.argument(t) for t in v],
    "as_optional_tensor": lambda r, v: r.argument(v),
    "as_nested_tensors": lambda r, v: [[r.nodes[t["name"]] for t in part] for part in v],
    "as_float": lambda r, v: number(v),
    "as_floats": lambda r, v: list(map(number, v)),
    "as_complex": lambda r, v: complex(v["real"], v["imag"]),
    "as_scalar_type": lambda r, v: _DTYPES[v],
    "as_layout": lambda r, v: _LAYOUTS[v],
    "as_memory_format": lambda r, v: _FORMATS[v],
    "as_device": lambda r, v: torch.device(_device(v)),
}


# ------------------------------------------------------------------------------------------------ signatures
def described(a):
    """Return the description of an argument or a result."""
    ((kind, v),) = a.items()
    if kind == "as_tensor":
        return TensorArgument(v["name"])
    if kind.startswith("as_sym_"):
        return _ARGUMENTS[kind[7:]](v["as_name"]) if "as_name" in v else ConstantArgument("", next(iter(v.values())))
    return ConstantArgument("", None if kind == "as_none" else number(v) if kind == "as_float" else v)


def _input_spec(given):
    ((kind, v),) = given.items()
    if kind == "user_input":
        return InputSpec(InputKind.USER_INPUT, described(v["arg"]), None)
    if kind == "constant_input":
        return InputSpec(InputKind.USER_INPUT, ConstantArgument(v["name"], described(v["value"]).value), None)
    kinds = {
        "parameter": (InputKind.PARAMETER, "parameter_name"),
        "buffer": (InputKind.BUFFER, "buffer_name"),
        "tensor_constant": (InputKind.CONSTANT_TENSOR, "tensor_constant_name"),
    }
    if kind not in kinds:
        raise NotImplementedError(f"torch.export.load: an input {kind}")
    known, target = kinds[kind]
    return InputSpec(known, TensorArgument(v["arg"]["name"]), v[target], v.get("persistent"))


def _output_spec(given):
    ((kind, v),) = given.items()
    if kind == "user_output":
        return OutputSpec(OutputKind.USER_OUTPUT, described(v["arg"]))
    kinds = {
        "buffer_mutation": (OutputKind.BUFFER_MUTATION, "buffer_name"),
        "parameter_mutation": (OutputKind.PARAMETER_MUTATION, "parameter_name"),
        "user_input_mutation": (OutputKind.USER_INPUT_MUTATION, "user_input_name"),
    }
    if kind not in kinds:
        raise NotImplementedError(f"torch.export.load: an output {kind}")
    known, target = kinds[kind]
    return OutputSpec(known, TensorArgument(v["arg"]["name"]), v[target])


def signature(given):
    """Return the signature of a graph."""
    inputs = list(map(_input_spec, given["input_specs"]))
    return ExportGraphSignature(inputs, list(map(_output_spec, given["output_specs"])))


def calls(given):
    """Return the modules of the exported one."""
    found = []
    for entry in given:
        s = entry["signature"]
        if s is not None:
            s = ModuleCallSignature(
                list(map(described, s["inputs"])),
                list(map(described, s["outputs"])),
                treespec_loads(s["in_spec"]),
                treespec_loads(s["out_spec"]),
                s.get("forward_arg_names"),
            )
        found.append(ModuleCallEntry(entry["fqn"], s))
    return found
