"""make_fx: trace the operators of a function below autograd into a graph."""

import contextlib
import functools
import inspect
import operator

import sympy
from sympy.logic.boolalg import BooleanAtom

import torch
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx import Graph, GraphModule, Proxy, Tracer
from torch.fx.graph import _PyTreeCodeGen, _PyTreeInfo
from torch._dynamo.source import ConstantSource
from torch.utils._sympy.functions import FloorDiv
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis
from torch.utils._sympy.solve import try_solve
from torch.utils._python_dispatch import TorchDispatchMode, _composites_whole, _disable_infra_mode
from torch.utils.weak import WeakIdKeyDictionary

from ._shape_env import ShapeEnv

__all__ = [
    "DecompositionInterpreter",
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "decompose",
    "disable_proxy_modes_tracing",
    "dispatch_trace",
    "extract_val",
    "fake_signature",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "is_sym_node",
    "make_fx",
    "maybe_disable_fake_tensor_mode",
    "maybe_handle_decomp",
    "proxy_call",
    "py_sym_types",
    "set_meta",
    "snapshot_fake",
    "thunkify",
    "track_tensor",
    "track_tensor_tree",
]
aten = torch.ops.aten
py_sym_types = (torch.SymInt, torch.SymFloat, torch.SymBool)
CURRENT_DECOMPOSITION_TABLE: dict = {}


def is_sym_node(node):
    """Whether a node's value is a symbolic number."""
    return isinstance(node.meta.get("val"), py_sym_types)


class PythonKeyTracer(Tracer):
    """A tracer whose graph is written by a dispatch mode below autograd."""

    def __init__(self):
        super().__init__(autowrap_modules=())
        self.tensor_tracker = WeakIdKeyDictionary()
        self.constants = (
            WeakIdKeyDictionary()
        )  # tensor: its value, for tensors of at most one element that do not depend on the graph's inputs
        self.numbers = {}  # expression: the proxy of a symbolic number
        self.sources, self.derived = {}, {}  # symbol, or another expression: (proxy of a tensor, its dimension)
        self.root = torch.nn.Module()
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}

    def call_module(self, m, forward, args, kwargs):
        return forward(*args, **kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        return attr_val

    def create_arg(self, a):
        if isinstance(a, torch.nn.Parameter):
            for name, p in self.root.named_parameters():
                if a is p:
                    return self.create_node("get_attr", name, (), {})
            name = next(
                n for i in range(len(self.tensor_attrs) + 1) if not hasattr(self.root, n := f"_param_constant{i}")
            )
            self.tensor_attrs[a] = name
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, py_sym_types):
            return super().create_arg(self.number(a))
        return super().create_arg(a)

    def unwrap_proxy(self, e):
        if isinstance(e, py_sym_types):
            return self.number(e)
        proxy = self.tensor_tracker.get(e) if isinstance(e, torch.Tensor) else None
        return e if proxy is None else proxy

    # -------------------------------------------------------------------------------------------- symbolic numbers
    def note_sizes(self, tensor, proxy):
        """Note which symbols the sizes of a tensor of the graph give."""
        for dim, n in enumerate(tensor.shape):
            if isinstance(n, torch.SymInt) and not n.node.is_nested_int():
                expr = n.node.expr
                (self.sources if expr.is_Symbol else self.derived).setdefault(expr, (proxy, dim))

    def note_number(self, number, proxy):
        """Note the proxy of a symbolic number."""
        self.numbers.setdefault(number.node.expr, proxy)

    def number(self, a):
        """Return the proxy of a symbolic number, which nodes compute from sizes; a plain number for a constant."""
        if not isinstance(a, py_sym_types) or a.node.is_nested_int():
            return a
        node = a.node
        expr = node.expr
        if expr.is_number or isinstance(expr, BooleanAtom):
            return node.pytype(expr)
        found = self.numbers.get(expr)
        if found is None:
            found = self.numbers[expr] = self._computed(expr, node)
            if isinstance(found, Proxy) and "val" not in found.node.meta:
                found.node.meta["val"] = a
        return found

    def _computed(self, expr, node):
        place = self.sources.get(expr)
        if place is None and (node is None or node.how is None):
            place = self.derived.get(expr)
        if place is not None:
            return self.create_proxy("call_function", aten.sym_size.int, place, {}, name="sym_size_int")
        if node is not None and node.how is not None:
            function, operands = node.how
            return self.create_proxy("call_function", function, tuple(map(self.number, operands)), {})
        if expr.is_Symbol:
            return self._solved(expr)
        return sympy_interp(_Recorded(self), {}, expr, missing_handler=self._symbol)

    def _symbol(self, symbol):
        """Return the proxy of a symbol."""
        found = self.numbers.get(symbol)
        if found is None:
            found = self.numbers[symbol] = self._computed(symbol, None)
            if isinstance(found, Proxy) and (mode := self.shape_env()) is not None:
                found.node.meta.setdefault("val", mode.create_symintnode(symbol))
        return found

    def shape_env(self):
        """Return the environment of the sizes of the graph, or None."""
        for place, _ in (*self.sources.values(), *self.derived.values()):
            mode = getattr(place.node.meta.get("val"), "fake_mode", None)
            if mode is not None:
                return mode.shape_env
        return None

    def _solved(self, symbol):
        """Return the proxy of a symbol that occurs in sizes as part of an expression, such as 2*s0."""
        for expr, (proxy, dim) in self.derived.items():
            given = sympy.Symbol("given", integer=True)
            solved = try_solve(sympy.Eq(expr, given), symbol) if expr.free_symbols == {symbol} else None
            if solved is not None and solved[0].func is sympy.Eq:
                size = self.create_proxy("call_function", aten.sym_size.int, (proxy, dim), {}, name="sym_size_int")
                value = solved[1]
                numerator, denominator = value.as_numer_denom()
                value = numerator if denominator == 1 else FloorDiv(numerator, denominator)
                return sympy_interp(_Recorded(self), {given: size}, value)
        raise KeyError(f"no input of the graph has the size {symbol}")


