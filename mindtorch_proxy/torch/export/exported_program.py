"""Exported programs: graphs of operators that do not depend on the Python code they were exported from."""

import copy
import inspect
from typing import NamedTuple

import torch

from .._dynamo.exc import UserError
from ..fx.experimental.proxy_tensor import make_fx
from ..fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph_module import GraphModule
from ..utils._pytree import tree_flatten, tree_leaves
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

__all__ = ["CallSpec", "ExportedProgram"]
_SHAPE_FREE = (int, float, bool, str, type(None))


class CallSpec(NamedTuple):
    """The pytree specs of the arguments and the results."""

    in_spec: object
    out_spec: object


class ExportedProgram:
    """A graph whose parameters, buffers and constants are inputs.

    Their values are in ``state_dict`` and ``constants``, and ``graph_signature`` describes the inputs and outputs.
    """

    def __init__(self, root, graph, graph_signature, state_dict, constants, call_spec, names, example_inputs=None):
        self._graph_module = GraphModule(root, graph)
        self._graph_signature, self._state_dict, self._constants = graph_signature, state_dict, constants
        self._call_spec, self._names, self._example_inputs = call_spec, names, example_inputs

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
    call_spec = property(lambda self: self._call_spec, doc="How a user's arguments and results are nested.")
    example_inputs = property(
        lambda self: self._example_inputs, doc="The arguments that were traced, positional ones and keywords."
    )
    range_constraints = property(lambda self: {}, doc="The bounds of symbolic sizes.")
    dialect = property(lambda self: "ATEN", doc='Which operators the graph has: "TRAINING", "ATEN".')

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

    def module(self, check_guards=True):
        """Return a module that runs the program, with its parameters and buffers.

        Other shapes than those of the example raise AssertionError.
        """
        graph, values, held = Graph(), {}, {}
        placeholders = [n for n in self.graph.nodes if n.op == "placeholder"]
        for node, spec in zip(placeholders, self._graph_signature.input_specs):
            if spec.kind is InputKind.USER_INPUT:
                values[node] = graph.node_copy(node)
        for node, spec in zip(placeholders, self._graph_signature.input_specs):
            if spec.kind is not InputKind.USER_INPUT:
                held[spec.target] = (
                    self._constants[spec.target] if spec.target in self._constants else self._state_dict[spec.target]
                )
                values[node] = graph.get_attr(spec.target)
        held |= {n.target: getattr(self._graph_module, n.target) for n in self.graph.nodes if n.op == "get_attr"}
        inputs = [n for n in values.values() if n.op == "placeholder"]
        if check_guards:
            graph.call_function(_check_shapes, (inputs, [n.meta.get("shape") for n in inputs]))
        graph.output(graph.graph_copy(self.graph, values))
        graph._codegen = _PyTreeCodeGen(
            _PyTreeInfo(list(self._names), self._call_spec.in_spec, self._call_spec.out_spec)
        )
        module = _Module(held, graph)
        for spec in self._graph_signature.input_specs:
            owner, _, name = (spec.target or "").rpartition(".")
            if spec.kind is InputKind.BUFFER and spec.persistent is False:
                module.get_submodule(owner)._non_persistent_buffers_set.add(name)
            elif spec.kind is InputKind.CONSTANT_TENSOR:
                setattr(module.get_submodule(owner), name, module.get_submodule(owner)._buffers.pop(name))
        return module

    def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops=False):
        """Return the program with operators decomposed by the functions in a table."""
        placeholders = [n for n in self.graph.nodes if n.op == "placeholder"]
        given = [n.meta["val"] for n in placeholders]
        graph = _named(
            make_fx(self._graph_module, decomp_table, tracing_mode="fake")(*given).graph,
            [n.name for n in placeholders],
            given,
        )
        return _program(self._graph_module, graph, self)

    def validate(self):
        """Check that the graph is well-formed."""
        self.graph.lint()

    def __deepcopy__(self, memo):
        new = object.__new__(type(self))
        memo[id(self)] = new
        new.__dict__.update(
            {
                k: copy.deepcopy(v, memo) if k in ("_graph_module", "_state_dict", "_constants") else v
                for k, v in self.__dict__.items()
            }
        )
        return new

    def __str__(self):
        text = self._graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {text}\nGraph signature: {self._graph_signature}\nRange constraints: "
            f"{self.range_constraints}\n"
        )

    __repr__ = __str__


class _Module(GraphModule):
    """The module of a program. The graph fixes training or evaluation mode, so it cannot be changed."""

    def train(self, mode=True):
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self):
        raise NotImplementedError("Calling eval() is not supported yet.")


def _program(root, graph, like):
    signature = ExportGraphSignature(like.graph_signature.input_specs, _outputs(graph))
    return ExportedProgram(
        root, graph, signature, like.state_dict, like.constants, like.call_spec, like._names, like.example_inputs
    )


