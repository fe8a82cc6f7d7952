"""Exported programs: graphs of operators that do not depend on the Python code they were exported from."""

import ast
import copy
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from ..fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph_module import GraphModule
from .decomp_utils import CustomDecompTable
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

__all__ = ["CallSpec", "ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "default_decompositions"]


class CallSpec(NamedTuple):
    """The pytree specs of the arguments and the results."""

    in_spec: object
    out_spec: object


@dataclass
class ModuleCallSignature:
    """The arguments and results of a call of a module, and how they are nested."""

    inputs: list
    outputs: list
    in_spec: object
    out_spec: object
    forward_arg_names: list | None = None

    def replace_all_uses_with(self, original_node, new_node):
        """Rename a node in the description."""
        for argument in (*self.inputs, *self.outputs):
            if argument.name == original_node.name:
                argument.name = new_node.name


@dataclass
class ModuleCallEntry:
    """A module of the exported one, by its name, and the signature of its call where that is kept."""

    fqn: str
    signature: ModuleCallSignature | None = None


_OF_NUMBERS = ((torch.SymInt, SymIntArgument), (torch.SymFloat, SymFloatArgument), (torch.SymBool, SymBoolArgument))


def argument_of(node):
    """Return the description of a node's value in a signature."""
    value = node.meta.get("val")
    return next((a(node.name) for c, a in _OF_NUMBERS if isinstance(value, c)), None) or TensorArgument(node.name)


def outputs_of(graph, kinds=()):
    """Return the descriptions of a graph's results; `kinds` are (kind, target) of the first ones."""
    results = list(graph.output_node().args[0])
    given = [*kinds, *[(OutputKind.USER_OUTPUT, None)] * (len(results) - len(kinds))]
    return [
        OutputSpec(k, argument_of(v) if isinstance(v, torch.fx.Node) else ConstantArgument("", v), target)
        for v, (k, target) in zip(results, given)
    ]


_CALLED = frozenset("size floor ceil trunc sym_float _sym_sqrt max min abs round".split())


@dataclass
class Guards:
    """Conditions on a program's arguments: (text, function of the arguments by their names)."""

    names: list
    conditions: list = field(default_factory=list)
    sources: list | None = None  # PyTorch's names of the arguments, such as L['x'][0]

    def add(self, text):
        """Add a condition. Raises ValueError for a text that is no comparison of sizes."""
        for node in ast.walk(ast.parse(text, mode="eval")):
            name = node.func if isinstance(node, ast.Call) else None
            called = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", None)
            if isinstance(node, ast.Call) and called not in _CALLED or isinstance(node, ast.Lambda):
                raise ValueError(f"{text!r} is no condition on sizes")
        if text not in [t for t, _ in self.conditions]:
            self.conditions.append((text, compile(text, "<guard>", "eval")))

    def check(self, values):
        """Raise AssertionError for the first condition that does not hold."""
        given = dict(zip(self.names, values))
        for text, code in self.conditions:
            if not eval(code, {"torch": torch, "math": math}, given):
                raise AssertionError(f"Guard failed: {text}")


class ExportedProgram:
    """A graph whose parameters, buffers and constants are inputs.

    Their values are in ``state_dict`` and ``constants``, and ``graph_signature`` describes the inputs and outputs.
    """

    def __init__(
        self,
        root,
        graph,
        graph_signature,
        state_dict,
        range_constraints,
        module_call_graph,
        example_inputs=None,
        constants=None,
        *,
        verifiers=None,
        guards=None,
        dialect="TRAINING",
    ):
        graph._codegen = torch.fx.graph.CodeGen()
        self._graph_module = root if isinstance(root, GraphModule) and root.graph is graph else GraphModule(root, graph)
        self._graph_signature, self._state_dict, self._constants = graph_signature, state_dict, constants or {}
        self._range_constraints, self._module_call_graph = range_constraints, module_call_graph
        self._example_inputs, self._guards, self._dialect = example_inputs, guards, dialect
        self._verifiers = verifiers

    graph_module = property(
        lambda self: self._graph_module, doc="The module that runs the graph, whose parameters are arguments."
    )
    graph = property(lambda self: self._graph_module.graph, doc="The graph of ATen operators.")
    graph_signature = property(
        lambda self: self._graph_signature,
        doc="What each argument and result of the graph is: a user's, a parameter, a buffer, a change.",
    )
    state_dict = property(lambda self: self._state_dict, doc="Parameters and buffers by name.")
    constants = tensor_constants = property(
        lambda self: self._constants, doc="Tensors that are neither parameters nor buffers, by name."
    )
    call_spec = property(
        lambda self: CallSpec(
            self._module_call_graph[0].signature.in_spec, self._module_call_graph[0].signature.out_spec
        ),
        doc="How a user's arguments and results are nested.",
    )
    module_call_graph = property(lambda self: self._module_call_graph, doc="The modules of the exported one.")
    range_constraints = property(lambda self: self._range_constraints, doc="The bounds of symbolic sizes.")
    dialect = property(lambda self: self._dialect, doc='Which operators the graph has: "TRAINING", "ATEN".')
    verifiers = property(lambda self: self._verifiers or [], doc="The classes that check the graph: none.")
    verifier = property(lambda self: None, doc="The class that checks the graph: none.")

    @property
    def example_inputs(self):
        """The arguments that were traced, positional ones and keywords."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value):
        if value is not None and not (
            isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict)
        ):
            raise ValueError(
                "Example inputs should be a tuple containing example arguments (as a tuple), and example kwargs (as a "
                "dictionary)."
            )
        self._example_inputs = value

    @graph_module.setter
    def graph_module(self, value):
        raise RuntimeError("Unable to set ExportedProgram's graph_module attribute.")

    def parameters(self):
        """Iterate over the parameters in their order in the graph."""
        return (p for _, p in self.named_parameters())

    def named_parameters(self):
        """Iterate over (name, parameter) in their order in the graph."""
        return ((n, self._state_dict[n]) for n in self._graph_signature.parameters)

    def buffers(self):
        """Iterate over the buffers in their order in the graph."""
        return (b for _, b in self.named_buffers())

    def named_buffers(self):
        """Iterate over (name, buffer) in their order in the graph."""
        hidden = self._graph_signature.non_persistent_buffers
        return ((n, (self._constants if n in hidden else self._state_dict)[n]) for n in self._graph_signature.buffers)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def _value_of(self, spec):
        held = self._constants if spec.target in self._constants else self._state_dict
        return held[spec.target]

    def module(self, check_guards=True):
        """Return a module that runs the program, with its parameters and buffers.

        Arguments for which the guards of the trace do not hold raise AssertionError.
        """
        graph, values, held = Graph(), {}, {}
        placeholders = [n for n in self.graph.nodes if n.op == "placeholder"]
        specs = list(zip(placeholders, self._graph_signature.input_specs))
        for node, spec in specs:  # as PyTorch orders them: what the module holds, then the arguments
            if spec.kind is not InputKind.USER_INPUT:
                held[spec.target] = self._value_of(spec)
                values[node] = graph.get_attr(spec.target)
                values[node].meta = dict(node.meta)
        inputs = []
        for node, spec in specs:
            if spec.kind is InputKind.USER_INPUT:
                values[node] = graph.node_copy(node)
                inputs.append(values[node])
        for n in self.graph.nodes:
            if n.op == "get_attr":
                held[n.target] = getattr(self._graph_module, n.target)
            elif n.op == "call_module":
                held[n.target] = getattr(self._graph_module, n.target)
        if check_guards and self._guards is not None:
            graph.call_module("_guards_fn", tuple(inputs))
            held["_guards_fn"] = _GuardsFn(self._guards)
        graph.output(self._written_back(graph, graph.graph_copy(self.graph, values), values, specs))
        signature = self._module_call_graph[0].signature
        graph._codegen = _PyTreeCodeGen(
            _PyTreeInfo(list(signature.forward_arg_names or ()), signature.in_spec, signature.out_spec)
        )
        modules = {n: m for n, m in held.items() if isinstance(m, torch.nn.Module)}
        module = _Module({n: v for n, v in held.items() if n not in modules}, graph) if not modules else None
        if module is None:
            module = _with_modules(held, modules, graph)
        self._place_buffers(module)
        module.in_spec = signature.in_spec
        module.check_inputs = lambda args, kwargs: self._check_inputs(args, kwargs)
        return module

    def _check_inputs(self, args, kwargs):
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        if self._guards is not None:
            self._guards.check(leaves)

    def _written_back(self, graph, results, values, specs):
        """Add copies of the new values of buffers and arguments into them; return the results of the user."""
        by_target = {spec.target: values[node] for node, spec in specs if spec.target is not None}
        by_name = {node.name: values[node] for node, spec in specs}
        kept = []
        for value, spec in zip(results, self._graph_signature.output_specs):
            if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
                graph.call_function(torch.ops.aten.copy_.default, (by_target[spec.target], value))
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                graph.call_function(torch.ops.aten.copy_.default, (by_name[spec.target], value))
            else:
                kept.append(value)
        return tuple(kept)

    def _place_buffers(self, module):
        for spec in self._graph_signature.input_specs:
            owner, _, name = (spec.target or "").rpartition(".")
            if spec.kind is InputKind.BUFFER and spec.persistent is False:
                module.get_submodule(owner)._non_persistent_buffers_set.add(name)
            elif spec.kind is InputKind.CONSTANT_TENSOR:
                place = module.get_submodule(owner)
                if name in place._buffers:
                    setattr(place, name, place._buffers.pop(name))

    def validate(self):
        """Check that the graph is well-formed."""
        self.graph.lint()

    _validate = validate

    def _update(self, graph_module, graph_signature, *, state_dict=None, constants=None, verifiers=None):
        """Return the program with another graph and signature."""
        return ExportedProgram(
            graph_module,
            graph_module.graph,
            graph_signature,
            self._state_dict if state_dict is None else state_dict,
            dict(self._range_constraints),
            list(self._module_call_graph),
            self._example_inputs,
            self._constants if constants is None else constants,
            guards=self._guards,
            dialect="ATEN",
        )

    def __deepcopy__(self, memo):
        new = object.__new__(type(self))
        memo[id(self)] = new
        copied = ("_graph_module", "_graph_signature", "_state_dict", "_constants")
        new.__dict__.update({k: copy.deepcopy(v, memo) if k in copied else v for k, v in self.__dict__.items()})
        return new

    def __str__(self):
        text = self._graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {text}\nGraph signature: {self._graph_signature}\nRange constraints: "
            f"{self.range_constraints}\n"
        )

    __repr__ = __str__


def default_decompositions():
    """Return the table of decompositions into PyTorch's core operators, to change before ``run_decompositions``."""
    return CustomDecompTable()


class _GuardsFn(torch.nn.Module):
    """The module that checks the arguments of a program."""

    _is_impure = True

    def __init__(self, guards):
        super().__init__()
        self.__dict__["guards"] = guards

    def forward(self, *args):
        self.guards.check(args)


class _Module(GraphModule):
    """The module of a program. The graph fixes training or evaluation mode, so it cannot be changed."""

    def __call__(self, *args, **kwargs):
        spec, given = self.in_spec, (args, kwargs)
        if kwargs and tuple(kwargs) != tuple(spec.child(1).context) and set(kwargs) == set(spec.child(1).context):
            given = args, {k: kwargs[k] for k in spec.child(1).context}
        received = torch.utils._pytree.tree_structure(given)
        if received != spec:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: \n{spec}\nbut actually got inputs with "
                f"tree spec of: \n{received}.\nPlease check that the inputs have the same number and type of args and "
                "kwargs as the ones you used when tracing."
            )
        return super().__call__(*given[0], **given[1])

    def train(self, mode=True):
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self):
        raise NotImplementedError("Calling eval() is not supported yet.")


def _with_modules(held, modules, graph):
    """Return the module of a graph that calls modules."""
    root = {**held, **modules}
    return _Module(root, graph)


def signature_of(like, graph):
    """Return the signature of a program whose graph was replaced by one with the same arguments."""
    mutations = [(s.kind, s.target) for s in like.output_specs if s.kind is not OutputKind.USER_OUTPUT]
    return ExportGraphSignature(like.input_specs, outputs_of(graph, mutations))
