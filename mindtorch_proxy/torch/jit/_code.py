"""Conversion of graphs to TorchScript code, which is Python; it is stored in archives and executed."""

import keyword
import re

import torch

_INLINE = ("prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct", "prim::Constant")
NO_GRAPH = (
    "torch.jit.script runs Python as it is here, without compiling it: {} has no {}. torch.jit.trace makes a graph, "
    "which can be saved"
)


class Constants:
    """Tensors that code refers to as CONSTANTS.c0, CONSTANTS.c1, ..."""

    def __init__(self, tensors=()):
        self.tensors = list(tensors)

    def name(self, t):
        at = next((i for i, c in enumerate(self.tensors) if c is t), None)
        if at is None:
            at = len(self.tensors)
            self.tensors.append(t)
        return f"CONSTANTS.c{at}"

    def __getattr__(self, name):
        if re.fullmatch(r"c\d+", name):
            return self.tensors[int(name[1:])]
        raise AttributeError(name)


class _Writer:
    def __init__(self, graph, constants):
        self.constants, self.names, self.taken, self.lines, self.temporaries = (
            constants,
            {},
            set(keyword.kwlist) | {"torch", "ops", "CONSTANTS"},
            [],
            0,
        )
        self.graph = graph

    def name(self, value):
        """Return the variable name of a value."""
        if id(value) not in self.names:
            name = re.sub(r"\W", "_", re.sub(r"\.\d+$", "", value._name or ""))
            if not name or name[0].isdigit():
                name, self.temporaries = f"_{self.temporaries}", self.temporaries + 1
            base, n = name, 0
            while name in self.taken:
                name, n = f"{base}{n}", n + 1
            self.taken.add(name)
            self.names[id(value)] = name
        return self.names[id(value)]

    def expression(self, value):
        """Return the expression for an argument; constants and constructed containers are inlined."""
        node = value.node()
        if node.kind() == "prim::Constant":
            return self.constant(node)
        if node.kind() in _INLINE:
            return self.construct(node)
        return self.name(value)

    def constant(self, node):
        v = node.constant()
        if isinstance(v, torch.Tensor):
            return self.constants.name(v)
        if isinstance(v, torch.device):
            return f'torch.device("{v}")'
        return literal(v)

    def construct(self, node):
        parts = [self.expression(v) for v in node._inputs]
        if node.kind() == "prim::TupleConstruct":
            return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
        if node.kind() == "prim::DictConstruct":
            return "{" + ", ".join(f"{k}: {v}" for k, v in zip(parts[::2], parts[1::2])) + "}"
        text = f"[{', '.join(parts)}]"
        optional = any(v.node().kind() == "prim::Constant" and v.type().kind() == "NoneType" for v in node._inputs)
        if not parts or optional:
            element = "Optional[Tensor]" if optional else node.output().type().getElementType().annotation_str
            return f"annotate(List[{element}], {text})"
        return text

    def statement(self, node):
        kind = node.kind()
        if kind in _INLINE:
            return
        if kind == "prim::GetAttr":
            owner, name = self.name(node.input()), node.s("name")
            text = (
                f"{owner}.{name}"
                if name.isidentifier() and not keyword.iskeyword(name)
                else f'getattr({owner}, "{name}")'
            )
        elif kind == "prim::CallMethod":
            owner, *args = [self.expression(v) for v in node._inputs]
            text = f"({owner}).{node.s('name')}({''.join(a + ', ' for a in args)})"
        elif kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            text = self.expression(node.input())
        else:
            text = self.operator(node)
        outputs = [self.name(v) for v in node._outputs]
        several = kind in ("prim::TupleUnpack", "prim::ListUnpack")
        self.lines.append(f"{', '.join(outputs)}{',' * several} = {text}" if outputs else text)

    def operator(self, node):
        namespace, _, name = node.kind().partition("::")
        function = f"torch.{name}" if namespace == "aten" else f"ops.{namespace}.{name}"
        schema = node._op_schema
        if schema is None:
            return f"{function}({', '.join(self.expression(v) for v in node._inputs)})"
        pairs = list(zip(schema.arguments, node._inputs))
        while pairs and _is_default(*pairs[-1]):
            pairs.pop()
        parts = [
            (f"{a.name}=" if a.kwarg_only else "") + self.expression(v)
            for a, v in pairs
            if not (a.kwarg_only and _is_default(a, v))
        ]
        return f"{function}({', '.join(parts)})"

    def annotation(self, value):
        kind = value.type()
        return kind.annotation_str

    def function(self, name):
        """Return the source of a method, or of a function if no input is a module."""
        inputs, parameters = self.graph._param._outputs, []
        for i, v in enumerate(inputs):
            parameters.append(
                self.name(v) if i == 0 and v.type().kind() == "ClassType" else f"{self.name(v)}: {self.annotation(v)}"
            )
        for node in self.graph._nodes:
            self.statement(node)
        output = self.graph._return._inputs[0]
        self.lines.append(f"return {self.expression(output)}")
        head = f"def {name}({(',' + chr(10) + '    ').join(parameters)}) -> {self.annotation(output)}:"
        return "\n".join([head, *("  " + line for line in self.lines)]) + "\n"


def literal(v):
    """Return the literal of a number, string, bool, None or sequence."""
    if isinstance(v, str):
        return '"' + v.encode("unicode_escape").decode().replace('"', '\\"') + '"'
    if isinstance(v, float):
        if v != v:
            return "nan"
        if v in (float("inf"), float("-inf")):
            return "inf" if v > 0 else "-inf"
        text = f"{v:.17g}"
        return text if any(c in text for c in ".en") else text + "."
    return repr(v)


def _is_default(a, v):
    if not a.has_default_value() or v.node().kind() != "prim::Constant":
        return False
    given = v.node().constant()
    return type(given) is type(a.default_value) and not isinstance(given, torch.Tensor) and given == a.default_value


def code_of(graph, constants, name="forward"):
    """Return the code of a graph, and add its constant tensors to `constants`."""
    return _Writer(graph, constants).function(name)
