"""torch.export.unflatten: an exported program as modules with the names and the nesting of the original ones."""

import abc
import copy
import operator

import torch

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node, map_arg
from ..utils._pytree import tree_flatten, tree_unflatten
from .exported_program import ExportedProgram
from .graph_signature import InputKind, OutputKind

__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]


class FlatArgsAdapter(abc.ABC):
    """Adapts the flat arguments of a call whose arguments are nested otherwise than the example's."""

    @abc.abstractmethod
    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        """Return flat arguments for target_spec from those of input_spec."""


class InterpreterModule(GraphModule):
    """A module that runs the part of a program's graph that one of the original modules ran."""


def _calls(node):
    """Return the calls of modules that a node belongs to, the outermost first, without the program's own."""
    return [fqn for fqn, _ in node.meta.get("nn_module_stack", {}).values() if fqn]


class _Values:
    """What a program's module holds, by the nodes of its arguments."""

    def __init__(self, program):
        placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
        specs = list(zip(placeholders, program.graph_signature.input_specs))
        self.targets = {n: s.target for n, s in specs if s.kind is not InputKind.USER_INPUT}
        self.hidden = {s.target for _, s in specs if s.kind is InputKind.BUFFER and s.persistent is False}
        self.kinds = {s.target: s.kind for _, s in specs}
        self.inputs = [n for n, s in specs if s.kind is InputKind.USER_INPUT]
        copies, self.tensors = {}, {}
        for target in (*self.targets.values(), *program.state_dict):
            t = (program.constants if target in program.constants else program.state_dict)[target]
            if id(t) not in copies:
                copies[id(t)] = _copied(t)
            self.tensors[target] = copies[id(t)]


def _copied(t):
    return (
        copy.deepcopy(t.detach())
        if not isinstance(t, torch.nn.Parameter)
        else torch.nn.Parameter(t.detach().clone(), t.requires_grad)
    )


class _Part:
    """The nodes of one call, and the parts of the calls within it."""

    def __init__(self, builder, fqn, nodes, depth):
        self.builder, self.fqn, self.graph, self.env, self.given = builder, fqn, Graph(), {}, []
        self.own, self.children = set(nodes), {}
        self.outputs = [n for n in nodes if any(u not in self.own for u in n.users)]
        self._fill(nodes, depth)

    def _fill(self, nodes, depth):
        i = 0
        while i < len(nodes):
            calls = _calls(nodes[i])
            if len(calls) <= depth:
                self.env[nodes[i]] = self.graph.node_copy(nodes[i], self.value)
                i += 1
                continue
            j = i
            while j < len(nodes) and _calls(nodes[j])[depth : depth + 1] == [calls[depth]]:
                j += 1
            self._call(_Part(self.builder, calls[depth], nodes[i:j], depth + 1))
            i = j

    def _call(self, part):
        name = self.builder.place(part)
        prefix = self.fqn.partition("@")[0]
        inside = name[len(prefix) + 1 :] if prefix else name
        self.children[inside] = self.builder.modules[name]
        call = self.graph.call_module(inside, tuple(self.value(n) for n in part.given))
        if len(part.outputs) == 1:
            self.env[part.outputs[0]] = call
        else:
            for i, n in enumerate(part.outputs):
                self.env[n] = self.graph.call_function(operator.getitem, (call, i))

    def value(self, node):
        """Return the node of this part's graph for a node of the program."""
        if node not in self.env:
            target = self.builder.values.targets.get(node)
            prefix = self.fqn.partition("@")[0]
            if target is not None and (not prefix or target.startswith(prefix + ".")):
                self.env[node] = self._first(self.graph.get_attr, target[len(prefix) + 1 :] if prefix else target)
            else:
                self.given.append(node)
                self.env[node] = self._first(self.graph.placeholder, node.name)
        return self.env[node]

    def _first(self, create, target):
        inserted = [n for n in self.graph.nodes if n.op not in ("placeholder", "get_attr")]
        if not inserted:
            return create(target)
        with self.graph.inserting_before(inserted[0]):
            return create(target)

    def finish(self, results):
        """Add the output, and order the placeholders as they are given."""
        self.graph.output(results)

    def shape(self):
        """Return what two calls of one module have in common if one module can run both."""
        order = {n: i for i, n in enumerate(self.graph.nodes)}
        return [
            (n.op, str(n.target) if n.op != "placeholder" else "", str(map_arg((n.args, n.kwargs), lambda a: order[a])))
            for n in self.graph.nodes
        ]