class _Recorded(PythonReferenceAnalysis):
    """Evaluates an expression by nodes of a graph."""

    def __init__(self, tracer):
        self.tracer = tracer

    def sym_sum(self, args):
        """Add terms, those with a negative factor by subtraction."""
        return functools.reduce(operator.add, args)


def extract_val(val, include_real=False):
    """Return the fake tensor that a node stores for its value."""
    if isinstance(val, FakeTensor):
        return snapshot_fake(val)
    if isinstance(val, torch.Tensor):
        with disable_proxy_modes_tracing(), maybe_disable_fake_tensor_mode():
            return (
                FakeTensorMode(allow_fallback_kernels=True).from_tensor(val.detach())
                if val.layout is torch.strided
                else None
            )
    if isinstance(val, (list, tuple)):
        return type(val)([extract_val(x) for x in val])
    return val if isinstance(val, (int, float, bool, complex, str, type(None), *py_sym_types)) else None


def snapshot_fake(val, include_real=False):
    """Return a copy of a fake tensor's current metadata."""
    with disable_proxy_modes_tracing():
        return val.detach()


def set_meta(proxy, val):
    """Store a fake tensor of a value in the node of its proxy."""
    proxy.node.meta["val"] = extract_val(val)
    return proxy


def thunkify(tracer, f, *args, **kwargs):
    """Return a cached function that makes the call when it is first called."""
    return functools.lru_cache(1)(functools.partial(f, *args, **kwargs))


def track_tensor(tensor, proxy, *, constant=None, tracer):
    """Associate a tensor with a proxy."""
    tracer.tensor_tracker[tensor] = proxy
    if isinstance(proxy, Proxy):
        tracer.note_sizes(tensor, proxy)


def track_tensor_tree(inner_res, proxy_res, *, constant=None, tracer):
    """Associate the tensors of a result with proxies; elements of sequences get their own nodes."""

    def track(e, proxy):
        if isinstance(e, torch.Tensor):
            if isinstance(proxy, Proxy):
                set_meta(proxy, e)
            track_tensor(e, proxy, tracer=tracer)
        elif isinstance(e, py_sym_types):
            if isinstance(proxy, Proxy):
                proxy.node.meta["val"] = e
                tracer.note_number(e, proxy)
        elif isinstance(e, (list, tuple)):
            if isinstance(proxy, Proxy):
                proxy.node.meta["val"] = extract_val(e)
            for i, member in enumerate(e):
                if isinstance(member, (torch.Tensor, list, tuple, *py_sym_types)):
                    track(member, proxy[i])
        elif isinstance(e, dict):
            for key, member in e.items():
                track(member, proxy[key])

    track(inner_res, proxy_res)
    return inner_res


