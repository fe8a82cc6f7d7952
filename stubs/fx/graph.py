"""Graphs of nodes, and the Python code they stand for."""
import builtins
import contextlib
import keyword
import operator
import re
import sys
from collections import namedtuple

import torch

from .node import Node, map_arg

__all__ = ["Graph", "CodeGen", "PythonCode"]
PythonCode = namedtuple("PythonCode", "src globals")


class _Names:
    def __init__(self):
        self.used = set()

    def create(self, candidate):
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate).strip() or "_unnamed"
        if name[0].isdigit():
            name = "_" + name
        base, n = (name, 1)
        if m := re.match(r"(.*)_(\d+)$", name):
            base, n = m.group(1), int(m.group(2)) + 1
        taken = lambda s: s in self.used or keyword.iskeyword(s) or hasattr(builtins, s) or s in ("torch", "device", "inf", "nan", "self")
        while taken(name):
            name = f"{base}_{n}"
            n += 1
        self.used.add(name)
        return name


class CodeGen:
    """Writes forward() of a graph."""

    def generate(self, graph, root):
        names = {"torch": torch, "device": torch.device, "inf": float("inf"), "nan": float("nan")}

        def known(obj, hint):
            for n, o in names.items():
                if o is obj:
                    return n
            n = graph._names.create("_g_" + hint)
            names[n] = obj
            return n

        def function(f):
            module, qualname = getattr(f, "__module__", None) or "", getattr(f, "__qualname__", getattr(f, "__name__", ""))
            if module == "_operator":
                module = "operator"
            if getattr(builtins, qualname, None) is f:
                return qualname
            obj = sys.modules.get(module)
            for part in qualname.split("."):
                obj = getattr(obj, part, None)
            if obj is f and module.split(".")[0] in ("torch", "operator", "math"):
                names.setdefault(module.split(".")[0], sys.modules[module.split(".")[0]])
                return f"{module}.{qualname}"
            return known(f, getattr(f, "__name__", "fn"))

        def arg(a):
            if isinstance(a, Node):
                return a.name
            if isinstance(a, tuple):
                if hasattr(a, "_fields"):
                    return f"{known(type(a), type(a).__name__)}({', '.join(map(arg, a))})"
                return f"({', '.join(map(arg, a))}{',' if len(a) == 1 else ''})"
            if isinstance(a, list):
                return f"[{', '.join(map(arg, a))}]"
            if isinstance(a, dict):
                return "{" + ", ".join(f"{k!r}: {arg(v)}" for k, v in a.items()) + "}"
            if isinstance(a, slice):
                return f"slice({arg(a.start)}, {arg(a.stop)}, {arg(a.step)})"
            if a is None or a is Ellipsis or isinstance(a, (bool, int, float, complex, str)) or isinstance(a, (torch.dtype, torch.device, torch.memory_format, torch.layout)):
                return repr(a)
            if callable(a) and hasattr(a, "__name__"):
                return function(a)
            return known(a, type(a).__name__)

        def call(n):
            parts = [arg(a) for a in n.args] + [f"{k} = {arg(v)}" for k, v in n.kwargs.items()]
            return ", ".join(parts)

        def attribute(root_name, path):
            out = root_name
            for p in path.split("."):
                out = f"{out}.{p}" if p.isidentifier() else f"getattr({out}, {p!r})"
            return out
        params, lines = [], []
        for n in graph.nodes:
            if n.op == "placeholder":
                star = n.target if n.target.startswith("*") else ""
                params.append(star or n.name + (f" = {arg(n.args[0])}" if n.args else ""))
                if star:
                    lines.append(f"{n.name} = {n.target.lstrip('*')}")
                elif n.target != n.name:
                    params[-1] = n.target + (f" = {arg(n.args[0])}" if n.args else "")
                    lines.append(f"{n.name} = {n.target}")
            elif n.op == "output":
                lines.append(f"return {arg(n.args[0])}")
            elif n.op == "get_attr":
                lines.append(f"{n.name} = {attribute(root, n.target)}")
            elif n.op == "call_module":
                lines.append(f"{n.name} = {attribute(root, n.target)}({call(n)})")
            elif n.op == "call_method":
                rest = ", ".join([arg(a) for a in n.args[1:]] + [f"{k} = {arg(v)}" for k, v in n.kwargs.items()])
                lines.append(f"{n.name} = {arg(n.args[0])}.{n.target}({rest})")
            elif n.target is builtins.getattr and isinstance(n.args[1], str) and n.args[1].isidentifier():
                lines.append(f"{n.name} = {arg(n.args[0])}.{n.args[1]}")
            elif n.target is operator.setitem:
                lines.append(f"{arg(n.args[0])}[{arg(n.args[1])}] = {arg(n.args[2])};  {n.name} = None")
            else:
                lines.append(f"{n.name} = {function(n.target)}({call(n)})")
        return PythonCode(f"\n\ndef forward({', '.join(['self', *params])}):\n" + "".join(f"    {x}\n" for x in lines or ["pass"]), names)