class _Builder:
    """Builds the modules of a program."""

    def __init__(self, program):
        self.program, self.values, self.modules, self.shapes = program, _Values(program), {}, {}
        self.order = {e.fqn: i for i, e in enumerate(program.module_call_graph)}

    def place(self, part):
        """Return the name of the module for a call: that of an earlier call with the same graph, if there is one."""
        results = tuple(part.env[n] for n in part.outputs)
        part.finish(results[0] if len(results) == 1 else results)
        shape, base = part.shape(), part.fqn.partition("@")[0]
        for name in (base, part.fqn):
            if self.shapes.get(name, shape) == shape and (name in self.shapes or name == part.fqn):
                break
        if name not in self.modules:
            self.shapes[name], self.modules[name] = shape, self.module(part, base)
        return name

    def module(self, part, prefix, cls=InterpreterModule):
        """Return the module of a part, with the tensors that its graph reads and the modules that it calls."""
        root = torch.nn.Module()
        before = prefix + "." if prefix else ""
        for name in sorted(part.children, key=lambda n: self.order.get(before + n.partition("@")[0], len(self.order))):
            _set(root, name, part.children[name])
        for node in part.graph.nodes:
            if node.op == "get_attr":
                target = f"{prefix}.{node.target}" if prefix else node.target
                _set(root, node.target, self.values.tensors[target], target in self.values.hidden)
        return cls(root, part.graph)


def _set(root, name, value, hidden=False):
    """Set a dotted attribute; the modules on the way are made where they do not exist."""
    *path, last = name.split(".")
    for atom in path:
        if not hasattr(root, atom):
            root.add_module(atom, torch.nn.Module())
        root = getattr(root, atom)
    if isinstance(value, torch.nn.Module):
        held = getattr(root, last, None)
        if isinstance(held, torch.nn.Module) and not isinstance(held, GraphModule):
            for n, child in held.named_children():
                value.add_module(n, child)
        root.add_module(last, value)
    elif isinstance(value, torch.nn.Parameter):
        root.register_parameter(last, value)
    else:
        root.register_buffer(last, value, persistent=not hidden)


class UnflattenedModule(torch.nn.Module):
    """A program as modules with the names and the nesting of the original ones.

    flat_args_adapter: adapts the arguments of a call that are nested otherwise than the example's.
    """

    def __init__(self, export_module, flat_args_adapter=None):
        super().__init__()
        if export_module.graph_signature.backward_signature is not None:
            raise ValueError("Unflattening on JointExportModule NYI")
        builder = _Builder(export_module)
        values = builder.values
        nodes = [n for n in export_module.graph.nodes if n.op == "call_function"]
        part = _Part(builder, "", nodes, 0)
        results = [part.value(v) if isinstance(v, Node) else v for v in export_module.graph.output_node().args[0]]
        kept = []
        for value, spec in zip(results, export_module.graph_signature.output_specs):
            if spec.kind is OutputKind.USER_OUTPUT:
                kept.append(value)
            else:
                place = next(n for n, t in values.targets.items() if t == spec.target)
                part.graph.call_function(torch.ops.aten.copy_.default, (part.value(place), value))
        part.finish(tuple(kept))
        runner = builder.module(part, "")
        for name, child in sorted(runner.named_children(), key=lambda c: builder.order.get(c[0], len(builder.order))):
            self.add_module(name, child)
        for name, p in runner._parameters.items():
            self.register_parameter(name, p)
        for name, b in runner._buffers.items():
            self.register_buffer(name, b, persistent=name not in values.hidden)
        for name in export_module.state_dict.keys() - self.state_dict().keys():
            _set(self, name, values.tensors[name])
        self.graph, self.flat_args_adapter = runner.graph, flat_args_adapter
        self.__dict__["_runner"] = runner
        self.__dict__["_order"] = [values.inputs.index(n) for n in part.given]
        self.module_call_graph = {e.fqn: e.signature for e in export_module.module_call_graph if e.signature}
        self.range_constraints = export_module.range_constraints

    def forward(self, *args, **kwargs):
        """Run the program."""
        signature = self.module_call_graph[""]
        flat, spec = tree_flatten((args, kwargs))
        if spec != signature.in_spec:
            if self.flat_args_adapter is None:
                raise TypeError(
                    "There is no flat args adapter specified. Are you sure you are calling this with the right "
                    "arguments?"
                )
            flat = self.flat_args_adapter.adapt(target_spec=signature.in_spec, input_spec=spec, input_args=flat)
        return tree_unflatten(list(self._runner(*(flat[i] for i in self._order))), signature.out_spec)


def unflatten(module, flat_args_adapter=None):
    """Return an exported program as modules with the names and the nesting of the original ones.

    Raises:
        TypeError: for what is no ExportedProgram.
    """
    if not isinstance(module, ExportedProgram):
        raise TypeError(f"unflatten takes an ExportedProgram, not {type(module).__name__}")
    return UnflattenedModule(module, flat_args_adapter)
