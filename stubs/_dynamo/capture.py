"""Capture graphs of torch functions while a function runs, and check when they may replace it.

PyTorch analyses bytecode. Here the function itself runs once, and its calls of torch functions become the nodes.
Everything that the function can reach (its arguments, closures, globals and the modules among them) is compared before
and after the run and at each later call, and a graph is reused only if all of it is unchanged. Where this cannot be
ensured (a branch on a tensor's value, something changed or read from outside), the function runs eagerly.
"""

import contextlib
import functools
import inspect
import operator
import re
import types

import torch
from torch.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from torch.fx.graph_module import GraphModule
from torch.fx.node import map_aggregate
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from . import config
from .exc import BackendCompilerFailed, Unsupported
from .external_utils import compiling

_PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    torch.dtype,
    torch.device,
    torch.Size,
    torch.memory_format,
    torch.layout,
    type(...),
)
# modules that a function may call without making its graph invalid
_PURE = (
    "torch",
    "math",
    "operator",
    "functools",
    "itertools",
    "collections",
    "typing",
    "types",
    "enum",
    "dataclasses",
    "contextlib",
    "copy",
    "abc",
)
_LIMIT = 20_000  # largest number of objects that are inspected


class Break(Exception):
    """A graph break, with its reason and whether PyTorch could not continue the graph either."""

    def __init__(self, reason, fundamental=False):
        super().__init__(reason)
        self.reason, self.fundamental = reason, fundamental


def items_of(value):
    """Return the elements of a list or a tuple, the pairs of a dict, and None for anything else.

    A subclass is read by the methods of the builtin class: its own are the program's.
    """
    for base, read in ((list, list.__iter__), (tuple, tuple.__iter__), (dict, dict.items)):
        if isinstance(value, base):
            return list(read(value))
    return None


# -------------------------------------------------------------------------------------------- what a function can reach
class Reached:
    """What a function can reach.

    facts: values to compare. tensors: by path. identities: objects that a run must not replace.
    """

    def __init__(self):
        self.facts, self.tensors, self.identities, self.seen, self.impure = [], {}, [], {}, None

    def add(self, path, value):
        """Add a value and what it contains."""
        if isinstance(value, _PLAIN):
            self.facts.append((path, type(value), value))
            return
        if id(value) in self.seen:
            self.facts.append((path, "same", self.seen[id(value)]))
            return
        if len(self.seen) > _LIMIT:
            self.impure = "more objects than are looked at"
            return
        self.seen[id(value)] = path
        self.identities.append((path, id(value)))
        if isinstance(value, torch.Tensor):
            self.tensors[path] = value
            self.facts.append(
                (path, type(value), value.dtype, tuple(value.shape), value.stride(), value.requires_grad, value.device)
            )
        else:
            self._inside(path, value)

    def _inside(self, path, value):
        items = items_of(value)
        if items is not None and isinstance(value, dict):
            self.facts.append((path, type(value), tuple(repr(k) for k, _ in items)))
            for k, v in items:
                self.add(f"{path}[{k!r}]", v)
        elif items is not None:
            self.facts.append((path, type(value), len(items)))
            for i, v in enumerate(items):
                self.add(f"{path}[{i}]", v)
        elif isinstance(value, torch.nn.Module):
            self.module(path, value)
        elif isinstance(value, types.MethodType):
            self.add(f"{path}.__self__", value.__self__)
            self.add(f"{path}.__func__", value.__func__)
        elif isinstance(value, types.FunctionType):
            self.function(path, value)
        elif isinstance(value, functools.partial):
            self._inside(path, [value.func, value.args, value.keywords])
        elif isinstance(value, types.ModuleType):
            self.facts.append((path, id(value)))
            if value.__name__.partition(".")[0] not in _PURE:
                self.impure = f"it reads {value.__name__}"
        else:
            self.facts.append((path, type(value), id(value)))
            if not isinstance(value, type) and type(value).__module__ != "builtins" and hasattr(value, "__dict__"):
                self._inside(path, vars(value))

    def module(self, path, module):
        """Add a module: the code of its class, its state, hooks and children."""
        self.facts.append((path, type(module), module.training))
        for name, value in vars(module).items():
            if name == "_modules":
                for child, m in value.items():
                    self.add(f"{path}._modules[{child!r}]", m)
            elif name != "_compiled_call_impl" and not (isinstance(value, (dict, tuple)) and not items_of(value)):
                self.add(f"{path}.{name}", value)
        if not type(module).__module__.startswith("torch."):
            self.function(f"{path}.forward", type(module).forward)

    def function(self, path, function):
        """Add a function: its defaults, its closure, and the globals that its code names."""
        self.facts.append((path, id(function.__code__)))
        if function.__module__ is not None and function.__module__.partition(".")[0] == "torch":
            return
        for i, cell in enumerate(function.__closure__ or ()):
            try:
                self.add(f"{path}.{function.__code__.co_freevars[i]}", cell.cell_contents)
            except ValueError:  # the cell is still empty
                self.facts.append((path, i))
        self.add(f"{path}.__defaults__", function.__defaults__)
        self.add(f"{path}.__kwdefaults__", function.__kwdefaults__)
        names = _names(function.__code__)
        for name in names:
            if name in function.__globals__:
                self.add(f"G[{name!r}]", function.__globals__[name])
            elif name in ("print", "input", "open", "exec", "eval", "globals", "id"):
                self.impure = f"it calls {name}"


