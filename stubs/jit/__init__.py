"""torch.jit as PyTorch has it under PYTORCH_JIT=0: ``script`` and ``trace`` return what they are given, and it runs as Python."""

import functools
from contextlib import contextmanager

import torch

from .._jit_internal import (
    Final,
    _drop,
    _isinstance,
    _overload,
    _overload_method,
    export,
    ignore,
    is_scripting,  # noqa: F401
    unused,
)
from ..futures import Future
from . import _recursive, _state, annotations  # noqa: F401

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "interface",
    "ignore",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]


class Error(RuntimeError):
    """An error of TorchScript's interpreter."""


class TracerWarning(Warning):
    """A warning of the tracer."""


class ScriptModule(torch.nn.Module):
    """A module for subclasses to write ``script_method``s in: an ordinary module here."""


class RecursiveScriptModule(ScriptModule):
    """What scripting a module would give: never made here."""


class ScriptFunction:
    """What scripting a function would give: never made here."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("TorchScript is not available: torch.jit.script returns the Python function unchanged")


TopLevelTracedModule = RecursiveScriptModule


class CompilationUnit:
    """Source text of TorchScript: cannot be compiled here."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("TorchScript source cannot be compiled: this torch behaves as PyTorch with PYTORCH_JIT=0")


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The object unchanged."""
    return obj


def trace(func, example_inputs=None, *args, **kwargs):
    """The function or module unchanged."""
    return func


def trace_module(mod, inputs, *args, **kwargs):
    """The module unchanged."""
    return mod


def script_method(fn):
    """The method unchanged."""
    return fn


def script_if_tracing(fn):
    """The function: it would be scripted only while tracing, which does not happen."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    return wrapper


_script_if_tracing = script_if_tracing


def _unwrap_optional(x):
    """The value, which must not be None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def is_tracing():
    """Whether the tracer runs: never."""
    return False


def interface(obj):
    """Mark a class as a TorchScript interface: unchanged."""
    return obj


def Attribute(value, type):
    """The value; the type is for TorchScript."""
    return value


def annotate(the_type, the_value):
    """The value; the type is for TorchScript."""
    return the_value


isinstance = _isinstance


def fork(func, *args, **kwargs):
    """Run ``func`` now; a Future that holds its result."""
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The result of a Future."""
    return future.wait()


def _needs_script_module(name, message):
    def f(mod, *args, **kwargs):
        raise RuntimeError(f"{message} expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'.")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "Raises: there are no script modules."
    return f


freeze = _needs_script_module("freeze", "Freezing")
optimize_for_inference = _needs_script_module("optimize_for_inference", "optimize_for_inference")


def save(m, f, _extra_files=None):
    """Call the module's ``save``, which script modules have."""
    m.save(f, _extra_files=_extra_files or {}) if hasattr(f, "__fspath__") or type(f) is str else f.write(m.save_to_buffer())


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """TorchScript archives cannot be run."""
    import os

    if type(f) is str and not os.path.exists(f):
        raise ValueError(f"The provided filename {f} does not exist")
    raise NotImplementedError("torch.jit.load: TorchScript programs cannot be run; this torch behaves as PyTorch with PYTORCH_JIT=0")


def export_opnames(m):
    """The operators of a script module: there are none."""
    raise AttributeError(f"'{type(m).__name__}' object has no attribute '_c'")


@contextmanager
def optimized_execution(should_optimize):
    """No executor to optimise."""
    yield


fuser = optimized_execution
_fusion_strategy = [("STATIC", 2), ("DYNAMIC", 10)]


def set_fusion_strategy(strategy):
    """Keep a strategy of fusion, which nothing uses; returns the last."""
    global _fusion_strategy
    old, _fusion_strategy = _fusion_strategy, strategy
    return old


class strict_fusion:
    """No fusion to check."""

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass


_onednn = False


def enable_onednn_fusion(enabled):
    """Keep the setting, which nothing uses."""
    global _onednn
    _onednn = enabled


def onednn_fusion_enabled():
    """The setting of enable_onednn_fusion."""
    return _onednn
