"""torch.export.export: traces a module on fake tensors with symbolic sizes."""

import contextlib
import inspect

import sympy

import torch
from torch._dynamo.exc import UserError, UserErrorType
from torch._dynamo.external_utils import compiling
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental._shape_env import GuardOnDataDependentSymNode, ShapeEnv
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.traceback import module_calls
from torch.utils._pytree import tree_flatten, tree_flatten_with_path, tree_leaves, tree_unflatten
from torch.utils._sympy.numbers import int_oo

from .dynamic_shapes import (
    AdditionalInputs,
    ShapesCollection,
    check_constraints,
    combined_args,
    ranges,
    symbols_of,
    written,
)
from .exported_program import ExportedProgram, Guards, ModuleCallEntry, ModuleCallSignature, argument_of, outputs_of
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, InputSpec, TensorArgument

_PLAIN = (int, float, bool, str, type(None), complex, torch.dtype, torch.device, torch.layout, torch.memory_format)
_ADVICE = (
    "\n\nThe error above occurred when calling torch.export.export. If you would like to view some more information "
    "about this error, and get a list of all other errors that may occur in your export call, you can replace your "
    "`export()` call with `draft_export()`."
)
_PREFIX = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}


def export(
    mod,
    args,
    kwargs=None,
    *,
    dynamic_shapes=None,
    strict=False,
    preserve_module_call_signature=(),
    prefer_deferred_runtime_asserts_over_guards=False,
    **_,
):
    """Export a module, with example arguments, as an ExportedProgram.

    Args:
        mod: the module.
        args, kwargs: the example's arguments.
        dynamic_shapes: for each argument which sizes are symbols: ``{"x": {0: Dim("batch"), 1: Dim.AUTO}}``, or in the
            structure of the arguments; None keeps all sizes of the example.
        strict: ignored; the module runs as Python runs it.
        preserve_module_call_signature: names of modules, which are noted in ``module_call_graph``.
        prefer_deferred_runtime_asserts_over_guards: whether conditions on sizes that torch._check states become
            assertions of the graph.

    Raises:
        UserError: for wrong arguments, and sizes declared dynamic that the program fixes.
        GuardOnDataDependentSymNode: for control flow that depends on values of tensors.
    """
    if not isinstance(mod, torch.nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if isinstance(mod, torch.jit.ScriptModule):
        raise ValueError(
            "Exporting a ScriptModule is not supported. Maybe try converting your ScriptModule to an ExportedProgram "
            "using `TS2EPConverter(mod, args, kwargs).convert()` instead."
        )
    if not isinstance(args, tuple):
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}" + _ADVICE,
        )
    try:
        return _export(
            mod,
            args,
            kwargs or {},
            dynamic_shapes,
            preserve_module_call_signature,
            prefer_deferred_runtime_asserts_over_guards,
        )
    except (UserError, GuardOnDataDependentSymNode) as error:
        error.args = (str(error) + _ADVICE,)
        raise


class _Held:
    """The parameters, buffers and tensor attributes of a module, by name, with the kind of each."""

    def __init__(self, mod):
        self.parameters, self.buffers = dict(mod.named_parameters()), dict(mod.named_buffers())
        self.persistent = mod.state_dict(keep_vars=True)
        self.constants = {n: t for n, t in _constants(mod) if not isinstance(t, FakeTensor)}
        self.all = {**self.parameters, **self.buffers, **self.constants}
        self.kinds = (
            [InputKind.PARAMETER] * len(self.parameters)
            + [InputKind.BUFFER] * len(self.buffers)
            + [InputKind.CONSTANT_TENSOR] * len(self.constants)
        )

    def names(self):
        return [_PREFIX[k] + n.replace(".", "_").lower() for k, n in zip(self.kinds, self.all)]


def _constants(mod):
    """Yield (path, tensor) for tensors that are plain attributes of modules."""
    for path, m in mod.named_modules():
        for name, value in vars(m).items():
            if isinstance(value, torch.Tensor):
                yield f"{path}.{name}" if path else name, value


