"""State that decides how a call runs: one context per thread, one for the process.

Any module may import this one, which imports nothing of the runtime but the locks that survive a fork. Code that
changes a field for the length of a block writes `with CONTEXT.set(grad=False):`. The few functions that every call
passes through save and restore a field by hand, since the block costs as much as a small operator.
"""

import threading

from .forks import lock


class _Set:
    """Context manager that sets fields of the thread's context and restores them at its end."""

    __slots__ = ("values", "before")

    def __init__(self, values):
        self.values = values

    def __enter__(self):
        self.before = {name: getattr(CONTEXT, name) for name in self.values}
        for name, value in self.values.items():
            setattr(CONTEXT, name, value)
        return self

    def __exit__(self, *exc):
        for name, value in self.before.items():
            setattr(CONTEXT, name, value)


class Context(threading.local):
    """State of the calls of one thread."""

    # what autograd records
    grad = True
    inference = False
    recording = False  # whether autograd records above the level of a call that is dispatched to an interceptor
    saved_hooks = ()
    saved_hooks_disabled = None  # the error message of disable_saved_tensors_hooks
    anomaly = False
    anomaly_nan = True
    formulas = 0  # nesting depth of the derivative formulas that this thread runs
    # Whether operators are called by code that is C++ in PyTorch: a derivative formula, or a composite operator.
    # WRAPPED: the same, with numbers that were converted to tensors.
    native = False

    # the backward passes of this thread
    callbacks = None  # callbacks that run at the end of the innermost pass
    depth = moved = 0  # nesting depth of the passes; moved: the depth at which they moved to this thread
    node = None  # the node that is running
    backward = None  # the innermost pass
    restricted = None  # the nodes that a backward pass needs for the inputs it was given, or None where it runs all
    multithreading = True
    grad_layout = True  # gradients get the strides of their leaf
    sparse_layout = None  # the layout of the gradient that the pass started from, where that was compressed
    watch = None  # watch(node): a context manager around each node that this thread runs, for the profiler

    # forward mode, and torch.func's transforms
    levels = None  # the levels of forward-mode differentiation that calls consider; None: PROCESS.levels
    forward = True  # whether forward mode is enabled
    disabled = None  # the levels before it was disabled
    differentiated = None  # the innermost transform that differentiates
    transforms = ()  # the running transforms, each with what custom functions need of it, or None
    # batches(op, args): calls operators on batches of samples, where the graph is traversed for several gradients at
    # once
    batches = None

    # overrides that are called before an operator runs
    modes = ()  # modes with a __torch_function__
    subclass_off = 0
    interceptors = ()  # __torch_dispatch__ and torch.library
    dispatch_off = 0
    in_library = ()  # the torch.library kernels running in this thread, by the keys of LIBRARY_KERNELS
    tracer = None  # records every operator for a graph (call/tracing.py)
    whole = False  # whether interceptors get composite operators as they are called, as PyTorch does above autograd
    composites = None  # composites(name, args): a context manager around a composite operator's calls, for the profiler

    # autocast
    autocast = None  # the function that casts arguments, where autocast is enabled for a device
    autocast_cache = True
    autocast_nesting = 0

    def __init__(self):
        self.autocast_enabled = {}  # device type -> bool
        self.autocast_dtype = {}  # device type -> dtype

    def set(self, **values):
        """Return a context manager that sets fields for its block; an unknown name raises AttributeError."""
        return _Set(values)


class Process:
    """State of all threads. Every call checks these counts, which are 0 in nearly every program."""

    active = 0  # what keeps calls off the direct path: function modes, autocast, devices as contexts, interceptors
    interceptors = 0
    duals = 0  # number of forward-mode differentiation levels that are open in any thread
    levels = ()  # the levels that every thread sees
    versions = 0  # open blocks of any thread in which new tensors get version counters of another kind
    dispatched = False  # whether tensors of a class with its own __torch_dispatch__ were ever made


CONTEXT, PROCESS = Context(), Process()
WRAPPED = "numbers are tensors"  # a value of Context.native
_lock = lock()


def activate(active=0, interceptors=0, duals=0, versions=0):
    """Add to the counts of the process: positive numbers at the start of a block, negative ones at its end."""
    with _lock:
        PROCESS.active += active
        PROCESS.interceptors += interceptors
        PROCESS.duals += duals
        PROCESS.versions += versions
