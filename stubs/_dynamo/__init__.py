"""torch._dynamo: graphs of torch functions for backends that ask for them (capture.py).

The named ones that would generate code run functions as they are.
"""

import functools

import torch

from . import config, eval_frame, exc, external_utils, testing, utils  # noqa: F401
from .eval_frame import STANCE, ExplainOutput, ExportResult, OptimizedModule, _Context, captured_once, innermost_fn
from .eval_frame import is_dynamo_supported, is_inductor_supported
from .external_utils import is_compiling

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "optimize_assert",
    "OptimizedModule",
    "register_backend",
    "reset",
    "run",
    "set_stance",
    "skip_frame",
    "substitute_in_graph",
]
_BACKENDS = ["cudagraphs", "inductor", "openxla", "tvm"]
_DEBUG_BACKENDS = [
    "aot_eager",
    "aot_eager_decomp_partition",
    "eager",
    "eager_debug",
    "onnxrt",
    "tensorrt",
    "torchxla_trivial",
]
_registered = {}
_STANCES = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
)


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that ``backend`` may take. None of them compiles here."""
    return sorted([*_BACKENDS, *_registered, *(() if "debug" in (exclude_tags or ()) else _DEBUG_BACKENDS)])


def register_backend(compiler_fn=None, name=None, tags=()):
    """Add a backend under a name."""
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    _registered[name or compiler_fn.__name__] = compiler_fn
    return compiler_fn


def lookup_backend(compiler_fn):
    """Check that a backend is callable or known by name."""
    if isinstance(compiler_fn, str):
        if compiler_fn not in list_backends(None):
            raise exc.InvalidBackend(name=compiler_fn)
        return _registered.get(compiler_fn, compiler_fn)
    return compiler_fn


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """A wrapper of ``fn`` that the compiler would leave alone; a decorator without ``fn``."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason, wrapping=wrapping)
    if isinstance(fn, (type, torch.nn.Module)) or not recursive:
        return fn
    fn = innermost_fn(fn)
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    wrapper._torchdynamo_disable = True
    wrapper._torchdynamo_disable_msg = reason
    wrapper._torchdynamo_orig_callable = fn
    return wrapper


def _mark(fn):
    """Tell the compiler something about a function: returned as it is."""
    if isinstance(fn, (list, tuple)):
        return [_mark(f) for f in fn]
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
    return fn


allow_in_graph = disallow_in_graph = forbid_in_graph = assume_constant_result = nonstrict_trace = _mark


def run(fn=None):
    """``fn``: there is nothing compiled to run instead."""
    return _mark if fn is None else _mark(fn)


def substitute_in_graph(original_fn, **kwargs):
    """A decorator for the function that the compiler would trace instead of ``original_fn``."""
    return _mark


def optimize(
    backend="inductor",
    *,
    nopython=False,
    guard_export_fn=None,
    guard_fail_fn=None,
    guard_filter_fn=None,
    disable=False,
    dynamic=None,
    **kwargs,
):
    """A decorator that compiles functions and modules with a backend: one that is callable gets their graphs."""
    if disable:
        return _mark
    found = lookup_backend(backend)
    if isinstance(found, str):
        # what these would generate is not to be had; what PyTorch refuses in one graph is refused still
        found = _graph_itself if nopython else None
    return _Context(found, nopython, dynamic, kwargs.get("options"))


def optimize_assert(backend, **kwargs):
    """``optimize`` with ``nopython=True``."""
    return optimize(backend, nopython=True, **kwargs)


def _graph_itself(gm, example_inputs):
    """The backend "eager"."""
    return gm.forward


def _mark_tensor(t, *args, **kwargs):
    """Tell the compiler which sizes of a tensor vary: nothing specialises on them."""


mark_dynamic = mark_static = mark_static_address = maybe_mark_dynamic = mark_unbacked = _mark_tensor


def graph_break(msg=""):
    """Where a graph would end."""


skip_frame = step_unsupported = graph_break


def reset():
    """Forget what was compiled: nothing was."""


reset_code_caches = reset


def explain(f, *extra_args, **extra_kwargs):
    """A function that, called with arguments, runs ``f`` and says which graphs were captured."""

    def inner(*args, **kwargs):
        captured = captured_once(innermost_fn(f), args, kwargs)
        failed = captured.failure is not None
        return ExplainOutput([] if failed else [captured.module], [captured.failure.reason] if failed else [])

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def _of_operators(module, decompositions, args):
    """The graph of operators of a graph of torch functions; its nodes say which function or module they are from."""
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.interpreter import Interpreter
    from torch.fx.traceback import preserve_node_meta

    module.forward = lambda *given: Interpreter(module).run(*given)
    with preserve_node_meta():
        return make_fx(module, decompositions)(*args)


def export(f, *extra_args, aten_graph=False, **extra):
    """A function that, called with arguments, gives (graph module, guards): the graph of ``f``, by torch functions or,
    with ``aten_graph``, operators.
    """
    options = (
        "pre_dispatch",
        "decomposition_table",
        "tracing_mode",
        "dynamic_shapes",
        "assume_static_by_default",
        "same_signature",
    )

    def inner(*args, **kwargs):
        function = innermost_fn(f)
        captured = captured_once(function, args, kwargs)
        if captured.failure is not None:
            raise exc.Unsupported(captured.failure.reason)
        module = captured.with_signature(function, args, kwargs)
        return ExportResult(_of_operators(module, extra.get("decomposition_table"), args) if aten_graph else module, [])

    given = {k: v for k, v in extra.items() if k not in options}
    return inner(*extra_args, **given) if extra_args or given else inner


class set_stance:
    """How the compiler shall behave, from now on or within a block or a function: "force_eager" runs functions as they
    are.
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance {stance!r}")
        self.stance, self.before, STANCE[0] = stance, STANCE[0], stance

    def __enter__(self):
        STANCE[0] = self.stance

    def __exit__(self, *exc):
        STANCE[0] = self.before

    def __call__(self, fn):
        # as a decorator it holds within the function alone
        STANCE[0] = self.before

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            with set_stance(self.stance):
                return fn(*args, **kwargs)

        return wrapped
