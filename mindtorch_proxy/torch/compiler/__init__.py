"""torch.compiler and torch.compile: callable backends get graphs; with a named backend, functions run eagerly."""

import numpy as np
import torch

from .._dynamo import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    optimize,
    reset,
    set_stance,
    substitute_in_graph,
)
from .._dynamo.external_utils import is_exporting
from ..utils._pytree import tree_map_only

__all__ = [
    "compile",
    "assume_constant_result",
    "reset",
    "allow_in_graph",
    "substitute_in_graph",
    "list_backends",
    "disable",
    "set_default_backend",
    "get_default_backend",
    "set_stance",
    "cudagraph_mark_step_begin",
    "wrap_numpy",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "save_cache_artifacts",
    "load_cache_artifacts",
    "nested_compile_region",
]
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_default_backend = "inductor"


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False):
    """Compile a model or function with a backend; without a model, return a decorator.

    Raises RuntimeError for unknown modes, options and backends.
    """
    if model is None:

        def decorator(model):
            if model is None:
                raise RuntimeError("Model can't be None")
            return compile(
                model,
                fullgraph=fullgraph,
                dynamic=dynamic,
                backend=backend,
                mode=mode,
                options=options,
                disable=disable,
            )

        return decorator
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    backend = _default_backend if backend is None else backend
    if backend == "inductor" and options:
        from .._inductor import config

        for name in options:
            if name.replace("-", "_") not in config._settings:
                raise RuntimeError(f"Unexpected optimization option {name}, known options are {list(config._settings)}")
    if disable:
        return model
    return optimize(backend, nopython=fullgraph, dynamic=dynamic, options=options)(model)


def set_default_backend(backend):
    """Set the backend that ``compile`` uses by default; None restores inductor."""
    global _default_backend
    _default_backend = "inductor" if backend is None else backend


def get_default_backend():
    """Return the backend that ``compile`` uses by default."""
    return _default_backend


def cudagraph_mark_step_begin():
    """Do nothing: there are no CUDA graphs, for which this marks a step."""


def wrap_numpy(fn):
    """Return a function that calls ``fn``, which works on NumPy arrays, with tensors."""

    def wrapped(*args, **kwargs):
        args, kwargs = tree_map_only(torch.Tensor, lambda t: t.numpy(), (args, kwargs))
        return tree_map_only((np.ndarray, np.generic), torch.as_tensor, fn(*args, **kwargs))

    return wrapped


def is_dynamo_compiling():
    """Whether the graph of a compiled function is being recorded."""
    return is_compiling() and not is_exporting()


def save_cache_artifacts():
    """Return None: there are no compiled artifacts."""
    return None


def load_cache_artifacts(serialized_artifacts):
    """Load compiled artifacts; raises NotImplementedError."""
    raise NotImplementedError("torch.compiler.load_cache_artifacts: there is no compiler")


def nested_compile_region(fn=None, **kwargs):
    """Return the function unchanged; without one, a decorator that does so."""
    return (lambda f: f) if fn is None else fn
