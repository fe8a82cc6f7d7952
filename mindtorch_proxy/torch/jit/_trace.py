"""torch.jit.trace: record the operators of a function or a module on example inputs as a graph."""

import contextlib
import warnings

import torch

from ._code import Constants
from ._script import Method, RecursiveScriptModule, ScriptFunction, ScriptModule, qualified_name
from ._tracer import Methods, Tracer, TracerWarning, argument_names, current

_CHECKED = "Tracing failed sanity checks!"


class TracingCheckError(Exception):
    """Raised when a second run of the function gives a different graph."""

    def __init__(self, graph_diff_error, tensor_compare_error, extra_msg=None):
        self.message = "\n".join(
            [_CHECKED, *([extra_msg] if extra_msg else []), *filter(None, (graph_diff_error, tensor_compare_error))]
        )
        super().__init__(self.message)


class TracedModule(RecursiveScriptModule):
    """A module with traced graphs as methods. It cannot be called by itself."""

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Trace submodules cannot be called.")

    def _get_name(self):
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """The module that was passed to trace."""

    __call__ = torch.nn.Module.__call__

    def _reconstruct(self, cpp_module):
        self.__dict__.update(cpp_module.__dict__)


def is_tracing():
    """Whether a trace is running in this thread."""
    return current() is not None


def _clone(v):
    """Copy inputs, so that writes to them are not visible outside."""
    if isinstance(v, torch.Tensor):
        return v.detach().clone().requires_grad_(v.requires_grad) if v.layout is torch.strided else v
    if isinstance(v, (tuple, list)):
        return type(v)(*map(_clone, v)) if hasattr(v, "_fields") else type(v)(map(_clone, v))
    return {k: _clone(e) for k, e in v.items()} if isinstance(v, dict) else v


def _recorded(function, root, inputs, kwargs, names, strict, with_calls):
    """Run a function with a tracer and return (tracer, output values, result)."""
    tracer = Tracer(root, with_calls)
    inputs, kwargs = _clone(inputs), _clone(kwargs)
    for name, v in zip(names, inputs):
        tracer.input(v, name)
    for name, v in kwargs.items():
        tracer.input(v, name)
    with tracer.running():
        result = function(*inputs, **kwargs)
        outputs = [tracer.result(result, strict)]
    return tracer, outputs, result


def _names(function, n):
    """Return the names of the inputs, or None where there is no parameter name."""
    target = function.forward if isinstance(function, torch.nn.Module) else function
    names = argument_names(target)
    return [names[i] if i < len(names) else None for i in range(n)]


class _Types:
    """The qualified names of the modules of a trace; each module gets its own type."""

    def __init__(self, root):
        self.names, used = {}, {}
        for path, m in root.named_modules():
            name = getattr(m, "_qualified_name", None) or qualified_name(type(m))
            if name in used:
                module, _, last = name.rpartition(".")
                used[name] += 1
                name = f"{module}.___torch_mangle_{sum(used.values()) - len(used) - 1}.{last}"
            else:
                used[name] = 1
            self.names[path] = name

    def __call__(self, path):
        return self.names.get(path)


def _copied(module, path, types, cls=TracedModule):
    """Return a module with the tensors of another module, without methods."""
    made = cls._made(getattr(module, "original_name", type(module).__name__), types(path), module.training)
    made._parameters.update(module._parameters)
    made._buffers.update(module._buffers)
    made._non_persistent_buffers_set.update(module._non_persistent_buffers_set)
    for name, m in module._modules.items():
        made._modules[name] = None if m is None else _copied(m, f"{path}.{name}" if path else name, types)
    return made


def _check_example(example, what="example_inputs"):
    if isinstance(example, (torch.Tensor, dict)):
        return (example,)
    return tuple(example) if not isinstance(example, tuple) else example


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """Run a function or module on example inputs, record its operators as a graph, and return a callable for the graph.

    Sizes are traced (``x.size(0)``). Branches, and tensor values converted to Python numbers, become constants; a
    TracerWarning tells where. With check_trace, the graph's results are compared with a second run of the function.
    """
    if isinstance(func, ScriptModule) and func._shadow is None:
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            stacklevel=2,
        )
        return func
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    if isinstance(func, torch.nn.Module):
        given = example_kwarg_inputs if example_inputs is None else example_inputs
        method = "forward"
        return trace_module(
            func,
            {method: given},
            optimize,
            check_trace,
            _wrap_checks(check_inputs, method),
            check_tolerance,
            strict,
            _force_outplace,
            _module_class,
            example_inputs_is_kwarg=isinstance(example_kwarg_inputs, dict),
            _store_inputs=_store_inputs,
        )
    owner = getattr(func, "__self__", None)
    if isinstance(owner, torch.nn.Module) and func.__name__ == "forward":
        return trace(
            owner,
            example_inputs,
            optimize,
            check_trace,
            check_inputs,
            check_tolerance,
            strict,
            example_kwarg_inputs=example_kwarg_inputs,
        )
    if isinstance(owner, torch.nn.Module):
        raise AttributeError(
            "trace doesn't support compiling individual module's functions.\nPlease use trace_module, "
            f"which takes the module and the name of the method '{func.__name__}'"
        )
    inputs, kwargs = (_check_example(example_inputs), {}) if example_inputs is not None else ((), example_kwarg_inputs)
    tracer, outputs, result = _recorded(func, None, inputs, kwargs, _names(func, len(inputs)), strict, False)
    graph = tracer.graph
    graph.registerOutput(outputs[0])
    graph.remove_unused()
    name = getattr(func, "__name__", type(func).__name__).replace("<lambda>", "_lambda")
    made = ScriptFunction(name, Method(name, graph, constants=Constants()))
    made.qualified_name = qualified_name(func) if hasattr(func, "__name__") else f"__torch__.{name}"
    if check_trace:
        for example in [inputs] if check_inputs is None else check_inputs:
            _check(func, made, graph, _check_example(example), kwargs, check_tolerance)
    return made