def _check_shapes(inputs, shapes):
    """Raise AssertionError if the shape of an input differs from that of the example."""
    for i, (value, shape) in enumerate(zip(inputs, shapes)):
        if isinstance(shape, (list, tuple)) and isinstance(value, torch.Tensor):
            if value.dim() != len(shape):
                raise AssertionError(f"Guard failed: input {i} has {value.dim()} dimensions, not {len(shape)}")
            for dim, (n, wanted) in enumerate(zip(value.shape, shape)):
                if n != wanted:
                    raise AssertionError(f"Guard failed: input {i}.size()[{dim}] == {wanted}")


torch.fx.node.has_side_effect(_check_shapes)


def _outputs(graph):
    values = tree_leaves(list(graph.output_node().args[0]))
    node = torch.fx.Node
    return [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(v.name) if isinstance(v, node) else ConstantArgument("", v))
        for v in values
    ]


def _named(graph, names, values):
    """Copy a graph, with a flat output and the given names for placeholders, whose meta has the example's values."""
    new, env = Graph(), {}
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    for node, name, value in zip(placeholders, names, values):
        env[node] = new.placeholder(name)
        env[node].meta = {"val": value} | ({"shape": list(value.shape)} if isinstance(value, torch.Tensor) else {})
    results = new.graph_copy(graph, env)
    new.output(tuple(tree_leaves(results)) if isinstance(results, (list, tuple, dict)) else (results,))
    new.eliminate_dead_code()
    return new


def _input_names(mod, args, kwargs):
    """Return a name for each leaf of the arguments, such as x, or x_0 and x_a inside x; and the argument names."""
    signature = inspect.signature(mod.forward)
    names, found = [], {}
    for i, p in enumerate(signature.parameters.values()):
        if p.kind is p.VAR_POSITIONAL:
            found |= {f"{p.name}_{j}": a for j, a in enumerate(args[i:])}
        elif p.kind is not p.VAR_KEYWORD and i < len(args):
            found[p.name] = args[i]
    found |= kwargs
    for name, value in found.items():
        for path, _ in torch.utils._pytree.tree_flatten_with_path(value)[0]:
            names.append(
                "_".join([name, *(str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", "")))) for k in path)])
            )
    return names, list(found)


def _constants(mod):
    """Yield (path, tensor) for tensors that are plain attributes of modules."""
    for path, m in mod.named_modules():
        for name, value in vars(m).items():
            if isinstance(value, torch.Tensor):
                yield f"{path}.{name}" if path else name, value


def _export(mod, args, kwargs):
    if not isinstance(mod, torch.nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    kwargs = kwargs or {}
    parameters, buffers = dict(mod.named_parameters()), dict(mod.named_buffers())
    constants, persistent = dict(_constants(mod)), mod.state_dict(keep_vars=True)
    leaves, in_spec = tree_flatten((args, kwargs))
    named, names = _input_names(mod, args, kwargs)
    held = {**parameters, **buffers, **constants}
    out = []

    def run(*values):
        state, given = dict(zip(held, values)), torch.utils._pytree.tree_unflatten(list(values[len(held) :]), in_spec)
        attributes = {n: state.pop(n) for n in constants}
        places = [(mod.get_submodule(n.rpartition(".")[0]), n.rpartition(".")[2], v) for n, v in attributes.items()]
        try:
            for owner, name, value in places:
                setattr(owner, name, value)
            result = torch.func.functional_call(mod, state, given[0], given[1])
        finally:
            for (owner, name, _), original in zip(places, constants.values()):
                setattr(owner, name, original)
        flat, spec = tree_flatten(result)
        out[:] = [spec]
        return flat

    values = [*held.values(), *leaves]
    kinds = (
        [InputKind.PARAMETER] * len(parameters)
        + [InputKind.BUFFER] * len(buffers)
        + [InputKind.CONSTANT_TENSOR] * len(constants)
    )
    prefix = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}
    placeholders = [prefix[k] + n.replace(".", "_") for k, n in zip(kinds, held)] + named
    traced = make_fx(run, tracing_mode="fake")(*values)
    graph = _named(traced.graph, placeholders, values)
    nodes = [n for n in graph.nodes if n.op == "placeholder"]
    specs = [
        InputSpec(k, TensorArgument(n.name), target, target in persistent if k is InputKind.BUFFER else None)
        for k, n, target in zip(kinds, nodes, held)
    ]
    for node, leaf in zip(nodes[len(held) :], leaves):
        argument = ConstantArgument(node.name, leaf) if isinstance(leaf, _SHAPE_FREE) else TensorArgument(node.name)
        specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
    constants |= {n: b for n, b in buffers.items() if n not in persistent}
    signature = ExportGraphSignature(specs, _outputs(graph))
    return ExportedProgram(
        traced, graph, signature, dict(persistent), constants, CallSpec(in_spec, out[0]), names, (args, kwargs)
    )