class ProxyTorchDispatchMode(TorchDispatchMode):
    """A mode that records each operator below autograd in a tracer's graph and runs it."""

    _mode_key = torch._C._TorchDispatchModeKey.PROXY

    def __init__(
        self, tracer, tracing_mode, pre_dispatch=False, _allow_fake_constant=False, _error_on_data_dependent_ops=True
    ):
        super().__init__()
        self.tracer, self.tracing_mode, self.pre_dispatch = tracer, tracing_mode, pre_dispatch
        self.decomposition_table, self.decomp_layers = {}, 0
        self._error_on_data_dependent_ops = _error_on_data_dependent_ops

    @classmethod
    def is_infra_mode(cls):
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return proxy_call(self, func, self.pre_dispatch, args, kwargs or {})


def maybe_handle_decomp(proxy_mode, op, args, kwargs):
    """Return the traced result of an operator's decomposition, or NotImplemented."""
    table = proxy_mode.decomposition_table
    if op not in table:
        return NotImplemented
    with proxy_mode:
        proxy_mode.decomp_layers += 1
        try:
            return table[op](*args, **kwargs)
        finally:
            proxy_mode.decomp_layers -= 1


def proxy_call(proxy_mode, func, pre_dispatch, args, kwargs):
    """Trace one operator."""
    leaves = pytree.tree_leaves((args, kwargs))
    if any(
        isinstance(x, torch.Tensor) and type(x) not in (torch.Tensor, torch.nn.Parameter, FakeTensor) for x in leaves
    ):
        return NotImplemented
    found = maybe_handle_decomp(proxy_mode, func, args, kwargs)
    if found is not NotImplemented:
        return found
    tracer = proxy_mode.tracer
    tracked = [x for x in leaves if isinstance(x, torch.Tensor) and x in tracer.tensor_tracker]
    constant = _of_constants(tracer, func, args, kwargs, tracked)
    symbolic = any(isinstance(x, FakeTensor) and x.fake_mode.shape_env is not None for x in leaves)
    if torch.Tag.data_dependent_output in func.tags:
        if constant is not None:
            return constant
        if not symbolic:
            _refuse_values(proxy_mode, func, tracked)
    if func is aten._local_scalar_dense.default:
        if not symbolic or not tracked:
            return func(*args, **kwargs)
        if proxy_mode.pre_dispatch:
            func = aten.item.default
    if func is aten.lift_fresh.default:
        func = aten.lift_fresh_copy.default
    proxy_args, proxy_kwargs = pytree.tree_map(tracer.unwrap_proxy, (args, kwargs))
    name = tracer.graph._target_to_str(func.overloadpacket.__name__)
    proxy_out = tracer.create_proxy("call_function", func, proxy_args, proxy_kwargs, name=name)
    out = func(*args, **kwargs)
    if func.overloadpacket.__name__[-1] == "_" and func.overloadpacket.__name__[0] != "_" and args:
        written = args[0] if isinstance(args[0], (list, tuple)) else (args[0],)
        for i, a in enumerate(written):
            track_tensor(a, proxy_out[i] if isinstance(args[0], (list, tuple)) else proxy_out, tracer=tracer)
    track_tensor_tree(out, proxy_out, tracer=tracer)
    _note_constants(tracer, out, constant)
    return out


def _refuse_values(proxy_mode, func, tracked):
    """Raise an error if a trace depends on tensor values.

    For operators other than item(), a fake mode raises the error itself.
    """
    if (
        tracked
        and proxy_mode._error_on_data_dependent_ops
        and (func is aten._local_scalar_dense.default or proxy_mode.tracing_mode == "real")
    ):
        raise RuntimeError(
            f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's "
            "likely that this is caused by data-dependent control flow or similar. It may be possible to trace this "
            "with dynamic shapes; try setting tracing_mode='symbolic' in your make_fx call."
        )


def _of_constants(tracer, func, args, kwargs, tracked):
    """Return the result of an operator on constants, computed outside the trace, or None for other inputs.

    A constant that is written to is no longer a constant then.
    """
    if func is aten.lift_fresh.default:
        inputs = [args[0]]
    else:
        inputs = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if (
            not inputs
            or any(x not in tracer.constants for x in inputs)
            or torch.Tag.nondeterministic_seeded in func.tags
        ):
            if func._schema.is_mutable and tracked and tracked[0] in tracer.constants:
                memory = tracer.constants[tracked[0]].data_ptr()
                for t in [t for t, c in tracer.constants.items() if c.data_ptr() == memory]:
                    del tracer.constants[t]
            return None
    with disable_proxy_modes_tracing(), maybe_disable_fake_tensor_mode():
        if func is aten.lift_fresh.default:
            return inputs[0].clone()
        args, kwargs = pytree.tree_map_only(torch.Tensor, tracer.constants.__getitem__, (args, kwargs))
        return func(*args, **kwargs)