def _wrap_checks(check_inputs, method):
    return None if check_inputs is None else [{method: c} for c in check_inputs]


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
    _store_inputs=True,
):
    """Trace several methods of a module, given as {method name: example inputs}."""
    if not isinstance(mod, torch.nn.Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    types = _Types(mod)
    made, constants = _copied(mod, "", types, _module_class or TopLevelTracedModule), Constants()
    for name, example in inputs.items():
        function = mod if name == "forward" else getattr(mod, name)
        given, kwargs = ((), example) if example_inputs_is_kwarg else (_check_example(example), {})
        names = _names(function, len(given))
        tracer, outputs, _ = _recorded(function, mod, given, kwargs, names, strict, True)
        methods = Methods(tracer, outputs, types, name)
        for path, found in methods.found.items():
            target = made.get_submodule(path) if path else made
            for method, graph in found.items():
                target._script_methods.setdefault(method, Method(method, graph, constants=constants))
        if check_trace:
            traced = made if name == "forward" else getattr(made, name)
            for check in [inputs] if check_inputs is None else check_inputs:
                again, named = ((), check[name]) if example_inputs_is_kwarg else (_check_example(check[name]), {})
                _check(function, traced, tracer.graph, again, named, check_tolerance)
    return made


def _leaves(v):
    if isinstance(v, torch.Tensor):
        return [v]
    if isinstance(v, dict):
        v = list(v.values())
    return [t for e in v for t in _leaves(e)] if isinstance(v, (tuple, list)) else []


def _check(function, traced, graph, inputs, kwargs, tolerance):
    """Warn if the results of the graph and the function differ."""
    random = [n for n in graph.nodes() if n.isNondeterministic()]
    if random:
        nodes = "".join(f"\t{n}" for n in random[:20])
        _warn(
            f"Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n{nodes}\nThis may "
            "cause errors in trace checking. To disable trace checking, pass check_trace=False to torch.jit.trace()"
        )
    with _state_kept(function):
        given, named = _clone(inputs), _clone(kwargs)
        with _without_warnings():
            expected = _leaves(function(*given, **named))
        found = _leaves(traced(*_clone(inputs), **_clone(kwargs)))
    for i, (a, b) in enumerate(zip(found, expected)):
        try:
            if b.dtype.is_floating_point or b.dtype.is_complex:
                torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=1e-5, equal_nan=True)
            else:
                torch.testing.assert_close(a, b, rtol=tolerance, atol=1e-5, equal_nan=True)
        except AssertionError as e:
            _warn(
                f"Output nr {i + 1}. of the traced function does not match the corresponding output of the Python "
                f"function. Detailed error:\n{e}"
            )


@contextlib.contextmanager
def _state_kept(function):
    """Restore the buffers of a module after a run."""
    owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
    buffers = list(owner.buffers()) if isinstance(owner, torch.nn.Module) else []
    before = [b.detach().clone() for b in buffers]
    try:
        yield
    finally:
        with torch.no_grad():
            for b, old in zip(buffers, before):
                b.copy_(old)


@contextlib.contextmanager
def _without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _warn(text):
    warnings.warn(text, category=TracerWarning, stacklevel=4)


class ONNXTracedModule(torch.nn.Module):
    """A module that returns a graph when called, with the parameters as inputs of the graph."""

    def __init__(self, inner, strict=True, force_outplace=False, return_inputs=False, return_inputs_states=False):
        super().__init__()
        self.inner, self.strict, self._return_inputs = inner, strict, return_inputs

    def forward(self, *args, **kwargs):
        tracer = Tracer()
        inputs, kwargs = _clone(args), _clone(kwargs)
        for v in (*inputs, *kwargs.values()):
            for t in _leaves(v):
                tracer.input(t)
        seen = set()
        for t in (*self.inner.parameters(), *self.inner.buffers()) if isinstance(self.inner, torch.nn.Module) else ():
            if id(t) not in seen:
                seen.add(id(t))
                tracer.input(t)
        with tracer.running():
            result = self.inner(*inputs, **kwargs)
            outputs = [tracer.result(t, self.strict) for t in _leaves(result)]
        for v in outputs:
            tracer.graph.registerOutput(v)
        tracer.graph.remove_unused()
        return (tracer.graph, result, inputs) if self._return_inputs else (tracer.graph, result)


def _get_trace_graph(
    f, args=(), kwargs=None, strict=True, _force_outplace=False, return_inputs=False, _return_inputs_states=False
):
    """Return (graph, result) of a call.

    Parameters and buffers are inputs of the graph, after the inputs of the call.
    """
    if not isinstance(args, tuple):
        args = (args,)
    return ONNXTracedModule(f, strict, _force_outplace, return_inputs)(*args, **(kwargs or {}))