@functools.lru_cache(maxsize=1000)
def _names(code):
    """Return the global names in a function's code, including those of inner functions."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= set(_names(constant))
    return tuple(sorted(found))


def root_of(fn):
    """Return the module that fn is the call of, else the function itself."""
    owner = getattr(fn, "__self__", None)
    return (
        owner
        if isinstance(owner, torch.nn.Module)
        and fn.__name__ in ("__call__", "_call_impl", "_wrapped_call_impl", "forward")
        else fn
    )


def named_arguments(fn, args, kwargs, defaults=True):
    """Return the arguments of a call by name, by default with the default values."""
    root = root_of(fn)
    bound = inspect.signature(root.forward if isinstance(root, torch.nn.Module) else root).bind(*args, **kwargs)
    if defaults:
        bound.apply_defaults()
    return bound.arguments


def reached(fn, arguments):
    """Return what `fn` can reach when it is called with these arguments (a dict by name)."""
    found, root = Reached(), root_of(fn)
    for name, value in arguments.items():
        found.add(f"L[{name!r}]", value)
    found.add("L['self']" if isinstance(root, torch.nn.Module) else "F", root)
    found.facts.append(
        (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.get_default_dtype(),
            torch.are_deterministic_algorithms_enabled(),
            torch.overrides._len_torch_function_stack(),
        )
    )
    return found


# ------------------------------------------------------------------------------------------------ one run
_VALUES = {"item", "tolist", "numpy", "__int__", "__float__", "__index__", "__complex__", "__array__"}
_EFFECTS = {"backward", "requires_grad_", "retain_grad", "register_hook", "set_", "__set__", "share_memory_"}
_BY_VALUE = {"nonzero", "masked_select", "unique", "unique_consecutive", "argwhere", "bincount", "nonzero_static"}


class Recorder(TorchFunctionMode):
    """Record a node for each call of a torch function.

    Tensors from outside become placeholders, which are named after their path.
    """

    def __init__(self, tensors, fullgraph):
        super().__init__()
        self.graph, self.nodes, self.kept, self.paths = Graph(), {}, [], []
        self.sources, self.fullgraph, self.failure, self.kept_inputs = {}, fullgraph, None, []
        self.modules = []  # modules whose forward is running
        for path, t in tensors.items():
            self.sources.setdefault(id(t), path)

    def node(self, t):
        """Return the node of a tensor; tensors from outside get a placeholder."""
        if id(t) not in self.nodes:
            if id(t) not in self.sources:
                raise Break("a tensor that no torch function returned")
            path = self.sources[id(t)]
            first = next((n for n in self.graph.nodes if n.op != "placeholder"), None)
            with contextlib.nullcontext() if first is None else self.graph.inserting_before(first):
                node = self.graph.placeholder(_placeholder(path), type_expr=type(t))
            node.meta["example_value"] = t
            self.nodes[id(t)] = node
            self.kept.append(t)
            self.paths.append(path)
            self.kept_inputs.append(t)
        return self.nodes[id(t)]

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.failure is not None:
            return func(*args, **kwargs)
        try:
            self._refuse(func, getattr(func, "__name__", ""), args)
        except Break as failure:
            if self.fullgraph and failure.fundamental:
                raise Unsupported(failure.reason) from None
            self.failure = failure
        result = func(*args, **kwargs)
        if self.failure is None:
            try:
                self._record(func, args, kwargs, result)
            except Break as failure:
                self.failure = failure
        return result

    def _record(self, func, args, kwargs, result):
        name = getattr(func, "__name__", "")
        leaves = [x for x in tree_flatten(result)[0] if isinstance(x, torch.Tensor)]
        if not leaves or all(id(x) in self.nodes or id(x) in self.sources for x in leaves) and not name.endswith("_"):
            return
        args, kwargs = map_aggregate((args, kwargs), lambda a: self.node(a) if isinstance(a, torch.Tensor) else a)
        if name == "__get__":
            owner = func.__self__
            node = self.graph.call_function(getattr, (args[0], getattr(owner, "__name__", None) or owner.fget.__name__))
        elif getattr(torch.Tensor, name, None) is func:
            node = _operator_node(self.graph, name, args, kwargs)
        else:
            node = self.graph.call_function(func, args, kwargs)
        within = type(self.modules[-1]) if self.modules else None
        source = (
            within
            if within is not None and within.__module__.startswith(("torch.nn.", "torch.ao.nn."))
            else node.target
        )
        node.meta["source_fn_stack"] = [(node.name, source)]
        self._results(node, result)

    @contextlib.contextmanager
    def following_modules(self):
        """Context manager that keeps track of the modules whose forward is running."""
        hooks = (
            register_module_forward_pre_hook(lambda module, args: self.modules.append(module)),
            register_module_forward_hook(lambda module, args, out: self.modules.remove(module), always_call=True),
        )
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _results(self, node, result):
        """Record which node returns which tensor."""
        if isinstance(result, torch.Tensor):
            if id(result) not in self.nodes and id(result) not in self.sources:
                self.nodes[id(result)] = node
                self.kept.append(result)
        elif isinstance(result, (list, tuple)):
            for i, r in enumerate(result):
                if any(isinstance(x, torch.Tensor) for x in tree_flatten(r)[0]):
                    self._results(self.graph.call_function(operator.getitem, (node, i)), r)
        else:
            raise Break(f"a function that returns {type(result).__name__}")

    @staticmethod
    def _refuse(func, name, args):
        if name == "__bool__":
            raise Break("Data-dependent branching", fundamental=True)
        if name == "backward":
            raise Break("Unsupported Tensor.backward() call", fundamental=True)
        if name in _VALUES or name in _EFFECTS or name in _BY_VALUE or func is torch.autograd.grad:
            raise Break(f"the graph can't hold {name}")
        if name == "where" and len(args) == 1:
            raise Break("Dynamic shape operator", fundamental=True)
        if name == "__getitem__":
            masks = args[1] if isinstance(args[1], tuple) else (args[1],)
            if any(isinstance(m, torch.Tensor) and m.dtype in (torch.bool, torch.uint8) for m in masks):
                raise Break("Dynamic shape operator", fundamental=True)


_OPERATORS = {name: getattr(operator, name) for name in "add sub mul matmul neg eq ne lt gt le ge pow".split()} | {
    "div": operator.truediv
}


def _operator_node(graph, name, args, kwargs):
    """Add a node for a Tensor method: operators become functions of `operator`, other methods call_method.

    The mode cannot distinguish x.add(y) from x + y, so both become operator.add.
    """
    if name in _OPERATORS and not kwargs:
        return graph.call_function(_OPERATORS[name], args)
    plain = name.strip("_")
    if name.startswith("__") and name.endswith("__"):
        if plain.startswith("r") and hasattr(operator, plain[1:]) and not hasattr(operator, plain):
            return graph.call_function(getattr(operator, plain[1:]), (args[1], args[0]))
        target = getattr(operator, plain, None) or getattr(operator, plain + "_", None)
        if target is not None and not kwargs:
            return graph.call_function(target, args)
    return graph.call_method(name, args, kwargs)


def _placeholder(path):
    """Return a placeholder's name: L['self']._parameters['weight'] becomes L_self_parameters_weight_."""
    text = re.sub(r"\._(parameters|buffers|modules)", r".\1", path).replace("['", "_").replace("']", "")
    return re.sub(r"\W", "_", text).rstrip("_") + "_"