def _note_constants(tracer, out, constant):
    if constant is not None:
        for t, c in zip(pytree.tree_leaves(out), pytree.tree_leaves(constant)):
            if isinstance(t, torch.Tensor) and c.numel() <= 1:
                tracer.constants[t] = c


@contextlib.contextmanager
def disable_proxy_modes_tracing(enable_current=False):
    """Context manager in which nothing is traced."""
    with _disable_infra_mode(torch._C._TorchDispatchModeKey.PROXY) as mode:
        yield mode


@contextlib.contextmanager
def maybe_disable_fake_tensor_mode():
    """Context manager without a fake mode."""
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily() as mode:
        yield mode


def get_proxy_mode():
    """Return the active tracing mode, or None."""
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY)


get_innermost_proxy_mode = get_proxy_mode


def fake_signature(fn, nargs):
    """Return the function with ``nargs`` named arguments."""
    names = ",".join(f"arg{i}" for i in range(nargs))
    return eval(f"lambda {names}: fn({names})", {"fn": fn})


def dispatch_trace(root, tracer, names, leaves, run, arguments=(), in_spec=None, returns=None):
    """Fill the tracer's graph: placeholders for the leaves, then the operators of run(), then the output.

    arguments, in_spec: the names and structure of nested arguments
    returns: the return annotation
    """
    for name, leaf in zip(names, leaves):
        proxy = tracer.create_proxy("placeholder", name, (), {})
        if isinstance(leaf, torch.Tensor):
            set_meta(proxy, leaf)
            track_tensor(leaf, proxy, tracer=tracer)
        elif isinstance(leaf, py_sym_types):
            track_tensor_tree(leaf, proxy, tracer=tracer)
    out_leaves, spec = pytree.tree_flatten(run())
    proxies = [tracer.unwrap_proxy(x) for x in out_leaves]
    nested = in_spec is not None
    result = tracer.create_arg(proxies if nested else pytree.tree_unflatten(proxies, spec))
    tracer.create_node("output", "output", (result,), {}, type_expr=returns)
    if nested:
        tracer.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(arguments, in_spec, spec))
    return tracer.graph


