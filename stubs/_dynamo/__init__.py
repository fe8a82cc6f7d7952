"""torch._dynamo: captures graphs of torch functions for backends that take them (capture.py).

Functions compiled with the named backends that would generate code run eagerly.
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
    """Return the names that ``backend`` may have; none of the built-in ones compiles here."""
    return sorted([*_BACKENDS, *_registered, *(() if "debug" in (exclude_tags or ()) else _DEBUG_BACKENDS)])


def register_backend(compiler_fn=None, name=None, tags=()):
    """Register a backend under a name."""
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    _registered[name or compiler_fn.__name__] = compiler_fn
    return compiler_fn


def lookup_backend(compiler_fn):
    """Return a backend by name, and check that the name is known."""
    if isinstance(compiler_fn, str):
        if compiler_fn not in list_backends(None):
            raise exc.InvalidBackend(name=compiler_fn)
        return _registered.get(compiler_fn, compiler_fn)
    return compiler_fn


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """Wrap ``fn`` so that the compiler would leave it alone; without ``fn`` this is a decorator."""
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
    """Return a function unchanged, where PyTorch marks it for the compiler."""
    if isinstance(fn, (list, tuple)):
        return [_mark(f) for f in fn]
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
    return fn


allow_in_graph = disallow_in_graph = forbid_in_graph = assume_constant_result = nonstrict_trace = _mark


def run(fn=None):
    """Return ``fn``, because there is no compiled code to run instead."""
    return _mark if fn is None else _mark(fn)


def substitute_in_graph(original_fn, **kwargs):
    """Return a decorator for a function that the compiler would trace instead of ``original_fn``."""
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
    """Return a decorator that compiles functions and modules; a callable backend gets their graphs."""
    if disable:
        return _mark
    found = lookup_backend(backend)
    if isinstance(found, str):
        # these backends generate no code here; with nopython, graphs are captured for the errors about graph breaks
        found = _graph_itself if nopython else None
    return _Context(found, nopython, dynamic, kwargs.get("options"))


def optimize_assert(backend, **kwargs):
    """``optimize`` with ``nopython=True``."""
    return optimize(backend, nopython=True, **kwargs)


def _graph_itself(gm, example_inputs):
    """Return the graph's forward: the backend "eager"."""
    return gm.forward


def _mark_tensor(t, *args, **kwargs):
    """Mark which sizes of a tensor are dynamic, without effect because nothing specializes on sizes."""


mark_dynamic = mark_static = mark_static_address = maybe_mark_dynamic = mark_unbacked = _mark_tensor


def graph_break(msg=""):
    """Mark where a graph would end, without effect."""


skip_frame = step_unsupported = graph_break


def reset():
    """Clear the compiler's caches, of which there are none."""


reset_code_caches = reset


def explain(f, *extra_args, **extra_kwargs):
    """Return a function that runs ``f`` on its arguments and reports which graphs were captured."""

    def inner(*args, **kwargs):
        captured = captured_once(innermost_fn(f), args, kwargs)
        failed = captured.failure is not None
        return ExplainOutput([] if failed else [captured.module], [captured.failure.reason] if failed else [])

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def _of_operators(module, decompositions, args):
    """Trace a graph of torch functions into a graph of operators.

    Its nodes keep the function or module that they come from.
    """
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.interpreter import Interpreter
    from torch.fx.traceback import preserve_node_meta

    module.forward = lambda *given: Interpreter(module).run(*given)
    with preserve_node_meta():
        return make_fx(module, decompositions)(*args)


def export(f, *extra_args, aten_graph=False, **extra):
    """Return a function that runs ``f`` on its arguments and returns (graph module, guards).

    The graph consists of torch functions or, with ``aten_graph``, of operators.
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
    """Set how compiled functions run, from now on or, as a context manager or decorator, for a while.

    "force_eager" runs the original functions.
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
        # as a decorator it applies inside the function only
        STANCE[0] = self.before

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            with set_stance(self.stance):
                return fn(*args, **kwargs)

        return wrapped
