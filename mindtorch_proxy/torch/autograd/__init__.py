"""torch.autograd."""

from mindtorch_proxy.runtime.context import CONTEXT as _CONTEXT
from mindtorch_proxy.runtime.autograd import backward as _backward, grad as _grad
from mindtorch_proxy.runtime.autograd.modes import upcoming_sequence as _upcoming_sequence
from mindtorch_proxy.runtime.call.overrides import (
    handle_torch_function as _handle_torch_function,
    overridden_by_programs as _overridden_by_programs,
)
from mindtorch_proxy.runtime.tensor import Tensor as _Tensor
from mindtorch_proxy.tracebacks import shorten as _shorten

import torch._C  # waits where another thread is importing it; its submodules are made there
from torch._C._autograd import DeviceType, SavedTensor, _unsafe_set_version_counter  # noqa: F401

from . import (
    anomaly_mode,
    forward_ad,
    function,
    functional,
    grad_mode,
    gradcheck as _gradcheck,
    graph,
    profiler,
    profiler_util,
    variable,
)  # noqa: F401
from .anomaly_mode import detect_anomaly, set_detect_anomaly  # noqa: F401
from .function import Function  # noqa: F401
from .grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)  # noqa: F401
from .gradcheck import GradcheckError, gradcheck, gradgradcheck  # noqa: F401
from .profiler import kineto_available  # noqa: F401
from .variable import Variable  # noqa: F401


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """Return the gradients of outputs with respect to inputs, without accumulating them."""
    try:
        asked = tuple(inputs.values()) if isinstance(inputs, dict) else inputs
        tensors = [t for given in (outputs, asked) for t in (given if isinstance(given, (tuple, list)) else (given,))]
        if _overridden_by_programs(tensors):
            names = (
                "grad_outputs",
                "retain_graph",
                "create_graph",
                "only_inputs",
                "allow_unused",
                "is_grads_batched",
                "materialize_grads",
            )
            settings = (
                grad_outputs,
                retain_graph,
                create_graph,
                only_inputs,
                allow_unused,
                is_grads_batched,
                materialize_grads,
            )
            return _handle_torch_function(grad, tensors, outputs, inputs, **dict(zip(names, settings)))
        run_batches = None
        if is_grads_batched:
            from torch._functorch.vmap import run_batches
        return _grad(
            outputs,
            inputs,
            grad_outputs,
            retain_graph,
            create_graph,
            only_inputs,
            allow_unused,
            run_batches,
            materialize_grads,
        )
    except Exception as error:
        _shorten(error)
        raise


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Accumulate gradients of tensors into the leaves of the graph."""
    given = [t for t in (tensors if isinstance(tensors, (tuple, list)) else (tensors,)) if isinstance(t, _Tensor)]
    if _overridden_by_programs(given):
        settings = {
            "grad_tensors": grad_tensors,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "inputs": inputs,
        }
        return _handle_torch_function(backward, given, tensors, **settings)
    return _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)


class _unsafe_preserve_version_counter:
    """Context manager in which in-place operations do not change these tensors' version counters.

    Gradients may be silently wrong afterwards.
    """

    def __init__(self, tensors):
        self.tensors = (tensors,) if isinstance(tensors, _Tensor) else tuple(tensors)

    def __enter__(self):
        self.versions = [t._version for t in self.tensors]

    def __exit__(self, *error):
        _unsafe_set_version_counter(self.tensors, self.versions)


def _get_sequence_nr():
    """Return the sequence number of the next node of the graph."""
    return _upcoming_sequence()


def is_multithreading_enabled():
    """Whether backward may use several threads, as set by the program."""
    return _CONTEXT.multithreading


def _profiler_enabled():
    """Whether a profile is being recorded."""
    return bool(profiler.recorders)


def _disable_profiler():
    """Stop the current profile and return its events."""
    if not profiler.recorders:
        return profiler.EventList()
    recorder = profiler.recorders.pop()
    recorder.__exit__(None, None, None)
    return profiler.EventList(e for e in recorder.events if e.time_range.end)


def _is_checkpoint_valid():
    """Whether a reentrant checkpoint may run.

    It may not if backward or grad was called with specific inputs.
    """
    return _CONTEXT.restricted is None


__all__ = [
    "Variable",
    "Function",
    "backward",
    "grad_mode",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "detect_anomaly",
    "set_detect_anomaly",
    "no_grad",
    "enable_grad",
    "inference_mode",
    "enforce_grad_layout_policy",
    "set_multithreading_enabled",
    "set_grad_enabled",
    "GradcheckError",
    "forward_ad",
    "functional",
    "graph",
    "profiler",
]
