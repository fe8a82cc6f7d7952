"""torch.jit: traced graphs can be run, saved and loaded; scripted code runs as plain Python."""

import collections
import functools
from contextlib import contextmanager

import torch  # noqa: F401

from torch._jit_internal import (
    Final,
    _drop,  # noqa: F401
    _isinstance,
    _overload,  # noqa: F401
    _overload_method,  # noqa: F401
    export,
    ignore,
    is_scripting,  # noqa: F401
    unused,
)
from ._errors import Error
from torch.futures import Future, _check_not_none
from . import _recursive, _state, annotations  # noqa: F401
from ._freeze import freeze, optimize_for_inference, run_frozen_optimizations  # noqa: F401
from ._script import RecursiveScriptModule, ScriptFunction, ScriptModule, script, script_method  # noqa: F401
from ._serialization import jit_module_from_flatbuffer, load, save  # noqa: F401
from ._trace import (  # noqa: F401
    ONNXTracedModule,
    TopLevelTracedModule,
    TracedModule,
    TracingCheckError,
    _get_trace_graph,
    is_tracing,
    trace,
    trace_module,
)
from ._tracer import TracerWarning

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


class CompilationUnit:
    """TorchScript source code. It cannot be compiled here, so creating one raises NotImplementedError."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torch.jit.CompilationUnit: TorchScript source cannot be compiled here")


def script_if_tracing(fn):
    """Return a wrapper that calls the function.

    PyTorch would script it while tracing; here it is just called.
    """

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    return wrapper


_script_if_tracing = script_if_tracing


def _unwrap_optional(x):
    """Return the value; raise AssertionError if it is None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def interface(obj):
    """Return the class unchanged, which is marked as a TorchScript interface."""
    return obj


class Attribute(collections.namedtuple("Attribute", ["value", "type"])):
    """A value and its TorchScript type."""

    __slots__ = ()
    __module__ = "torch.jit"


def annotate(the_type, the_value):
    """Return the value; the type is only for TorchScript."""
    return the_value


isinstance = _isinstance


def fork(func, *args, **kwargs):
    """Run ``func`` immediately and return a completed Future of its result."""
    future = torch.Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """Return the result of a Future."""
    _check_not_none(future)
    return future.wait()


_fork, _wait = fork, wait


def export_opnames(m):
    """Return the names of the operators in a script module's graph."""
    return sorted({n.schema().partition("(")[0] for n in m.inlined_graph.nodes() if n.kind().startswith("aten::")})


@contextmanager
def optimized_execution(should_optimize):
    """Do nothing, because there is no graph executor to optimize."""
    yield


fuser = optimized_execution
_fusion_strategy = [("STATIC", 2), ("DYNAMIC", 10)]


def set_fusion_strategy(strategy):
    """Store a fusion strategy, which has no effect, and return the previous one."""
    global _fusion_strategy
    old, _fusion_strategy = _fusion_strategy, strategy
    return old


class strict_fusion:
    """Do nothing, because there is no fusion to check."""

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass


_onednn = False


def enable_onednn_fusion(enabled):
    """Store the setting, which has no effect."""
    global _onednn
    _onednn = enabled


def onednn_fusion_enabled():
    """Return the setting of enable_onednn_fusion."""
    return _onednn
