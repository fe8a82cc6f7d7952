"""Autograd: grad modes, the graph that operators record, and the engine that runs it backwards."""

from . import forward, methods  # noqa: F401  (tensors get backward, detach and their hooks)
from .derivative import BY_PARTS, Derivative, by_parts, zeros
from ..context import CONTEXT
from .engine import backward, grad, queue_callback, run_backward, will_execute
from .function import BackwardCFunction, Function, FunctionCtx, FunctionMeta, once_differentiable
from .graph import (
    FREED,
    AccumulateGrad,
    FunctionNode,
    Node,
    OpNode,
    Saved,
    accumulator,
    add,
    edge,
    fitted,
    meta_of,
    of_in_place,
    set_history,
    view_as_edge,
)
from .hooks import RemovableHandle, run_hooks
from .modes import (
    check_captured,
    context_decorator,
    detect_anomaly,
    disable_saved_tensors_hooks,
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    saved_tensors_hooks,
    set_detect_anomaly,
    set_grad_enabled,
)
from .views import as_strided_backward, check_inplace, note_view, rebase