class Graph:
    """Nodes in order of execution."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._nodes, self._names, self._insert = [], _Names(), None
        self._owning_module, self._tracer_cls = owning_module, tracer_cls
        self._codegen = CodeGen()

    @property
    def nodes(self):
        return _NodeList(self)

    owning_module = property(lambda self: self._owning_module, lambda self, m: setattr(self, "_owning_module", m))

    def _neighbour(self, node, step):
        i = self._nodes.index(node) + step
        return self._nodes[i] if 0 <= i < len(self._nodes) else Node(self, "", "root", "", (), {})

    def _move(self, x, at, after):
        if x is at:
            return
        self._nodes.remove(x)
        self._nodes.insert(self._nodes.index(at) + after, x)

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        if name is None:
            name = self._target_name(target)
        node = Node(self, self._names.create(name), op, target, tuple(args or ()), dict(kwargs or {}), type_expr)
        if self._insert is None:
            self._nodes.append(node)
        else:
            at, after = self._insert
            self._nodes.insert(self._nodes.index(at) + after, node)
            self._insert = (node, 1)
        return node

    def _target_name(self, target):
        name = target if isinstance(target, str) else getattr(target, "__name__", "fn")
        name = name.lstrip("*").replace(".", "_")
        if re.match(r"^__.*__$", name):
            name = name[2:-2]
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()

    def erase_node(self, to_erase):
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!")
        if to_erase._erased:
            return
        self._nodes.remove(to_erase)
        to_erase._set((), {})
        to_erase._erased = True

    @contextlib.contextmanager
    def _inserting(self, node, after):
        prev, self._insert = self._insert, (node, after)
        try:
            yield
        finally:
            self._insert = prev

    def inserting_before(self, n=None):
        return self._inserting(n or self._nodes[0], 0)

    def inserting_after(self, n=None):
        return self._inserting(n or self._nodes[-1], 1)

    def placeholder(self, name, type_expr=None, default_value=None):
        return self.create_node("placeholder", name, (default_value,) if default_value is not None else (), type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None):
        return self.create_node("call_function", the_function, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result, type_expr=None):
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def output_node(self):
        return next(n for n in reversed(self._nodes) if n.op == "output")

    def node_copy(self, node, arg_transform=lambda x: x):
        new = self.create_node(node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform), node.name, node.type)
        new.meta = dict(node.meta)
        return new

    def graph_copy(self, g, val_map, return_output_node=False):
        """Append g's nodes; gives what g's output names, in this graph's nodes."""
        for n in g._nodes:
            if n in val_map:
                continue
            if n.op == "output":
                out = map_arg(n.args[0], lambda x: val_map[x])
                return (out, n) if return_output_node else out
            val_map[n] = self.node_copy(n, lambda x: val_map[x])
        return None

    def __deepcopy__(self, memo=None):
        g = Graph(tracer_cls=self._tracer_cls)
        table = {}
        out = g.graph_copy(self, table, return_output_node=True)
        if out is not None:
            g.output(out[0], out[1].type).meta = dict(out[1].meta)
        return g

    def find_nodes(self, *, op, target=None, sort=True):
        return [n for n in self._nodes if n.op == op and (target is None or n.target == target)]

    def eliminate_dead_code(self, is_impure_node=None):
        impure = is_impure_node or Node.is_impure
        changed = False
        for n in reversed(list(self._nodes)):
            if not n.users and not impure(n):
                self.erase_node(n)
                changed = True
        return changed

    def lint(self):
        """RuntimeError where a node reads what comes later, or a name stands twice."""
        seen, names = set(), set()
        for n in self._nodes:
            for a in n.all_input_nodes:
                if a not in seen:
                    raise RuntimeError(f"Argument '{a}' of Node '{n}' was used before it has been defined! Please check that Nodes in the graph are "
                                       f"topologically ordered\n{self}")
            if n.name in names:
                raise RuntimeError(f"Node redefined name {n.name}!")
            seen.add(n)
            names.add(n.name)

    def python_code(self, root_module, **kwargs):
        return self._codegen.generate(self, root_module)

    def set_codegen(self, codegen):
        self._codegen = codegen

    def process_inputs(self, *args):
        return args

    def process_outputs(self, out):
        return out

    def __str__(self):
        return "graph():\n" + "\n".join("    " + n.format_node() for n in self._nodes)

    def print_tabular(self):
        for n in self._nodes:
            print(n.op, n.name, n._spoken(), n.args, dict(n.kwargs), sep="  ")

    def __reduce__(self):
        return _rebuild, (self._flat(), self._tracer_cls)

    def _flat(self):
        flat = []
        number = {n: _Ref(i) for i, n in enumerate(self._nodes)}
        for n in self._nodes:
            flat.append((n.op, n.target, map_arg(n.args, number.__getitem__), map_arg(n.kwargs, number.__getitem__), n.name, n.type))
        return flat


class _Ref:
    def __init__(self, i):
        self.i = i


def _rebuild(flat, tracer_cls):
    from .node import map_aggregate
    g = Graph(tracer_cls=tracer_cls)
    nodes = []
    resolve = lambda x: nodes[x.i] if isinstance(x, _Ref) else x
    for op, target, args, kwargs, name, type_expr in flat:
        nodes.append(g.create_node(op, target, map_aggregate(args, resolve), map_aggregate(kwargs, resolve), name, type_expr))
    return g


class _NodeList:
    """A graph's nodes; erasing while iterating is allowed."""

    def __init__(self, graph):
        self._graph = graph

    def __iter__(self):
        return (n for n in list(self._graph._nodes) if not n._erased)

    def __reversed__(self):
        return (n for n in reversed(list(self._graph._nodes)) if not n._erased)

    def __len__(self):
        return len(self._graph._nodes)
