"""Graphs of calls, and the Python code generated from them."""

import builtins
import contextlib
import enum
import keyword
import math
import re
import types
import typing
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.utils._pytree as pytree

from .node import Argument, Node, _qualified_name, _type_repr, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode"]
_BINARY = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "gt": ">",
    "le": "<=",
    "ge": ">=",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "truediv": "/",
    "mod": "%",
    "pow": "**",
    "lshift": "<<",
    "rshift": ">>",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "matmul": "@",
}
_UNARY = {"pos": "+", "neg": "-", "invert": "~"}
_INPLACE = {"i" + k.rstrip("_"): v + "=" for k, v in _BINARY.items() if k not in ("eq", "ne", "lt", "gt", "le", "ge")}


@dataclass
class PythonCode:
    """The generated source, the globals that it uses, and the mapping of its lines to nodes.

    _lineno_map gives the index of a node in the graph for each line of the body. Lines are counted from 1 after line
    _prologue_start of the source.
    """

    src: str
    globals: dict
    _lineno_map: dict | None = None
    _prologue_start: int = 0


class CodeGen:
    """Generates a function from a graph.

    A subclass may write a different signature and return statement, and process inputs and outputs.
    """

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        """Return the function's signature; free_vars are its parameters as text."""
        if not free_vars or free_vars[0] != "self":
            free_vars = ["self", *free_vars]
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args):
        """Return the return statement."""
        return f"return {output_args}"

    def process_inputs(self, *args):
        """Convert the function's arguments to the values of the graph's placeholders."""
        return args

    def process_outputs(self, outputs):
        """Convert the graph's result to the function's return value."""
        return outputs

    def additional_globals(self):
        """Return (name, object) pairs that the signature and return statement use."""
        return []


class _PyTreeInfo(NamedTuple):
    """The argument names of a function, and the tree specs of its arguments and results."""

    orig_args: list
    in_spec: object
    out_spec: object


