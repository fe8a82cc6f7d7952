"""torch._dynamo with the compiler off (PyTorch's TORCHDYNAMO_DISABLE=1): functions run as Python, marks change nothing."""

import functools

import torch

from . import config, eval_frame, exc, external_utils, utils  # noqa: F401
from .eval_frame import OptimizedModule, innermost_fn
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
_DEBUG_BACKENDS = ["aot_eager", "aot_eager_decomp_partition", "eager", "eager_debug", "onnxrt", "tensorrt", "torchxla_trivial"]
_registered = {}
_STANCES = ("default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile", "fail_on_recompile")


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


def optimize(*args, **kwargs):
    """A decorator that leaves functions as they are."""
    return _mark


optimize_assert = optimize


def _mark_tensor(t, *args, **kwargs):
    """Tell the compiler which sizes of a tensor vary: nothing specialises on them."""


mark_dynamic = mark_static = mark_static_address = maybe_mark_dynamic = mark_unbacked = _mark_tensor


def graph_break(msg=""):
    """Where a graph would end."""


skip_frame = step_unsupported = graph_break


def reset():
    """Forget what was compiled: nothing was."""


reset_code_caches = reset


def is_dynamo_supported():
    """Whether functions can be compiled: no."""
    return False


is_inductor_supported = is_dynamo_supported


def explain(f, *args, **kwargs):
    """There are no graphs to explain."""
    raise NotImplementedError("torch._dynamo.explain: there is no compiler")


def export(f, *args, **kwargs):
    """There are no graphs to export."""
    raise NotImplementedError("torch._dynamo.export: there is no compiler")


class set_stance:
    """How the compiler shall behave, from now on or within a block or a function: always eager here."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance {stance!r}")
        self.stance = stance

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass

    def __call__(self, fn):
        return fn