def make_fx(
    f,
    decomposition_table=None,
    tracing_mode="real",
    _allow_non_fake_inputs=False,
    *,
    pre_dispatch=False,
    record_module_stack=False,
    _allow_fake_constant=False,
    _error_on_data_dependent_ops=True,
    record_stack_traces=False,
):
    """Return a function that traces f on its arguments and returns a GraphModule of the operators.

    tracing_mode: "real" runs the operators; "fake" and "symbolic" only compute shapes. With "symbolic" sizes are
    symbols, and the result has the attribute shape_env.
    pre_dispatch: composite operators stay whole, as PyTorch has them above autograd.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be one of ['real', 'fake', 'symbolic'], got {tracing_mode}")

    @functools.wraps(f)
    def wrapped(*args):
        tracer = PythonKeyTracer()
        leaves, spec = pytree.tree_flatten(args)
        mode, shape_env = contextlib.nullcontext(), None
        if tracing_mode != "real":
            fake = next((x.fake_mode for x in leaves if isinstance(x, FakeTensor)), None)
            mode = fake or FakeTensorMode(
                allow_fallback_kernels=True,
                allow_non_fake_inputs=_allow_non_fake_inputs or _has_parameters(f),
                shape_env=ShapeEnv() if tracing_mode == "symbolic" else None,
            )
            shape_env = mode.shape_env
            leaves = [_faked(x, f"input{i}", mode, tracing_mode) for i, x in enumerate(leaves)]
        proxy_mode = ProxyTorchDispatchMode(
            tracer, tracing_mode, pre_dispatch, _error_on_data_dependent_ops=_error_on_data_dependent_ops
        )
        proxy_mode.decomposition_table = dict(decomposition_table or {})
        names = _placeholder_names(f, args)

        def run():
            with mode, proxy_mode, _recording_asserts(shape_env, tracer), _composites_whole(pre_dispatch):
                return f(*pytree.tree_unflatten(leaves, spec))

        nested = any(pytree.tree_structure(a) != pytree.tree_structure(0) for a in args)
        arguments, in_spec = (
            (_argument_names(f, args), pytree.tree_structure((list(args), {}))) if nested else ((), None)
        )
        returns = getattr(f, "__annotations__", {}).get("return")
        graph = dispatch_trace(tracer.root, tracer, names, leaves, run, arguments, in_spec, returns)
        gm = GraphModule(tracer.root, graph, getattr(f, "__name__", "<lambda>"))
        if shape_env is not None:
            gm.shape_env = shape_env
        return gm

    return wrapped


def _faked(x, name, mode, tracing_mode):
    """Return the fake tensor of an argument, or with symbolic sizes the symbol of an int."""
    if isinstance(x, torch.Tensor):
        return mode.from_tensor(x, source=ConstantSource(name))
    if type(x) is int and tracing_mode == "symbolic" and mode.shape_env is not None:
        symbol = mode.shape_env.create_symbol(x, ConstantSource(name), positive=None)
        return mode.shape_env.create_symintnode(symbol, hint=x)
    return x


@contextlib.contextmanager
def _recording_asserts(shape_env, tracer):
    """Context manager in which the graph asserts the conditions that depend on values of tensors."""
    if shape_env is None:
        yield
        return

    def note(expr):
        number = tracer.number(shape_env.create_symboolnode(expr))
        text = f"Runtime assertion failed for expression {expr} on node '{getattr(number, 'node', number)}'"
        tracer.create_proxy(
            "call_function", aten._assert_scalar.default, (number, text), {}, name="_assert_scalar_default"
        )

    before, shape_env.on_assert = shape_env.on_assert, note
    try:
        yield
    finally:
        shape_env.on_assert = before


def _has_parameters(f):
    return isinstance(f, torch.nn.Module)


def get_isolated_graphmodule(func, args, kwargs, tracing_mode="real", decomposition_table=None):
    """Trace a call without recording it in an active trace.

    The resulting GraphModule takes the list of the arguments' leaves.
    """
    leaves, spec = pytree.tree_flatten((args, kwargs))

    def wrapped(flat_args):
        positional, named = pytree.tree_unflatten(flat_args, spec)
        return func(*positional, **named)

    with disable_proxy_modes_tracing():
        return make_fx(wrapped, decomposition_table, tracing_mode)(leaves)


def _placeholder_names(f, args):
    """Return x_1 for an argument x, or x_1, x_2 … for the leaves of a nested argument."""
    return [
        f"{name}_{k + 1}" for name, a in zip(_argument_names(f, args), args) for k in range(len(pytree.tree_leaves(a)))
    ]


def _argument_names(f, args):
    try:
        if not hasattr(inspect.unwrap(f), "__code__"):  # for example a module
            raise TypeError
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = len(parameters) >= len(args) and all(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters[: len(args)]
    )
    return [p.name for p in parameters[: len(args)]] if plain else [f"arg{i}" for i in range(len(args))]


class DecompositionInterpreter(torch.fx.Interpreter):
    """Runs a graph and records a new one, with operators decomposed by a table."""

    def __init__(self, module, new_graph, decomposition_table=None, **kwargs):
        super().__init__(module, **kwargs)
        self.new_graph, self.decomposition_table = new_graph, dict(decomposition_table or {})
        self.tracer = PythonKeyTracer()
        self.tracer.graph = new_graph
        self.mode = ProxyTorchDispatchMode(self.tracer, "real")
        self.mode.decomposition_table = self.decomposition_table

    def placeholder(self, target, args, kwargs):
        out = super().placeholder(target, args, kwargs)
        track_tensor_tree(out, self.tracer.create_proxy("placeholder", target, (), {}), tracer=self.tracer)
        return out

    def get_attr(self, target, args, kwargs):
        out = super().get_attr(target, args, kwargs)
        track_tensor_tree(out, self.tracer.create_proxy("get_attr", target, (), {}), tracer=self.tracer)
        return out

    def output(self, target, args, kwargs):
        out = super().output(target, args, kwargs)
        self.tracer.create_node(
            "output", "output", (self.tracer.create_arg(pytree.tree_map(self.tracer.unwrap_proxy, out)),), {}
        )
        return out

    def run(self, *args, **kwargs):
        with self.mode:
            return super().run(*args, **kwargs)


@contextlib.contextmanager
def decompose(decomposition_table):
    """Context manager that sets the current decomposition table."""
    global CURRENT_DECOMPOSITION_TABLE
    before, CURRENT_DECOMPOSITION_TABLE = CURRENT_DECOMPOSITION_TABLE, decomposition_table
    try:
        yield CURRENT_DECOMPOSITION_TABLE
    finally:
        CURRENT_DECOMPOSITION_TABLE = before