class _PyTreeCodeGen(CodeGen):
    """Generates code that flattens nested arguments and unflattens nested results."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        """Return the leaves of the arguments."""
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out):
        """Unflatten the results."""
        if not isinstance(out, (list, tuple)):
            out = [out]
        return out if self.pytree_info.out_spec is None else pytree.tree_unflatten(out, self.pytree_info.out_spec)


def _snake_case(s):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", s).lower()


class _Namespace:
    """Creates unique names."""

    def __init__(self):
        self.used, self.counts = set(), {}

    def create_name(self, candidate, taken=()):
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.match(r"(.*)_(\d+)$", candidate)
        base, number = (match.group(1), int(match.group(2))) if match else (candidate, None)
        name = candidate
        while (
            name in self.used
            or keyword.iskeyword(name)
            or hasattr(builtins, name)
            or name in ("self", "torch", "inf", "nan")
        ):
            number = self.counts.get(base, 0) + 1 if number is None or base in self.counts else number + 1
            self.counts[base] = number
            name = f"{base}_{number}"
        self.used.add(name)
        return name


class _InsertPoint:
    """Sets the insertion point immediately; on exit of a block, restores the previous one."""

    def __init__(self, graph, node, after):
        if node.graph is not graph:
            raise AssertionError(f"Node to insert {'after' if after else 'before'} is not in graph.")
        self._graph, self._before = graph, graph._insert
        graph._insert = node, after

    def __enter__(self):
        pass

    def __exit__(self, *_):
        self._graph._insert = self._before


class Graph:
    """A list of nodes in execution order."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._order, self._namespace, self._codegen = [], _Namespace(), CodeGen()
        self.owning_module, self._tracer_cls = owning_module, tracer_cls
        self._root = Node(self, "", "root", "", (), {})
        self._insert = (
            self._root,
            0,
            # new nodes are inserted before this node (0) or directly after it (1); the root counts as both before the
            # first node and after the last one
        )
        self._traced_from = ""  # location of the traced function, used in the file name of generated code

    nodes = property(
        lambda self: _Nodes(self), doc="The nodes in the order of execution; ``reversed`` walks backwards."
    )

    def set_codegen(self, codegen):
        """Set the CodeGen that writes the function."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """Set a function that transforms the lines of the body: ``make_transformer(previous one or None)``.

        Return a context manager that undoes it.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def undone():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return undone()

    def process_inputs(self, *args):
        """Convert the function's arguments to the values of the placeholders."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """Convert the graph's result to the function's return value."""
        return self._codegen.process_outputs(out)

    def __deepcopy__(self, memo=None):
        new = Graph(tracer_cls=self._tracer_cls)
        new._codegen, new._traced_from = self._codegen, self._traced_from
        output = new.graph_copy(self, {}, return_output_node=True)
        if output is not None:
            value, old = output
            new.output(value, type_expr=old.type)
        return new

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copy the nodes of another graph and return the value of its output."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Insert a node at the insertion point."""
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(self, self._namespace.create_name(candidate), op, target, args or (), kwargs or {}, type_expr)
        self._order.insert(self._place(), node)
        return node

    def _place(self):
        beside, after = self._insert
        while beside._erased:
            beside, after = beside._follower, 0
        if beside is self._root:
            return 0 if after else len(self._order)
        return self._order.index(beside) + after

    def _target_to_str(self, target):
        name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return _snake_case(re.sub(r"^\*+", "_", name))

    def erase_node(self, to_erase):
        """Remove a node that has no users."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if not to_erase._erased:
            to_erase._follower = to_erase.next
            self._order.remove(to_erase)
            to_erase._erased = True
            to_erase._update((), {})

    def inserting_before(self, n=None):
        """Insert new nodes before ``n`` (or at the start), until the end of a ``with`` block if used as one."""
        return self.inserting_after(self._root) if n is None else _InsertPoint(self, n, 0)

    def inserting_after(self, n=None):
        """Insert new nodes directly after ``n`` (or at the end), until the end of a ``with`` block if used as one."""
        return self.inserting_before(self._root) if n is None else _InsertPoint(self, n, 1)

    def placeholder(self, name, type_expr=None, default_value=...):
        """Insert a placeholder node for an argument of the graph."""
        return self.create_node(
            "placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr
        )

    def get_attr(self, qualified_name, type_expr=None):
        """Insert a node that reads an attribute by its dotted name.

        Warn if the owning module does not have it.
        """
        if self.owning_module is not None and not _has_tensor(self.owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """Insert a node that calls a submodule by its dotted name.

        Raise AttributeError if the owning module does not have it.
        """
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """Insert a node that calls a method of its first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """Insert a node that calls a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """Insert the output node."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def output_node(self):
        """Return the output node."""
        return next(reversed(self._order))

    def node_copy(self, node, arg_transform=lambda x: x):
        """Copy a node of another graph, with its arguments transformed."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        new = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        new.meta = dict(node.meta)
        return new

    def find_nodes(self, *, op, target=None, sort=True):
        """Return the nodes with an op and, if given, a target."""
        return [n for n in self._order if n.op == op and (target is None or n.target == target)]

    def eliminate_dead_code(self, is_impure_node=None):
        """Remove nodes without users; return whether there were any."""
        impure = is_impure_node or (lambda n: n.is_impure())
        before = len(self._order)
        for node in reversed(list(self._order)):
            if not node.users and not impure(node):
                self.erase_node(node)
        return len(self._order) < before

    def lint(self):
        """Check that each node belongs to this graph, has a unique name, and only uses earlier nodes."""
        seen, names = set(), set()
        for node in self._order:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for n in node._input_nodes:
                if n.graph is not self:
                    raise RuntimeError(
                        f"Argument '{n}' of Node '{node}' does not belong to this Graph, but was used as an argument!"
                    )
                if n not in seen:
                    raise RuntimeError(
                        f"Argument '{n}' of Node '{node}' was used before it has been defined! Please check that "
                        f"Nodes in the graph are topologically ordered"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                owner = self.owning_module
                for atom in node.target.split("."):
                    if not hasattr(owner, atom):
                        raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {atom}")
                    owner = getattr(owner, atom)

    def __str__(self):
        return "graph():\n    " + "\n    ".join(n.format_node() for n in self._order)

    def print_tabular(self):
        """Print the nodes as a table, which the library tabulate formats; without it, raise ModuleNotFoundError."""
        try:
            from tabulate import tabulate
        except ModuleNotFoundError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run `pip "
                "install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self._order]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def python_code(
        self,
        root_module,
        *,
        verbose=False,
        include_stride=False,
        include_device=False,
        colored=False,
        expanded_def=False,
        record_func=False,
        additional_meta=None,
    ):
        """Generate the source of a function ``forward`` from the graph."""
        names = {"torch": torch, "inf": math.inf, "nan": math.nan, "NoneType": type(None), "device": torch.device}
        taken, wrapped = {n.name for n in self._order}, {}

        def add_global(hint, obj):
            qualified = _qualified_name(obj) if callable(obj) else ""
            if qualified.startswith("torch.ops."):
                return qualified
            if qualified.startswith("torch.") and _found(qualified) is obj:
                return qualified
            if qualified.startswith("builtins."):
                return qualified.removeprefix("builtins.")
            name = re.sub(r"\W", "_", qualified or hint)
            while names.get(name, obj) is not obj or name in taken:
                name += "_"
            names[name] = obj
            return name

        def arg(a):
            if isinstance(a, Node):
                return a.name
            if isinstance(a, tuple):
                if hasattr(a, "_fields"):
                    return f"{add_global(type(a).__name__, type(a))}({', '.join(map(arg, a))})"
                return "(" + ", ".join(map(arg, a)) + ("," if len(a) == 1 else "") + ")"
            if isinstance(a, list):
                return "[" + ", ".join(map(arg, a)) + "]"
            if isinstance(a, dict):
                return "{" + ", ".join(f"{arg(k)}: {arg(v)}" for k, v in a.items()) + "}"
            if isinstance(a, slice):
                return f"slice({arg(a.start)}, {arg(a.stop)}, {arg(a.step)})"
            if isinstance(a, enum.Enum):
                return f"{add_global(type(a).__name__, type(a))}.{a.name}"
            if isinstance(a, (type, torch._ops.OpOverload)):
                return add_global(getattr(a, "__name__", "constant"), a)
            return repr(a)

        def call(node):
            args = [arg(a) for a in node.args]
            keywords = [f"{k} = {arg(v)}" for k, v in node.kwargs.items()]
            if node.op == "call_method":
                return f"{args[0]}.{node.target}({', '.join(args[1:] + keywords)})"
            if node.op == "call_module":
                return f"{_attribute(root_module, node.target)}({', '.join(args + keywords)})"
            module, name = getattr(node.target, "__module__", ""), getattr(node.target, "__name__", "")
            if module == "_operator" and not keywords:
                if name in _BINARY and len(args) == 2:
                    return f"{args[0]} {_BINARY[name]} {args[1]}"
                if name in _UNARY:
                    return f"{_UNARY[name]}{args[0]}"
                if name == "getitem":
                    return f"{args[0]}[{args[1]}]"
            if (
                node.target is getattr
                and len(args) == 2
                and isinstance(node.args[1], str)
                and node.args[1].isidentifier()
            ):
                return f"{args[0]}.{node.args[1]}"
            function = add_global(self._target_to_str(node.target), node.target)
            if node.meta.get("is_wrapped"):
                wrapped[function] = None
            return f"{function}({', '.join(args + keywords)})"

        def annotation(node, sign):
            """Return the type annotation of a node as text."""
            return "" if node.type is None else f" {sign} {type_text(node.type)}"

        def type_text(kind):
            if kind == ():
                return "()"
            if isinstance(kind, types.UnionType):
                return "|".join(map(type_text, typing.get_args(kind)))
            if isinstance(kind, typing.ForwardRef):
                return repr(kind.__forward_arg__)
            name = "Union" if typing.get_origin(kind) is typing.Union else getattr(kind, "_name", None)
            if getattr(kind, "__module__", "") == "typing" and typing.get_args(kind) and hasattr(typing, name or ""):
                inside = ",".join("..." if a is ... else type_text(a) for a in typing.get_args(kind))
                return f"{add_global(f'typing_{name}', getattr(typing, name))}[{inside}]"
            origin, args = typing.get_origin(kind), typing.get_args(kind)
            if origin is not None and args and isinstance(origin, type):
                return f"{type_text(origin)}[{','.join(map(type_text, args))}]"
            return add_global(_type_name(kind), kind)

        parameters, lines, last_use, returns = [], [], {}, ""
        for node in reversed(self._order):
            for n in node._input_nodes:
                last_use.setdefault(n, node)
        for i, node in enumerate(self._order):
            lines.append(f"{_COUNTER}{i}")
            done = [n.name for n in node._input_nodes if last_use[n] is node and node.op != "output"] + [node.name] * (
                not node.users
            )
            delete = f";  {' = '.join(done)} = None" if done else ""
            if node.op == "placeholder":
                default = f" = {arg(node.args[0])}" if node.args else ""
                parameters.append(f"{node.target}{annotation(node, ':')}{default}")
                raw = node.target.replace("*", "")
                if raw != node.name:
                    lines.append(f"{node.name} = {raw}")
            elif node.op == "output":
                returns = annotation(node, "->")
                own = (
                    type(self._codegen).generate_output is not CodeGen.generate_output
                )  # a custom generate_output gets the nodes, whose repr is their name
                lines.append(self._codegen.generate_output(node.args[0] if own else arg(node.args[0])))
            elif node.op == "get_attr":
                lines.append(f"{node.name}{annotation(node, ':')} = {_attribute(root_module, node.target)}{delete}")
            elif (
                getattr(node.target, "__module__", "") == "_operator"
                and node.target.__name__ in _INPLACE
                and not node.kwargs
            ):
                target, value = (arg(a) for a in node.args)
                lines.append(
                    f"{target} {_INPLACE[node.target.__name__]} {value};  {node.name}{annotation(node, ':')} = "
                    f"{target}{delete}"
                )
            elif getattr(node.target, "__name__", "") == "setitem" and not node.kwargs:
                target, index, value = (arg(a) for a in node.args)
                lines.append(f"{target}[{index}] = {value};  {node.name} = {target}{delete}")
            else:
                lines.append(f"{node.name}{annotation(node, ':')} = {call(node)}{delete}")
        if isinstance(self._codegen, _PyTreeCodeGen):
            info = self._codegen.pytree_info
            names |= {"fx_pytree": torch.fx._pytree, "pytree": pytree}
            children = info.in_spec.children()
            keywords = list(children[1].context or ()) if len(children) == 2 and children[1].type is dict else []
            positional = info.orig_args[: len(info.orig_args) - len(keywords)]
            given = f"([{', '.join(positional)}], {{{','.join(f'{k!r}:{k}' for k in keywords)}}})"
            if parameters:
                leaves = ", ".join(p.partition(" ")[0] for p in parameters)
                lines.insert(0, f"{leaves}, = fx_pytree.tree_flatten_spec({given}, {root_module}._in_spec)")
            if info.out_spec is not None and lines[-1].startswith("return "):
                lines[-1] = f"return pytree.tree_unflatten({lines[-1][7:]}, {root_module}._out_spec)"
            parameters = list(info.orig_args)
        stars = [p for p in parameters if p.startswith("*")]
        ordered = [p for p in parameters if not p.startswith("*")] + stars
        if self._codegen._body_transformer is not None:
            lines = [line.rstrip("\n") for line in self._codegen._body_transformer([f"{line}\n" for line in lines])]
        body, lineno_map = _without_counters(lines)
        wrap = add_global("wrap", torch.fx._symbolic_trace.wrap) if wrapped else ""
        head = "\n".join(f'{wrap}("{name}")' for name in wrapped)
        names.update(self._codegen.additional_globals())
        definition = self._codegen.gen_fn_def(ordered if root_module == "self" else [root_module, *ordered], returns)
        prologue = f"\n{head}\n\n{definition}"
        return PythonCode(f"{prologue}\n{body}\n    ", names, lineno_map, prologue.count("\n") + 1)


# marks the lines of a node with its index in the graph; functions given to on_generate_code see it too
_COUNTER = "# COUNTER: "


def _without_counters(lines):
    """Return the body without markers, and the node index of each line (None before the first node)."""
    body, lineno_map, place = [], {}, None
    for line in lines:
        if line.startswith(_COUNTER):
            place = int(line.removeprefix(_COUNTER))
        else:
            body.append(f"    {line}")
            lineno_map[len(body)] = place
    if not body:
        body, lineno_map = ["    pass"], {1: place}
    lineno_map[len(body) + 1] = place
    return "\n".join(body), lineno_map


def _found(qualified):
    """Return the object with a dotted name that starts with torch, or None."""
    owner = torch
    for atom in qualified.split(".")[1:]:
        owner = getattr(owner, atom, None)
    return owner


def _type_name(kind):
    """Return the name of a type in annotations."""
    return (
        kind.__name__ if getattr(kind, "__module__", "") == "typing" and hasattr(kind, "__name__") else _type_repr(kind)
    )


class _Nodes:
    """The nodes of a graph; the graph may change during iteration."""

    def __init__(self, graph):
        self.graph = graph

    def __len__(self):
        return len(self.graph._order)

    def __iter__(self):
        return (n for n in list(self.graph._order) if not n._erased)

    def __reversed__(self):
        return (n for n in reversed(list(self.graph._order)) if not n._erased)


def _has_tensor(module, target):
    """Whether a dotted name refers to a submodule, parameter or buffer."""
    path, _, name = target.rpartition(".")
    try:
        owner = module.get_submodule(path)
    except AttributeError:
        warnings.warn(f"Failed to fetch module {path}!", stacklevel=3)
        return False
    return any(name in named for named in (owner._modules, owner._parameters, owner._buffers))


def _attribute(root, target):
    """Return ``root.a.b``, with getattr for parts that are not identifiers.

    For example, ``root.layers.0`` becomes ``getattr(root.layers, "0")``.
    """
    text = root
    for atom in target.split("."):
        text = f"{text}.{atom}" if atom.isidentifier() else f'getattr({text}, "{atom}")'
    return text