class Captured:
    """One captured run of a function.

    It holds the graph as a module that takes the tensors at `paths`, and the structure of the results.
    """

    def __init__(self, fn, args, kwargs, before, fullgraph=False):
        self.facts, recorder = before.facts, Recorder(before.tensors, fullgraph)
        versions = [t._version for t in before.tensors.values() if not t.is_inference()]
        state = torch.get_rng_state()
        with compiling(), recorder, recorder.following_modules():
            self.result = fn(*args, **kwargs)
        self.failure = recorder.failure
        if self.failure is not None:
            return
        leaves, self.spec = tree_flatten(self.result, is_leaf=lambda x: isinstance(x, torch.Size))
        self.pure = versions == [t._version for t in before.tensors.values() if not t.is_inference()]
        self.state = state if not torch.equal(state, torch.get_rng_state()) else None
        try:
            if not all(isinstance(x, (torch.Tensor, *_PLAIN)) for x in leaves):
                raise Break("a result that is no tensor")
            outputs = [x for x in leaves if isinstance(x, torch.Tensor)]
            recorder.graph.output(tuple(recorder.node(x) for x in outputs))
        except Break as failure:
            self.failure = failure
            return
        self.leaves = [None if isinstance(x, torch.Tensor) else (x,) for x in leaves]
        self.paths, self.tensors = recorder.paths, recorder.kept_inputs
        recorder.graph.eliminate_dead_code(
            lambda n: n.is_impure() or n.op == "call_function" and n.target is torch.nn.functional.dropout
        )
        self.module = GraphModule(torch.nn.Module(), recorder.graph)

    def inputs(self, now):
        """Return the tensors that the graph takes, from what can be reached now."""
        return [now.tensors[p] for p in self.paths]

    def run(self, now):
        """Compute the results by the compiled graph."""
        out = self.compiled(*self.inputs(now))
        values = iter(out if isinstance(out, (list, tuple)) else (out,))
        return tree_unflatten([next(values) if x is None else x[0] for x in self.leaves], self.spec)

    def with_signature(self, fn, args, kwargs):
        """Return the graph as a module with the function's arguments; other tensors become attributes."""
        arguments = named_arguments(fn, args, kwargs, defaults=False)
        names = list(arguments)
        graph, values, held = Graph(), {}, {}
        leaves, spec = tree_flatten(([arguments[n] for n in names], {}))
        flat = {id(t): graph.placeholder(f"arg{i}") for i, t in enumerate(leaves)}
        for node, t in zip([n for n in self.module.graph.nodes if n.op == "placeholder"], self.tensors):
            if id(t) in flat:
                values[node] = flat[id(t)]
            else:
                held[node.name] = t
                values[node] = graph.get_attr(node.name)
        results = iter(graph.graph_copy(self.module.graph, values))
        graph.output([next(results) if x is None else x[0] for x in self.leaves])
        graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, spec, self.spec))
        return GraphModule(held, graph)