def _input_names(arguments):
    """Return a name for each leaf of the arguments, such as x, or x_0 and x_a inside x."""
    names = []
    for name, value in arguments:
        for path, _ in tree_flatten_with_path(value)[0]:
            parts = (str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", "")))) for k in path)
            names.append("_".join([name, *parts]).lower())
    return names


def _ordered(mod, args, kwargs):
    """Return [(name, argument)] as they are flattened: positional ones, then keywords in the order of the call."""
    signature, found = inspect.signature(mod.forward), []
    for i, p in enumerate(signature.parameters.values()):
        if p.kind is p.VAR_POSITIONAL:
            found += [(f"{p.name}_{j}", a) for j, a in enumerate(args[i:])]
        elif p.kind is not p.VAR_KEYWORD and i < len(args):
            found.append((p.name, args[i]))
    return found + list(kwargs.items())


def _fake_inputs(mode, symbols, leaves, places):
    """Return fake tensors and symbolic ints for the leaves of the arguments."""
    found = []
    for leaf, place in zip(leaves, places):
        context = symbols.contexts.get(place)
        if isinstance(leaf, torch.Tensor):
            found.append(_fake_input(mode, symbols, leaf, context))
        elif context is not None:
            found.append(symbols.env.create_symintnode(context, hint=leaf))
        else:
            found.append(leaf)
    return found


def _fake_input(mode, symbols, leaf, context):
    if context is not None and any(not e.is_number for e in context.given.values()):
        fake = mode.from_tensor(leaf.detach(), symbolic_context=context)
    else:
        fake = mode.from_tensor(leaf.detach(), static_shapes=True)
    return fake


def _places(combined, leaves):
    """Return, for each leaf of (args, kwargs), its position among the leaves of the arguments by name."""
    position = {}
    for i, leaf in enumerate(tree_leaves(dict(combined))):
        position.setdefault(id(leaf), []).append(i)
    return [position[id(leaf)].pop(0) for leaf in leaves]


def _export(mod, args, kwargs, dynamic_shapes, preserved, prefer_asserts):
    extra = dynamic_shapes if isinstance(dynamic_shapes, AdditionalInputs) else None
    if isinstance(dynamic_shapes, (AdditionalInputs, ShapesCollection)):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(mod, args, kwargs)
    leaves, in_spec = tree_flatten((args, kwargs))
    env = ShapeEnv(prefer_deferred_runtime_asserts_over_guards=prefer_asserts)
    mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True, export=True)
    combined = combined_args(mod, args, kwargs)
    symbols = symbols_of(combined, dynamic_shapes, env)
    places = _places(combined, leaves)
    fakes = _fake_inputs(mode, symbols, leaves, places)
    held, arguments = _Held(mod), _ordered(mod, args, kwargs)
    state = [_fake_state(mode, t, k) for k, t in zip(held.kinds, held.all.values())]
    run = _Run(mod, held, in_spec)
    names = {}
    for name, module in mod.named_modules():
        names.setdefault(id(module), name)
    with compiling(exporting=True), module_calls(names):
        traced = make_fx(run, tracing_mode="fake", pre_dispatch=True)(*state, *fakes)
    check_constraints(symbols)
    names = _input_names(arguments)
    graph = named(traced.graph, [*held.names(), *names], [*state, *fakes])
    kinds, targets = list(held.kinds), list(held.all)
    specs = _input_specs(graph, held, kinds, targets, leaves)
    constants = {n: held.all[n] for n, k in zip(held.all, held.kinds) if k is InputKind.CONSTANT_TENSOR}
    constants |= {n: b for n, b in held.buffers.items() if n not in held.persistent}
    specs = _lifted(traced, graph, specs, constants, len(state))
    signature = ExportGraphSignature(specs, outputs_of(graph))
    calls = [
        ModuleCallEntry("", ModuleCallSignature([], [], in_spec, run.out_spec, [n for n, _ in arguments])),
        *(ModuleCallEntry(n) for n, _ in mod.named_modules() if n),
    ]
    root = GraphModule(traced, graph)
    program = ExportedProgram(
        root,
        graph,
        signature,
        dict(held.persistent),
        ranges(symbols, fakes, _used(graph)),
        calls,
        (args, kwargs),
        constants,
        guards=guards_of(env, names, fakes, [symbols.sources[i] for i in places]),
    )
    if extra is not None:
        extra.verify(program)
    return program


def _fake_state(mode, t, kind):
    """Return the fake tensor of a parameter or a buffer. It needs no gradient, so that operators stay whole.

    A number that is an attribute of a module is known as long as the program does not change it.
    """
    if kind is InputKind.CONSTANT_TENSOR and t.numel() == 1:
        return mode.fake_tensor_converter.from_real_tensor(mode, t.detach(), make_constant=True)
    fake = mode.from_tensor(t, static_shapes=True)
    return fake.detach() if fake.requires_grad and not fake.is_leaf else fake.requires_grad_(False)


class _Run:
    """Calls a module with its parameters, buffers and attributes replaced, on the flat values of all."""

    def __init__(self, mod, held, in_spec):
        self.mod, self.held, self.in_spec, self.out_spec = mod, held, in_spec, None

    def __call__(self, *values):
        held, n = self.held, len(self.held.all)
        state = dict(zip(held.all, values))
        args, kwargs = tree_unflatten(list(values[n:]), self.in_spec)
        hook = self.mod.register_forward_hook(lambda module, args, result: _write_back(module, held.buffers, state))
        try:
            with _attributes(self.mod, {name: state.pop(name) for name in held.constants}):
                result = torch.func.functional_call(self.mod, state, args, kwargs)
        finally:
            hook.remove()
        flat, self.out_spec = tree_flatten(result)
        return flat