class Compiled:
    """A function with its captured graphs, each of them compiled by the backend."""

    def __init__(self, fn, backend, fullgraph):
        self.fn, self.backend, self.fullgraph = fn, backend, fullgraph
        self.captured, self.eager = [], False

    def __call__(self, *args, **kwargs):
        if self.eager or torch.jit.is_tracing() or torch.fx._symbolic_trace.is_fx_tracing():
            return self.fn(*args, **kwargs)
        arguments = named_arguments(self.fn, args, kwargs)
        now = reached(self.fn, arguments)
        for c in self.captured:
            if c.facts == now.facts:
                return c.run(now)
        if len(self.captured) >= config.recompile_limit:
            return self.fn(*args, **kwargs)
        return self._capture(args, kwargs, arguments, now)

    def _capture(self, args, kwargs, arguments, now):
        captured = Captured(self.fn, args, kwargs, now, self.fullgraph)
        if captured.failure is not None:
            self.eager = True
            return captured.result
        captured.compiled = self._compile(captured, now)
        after = reached(self.fn, arguments)
        if now.impure or after.facts != now.facts or after.identities != now.identities:
            self.eager = True
            return captured.result
        self.captured.append(captured)
        if not captured.pure:
            return captured.result
        if captured.state is not None:
            torch.set_rng_state(captured.state)
        return captured.run(now)

    def _compile(self, captured, now):
        if not any(n.op.startswith("call") for n in captured.module.graph.nodes):
            return captured.module
        try:
            compiled = self.backend(captured.module, captured.inputs(now))
        except Exception as error:
            if config.suppress_errors:
                return captured.module
            raise BackendCompilerFailed(self.backend, error) from error
        if not callable(compiled):
            raise BackendCompilerFailed(self.backend, TypeError("compiler_fn did not return callable"))
        return compiled