def _write_back(mod, names, state):
    """Write buffers that the program set anew into the ones that the graph has."""
    for name in names:
        owner, _, last = name.rpartition(".")
        value = getattr(mod.get_submodule(owner), last)
        if value is not state[name] and isinstance(value, torch.Tensor):
            state[name].copy_(value)


@contextlib.contextmanager
def _attributes(mod, values):
    """Context manager in which attributes of modules have other values."""
    places = [(mod.get_submodule(n.rpartition(".")[0]), n.rpartition(".")[2], v) for n, v in values.items()]
    before = [getattr(owner, name) for owner, name, _ in places]
    try:
        for owner, name, value in places:
            setattr(owner, name, value)
        yield
    finally:
        for (owner, name, _), original in zip(places, before):
            setattr(owner, name, original)


def named(graph, names, values):
    """Copy a graph, with a flat output and the given names for placeholders, whose meta has fake values."""
    new, env = Graph(), {}
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    for node, name, value in zip(placeholders, names, values):
        env[node] = new.placeholder(name)
        env[node].meta = {**node.meta, "val": value}
    results = new.graph_copy(graph, env)
    new.output(tuple(tree_leaves(results)) if isinstance(results, (list, tuple, dict)) else (results,))
    new.eliminate_dead_code()
    return new


def _input_specs(graph, held, kinds, targets, leaves):
    nodes = [n for n in graph.nodes if n.op == "placeholder"]
    specs = [
        InputSpec(k, TensorArgument(n.name), target, target in held.persistent if k is InputKind.BUFFER else None)
        for k, n, target in zip(kinds, nodes, targets)
    ]
    for node, leaf in zip(nodes[len(targets) :], leaves):
        symbolic = isinstance(node.meta.get("val"), (torch.SymInt, torch.Tensor))
        argument = argument_of(node) if symbolic else ConstantArgument(node.name, leaf)
        specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
    return specs


def _lifted(root, graph, specs, constants, at):
    """Make inputs of the tensors that the program created from numbers, which the graph has as attributes."""
    found = {}
    nodes = [n for n in graph.nodes if n.op == "placeholder"]
    first = nodes[at] if at < len(nodes) else next(n for n in graph.nodes if n.op != "placeholder")
    for node in [n for n in graph.nodes if n.op == "get_attr"]:
        value = getattr(root, node.target)
        if not isinstance(value, torch.Tensor):
            continue
        if node.target not in found:
            target = f"lifted_tensor_{len(found)}"
            with graph.inserting_before(first):
                new = graph.placeholder(f"c_{target}")
            new.meta = {**node.meta, "val": node.meta.get("val", value)}
            constants[target] = value
            found[node.target] = new, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(new.name), target)
        node.replace_all_uses_with(found[node.target][0])
        graph.erase_node(node)
    return [*specs[:at], *(spec for _, spec in found.values()), *specs[at:]]


def _used(graph):
    """Return the symbols in the values of a graph's nodes, in the order of their names."""
    found = set()
    for node in graph.nodes:
        found |= set(free_symbols(node.meta.get("val")))
    return sorted(found, key=str)


def guards_of(env, names, fakes, sources=None):
    """Return the conditions on the arguments under which the trace holds."""
    places, guards = {}, Guards(names, sources=sources)
    for name, fake in zip(names, fakes):
        if isinstance(fake, torch.SymInt):
            places.setdefault(env.replace(fake.node._expr), name)
        for i, n in enumerate(fake.shape if isinstance(fake, torch.Tensor) else ()):
            if isinstance(n, torch.SymInt) and (e := env.replace(n.node._expr)).is_Symbol:
                places.setdefault(e, f"{name}.size()[{i}]")

    for name, fake in zip(names, fakes):
        if isinstance(fake, torch.Tensor):
            for i, n in enumerate(fake.shape):
                _guard_size(env, f"{name}.size()[{i}]", n, places, guards.add)
    for guard in env.get_nontrivial_guards():
        if guard.free_symbols <= places.keys() and not env.implied_by_ranges(guard):
            guards.add(written(guard, places))
    return guards


def _guard_size(env, text, n, places, add):
    """Add the conditions on one size of an argument."""
    expr = env.replace(n.node._expr) if isinstance(n, torch.SymInt) else sympy.Integer(int(n))
    if expr.is_number:
        add(f"{text} == {expr}")
        return
    if places.get(expr) != text and expr.free_symbols <= places.keys():
        add(f"{text} == {written(expr, places)}")
    r = env.bound_sympy(expr)
    if r.lower > 2:
        add(f"{text} >= {r.lower}")
    if r.upper != int_oo:
        add(f"{text} <= {r.upper}")
