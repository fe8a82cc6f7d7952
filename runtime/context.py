"""The state that decides what a call does: one context for each thread, one for the process.

Everything else may import this module, which imports nothing of the runtime but locks that survive a fork. Code that
changes a field for the length of a block writes `with CONTEXT.set(grad=False):`. The few functions that every call
passes through save and restore a field by hand, since the block costs as much as a small operator.
"""

import threading

from .forks import lock


class _Set:
    """A block inside which fields of the thread's context have other values."""

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
    """What holds for the calls of one thread."""

    # what autograd records
    grad = True
    inference = False
    recording = False  # whether gradients are recorded above the level of the call that is handed over
    saved_hooks = ()
    saved_hooks_disabled = None  # the error message of disable_saved_tensors_hooks
    anomaly = False
    anomaly_nan = True
    formulas = 0  # how many derivative formulas this thread is in
    # whether the caller of operators is C++ in PyTorch: a formula, or a function over others; WRAPPED: the same, with
    # numbers that were made tensors
    native = False

    # the backward passes of this thread
    callbacks = None  # those that run at the end of the innermost pass
    depth = moved = 0  # passes within passes; moved: the depth at which the thread of these passes began
    node = None  # the node that runs
    backward = None  # the innermost pass
    restricted = False  # only some gradients are wanted (inputs=), which reentrant checkpoints cannot know
    multithreading = True
    grad_layout = True  # gradients get the strides of their leaf
    sparse_layout = None  # the layout of the gradient that the pass started from, where that was compressed
    watch = None  # watch(node): a context around each node that this thread runs, for profiles

    # forward mode, and torch.func's transforms
    levels = None  # of forward-mode differentiation, those that calls look at; None: PROCESS.levels
    forward = True  # whether forward mode is enabled
    disabled = None  # the levels before it was disabled
    differentiated = None  # the innermost transform that differentiates
    transforms = ()  # those that run, and for each what custom functions ask, or None
    # batches(op, args): what calls operators on batches of samples, where a graph is walked for several gradients at
    # once
    batches = None

    # who is asked before an operator runs
    modes = ()  # of __torch_function__
    subclass_off = 0
    interceptors = ()  # of __torch_dispatch__ and torch.library
    dispatch_off = 0
    in_library = ()  # the kernels of torch.library that run in this thread, by the keys of LIBRARY_KERNELS
    tracer = None  # what notes every operator for a graph (call/tracing.py)
    composites = None  # composites(name, args): a context around what a composite operator calls, for profiles

    # autocast
    autocast = None  # the function that casts arguments, where a device has autocast on
    autocast_cache = True
    autocast_nesting = 0

    def __init__(self):
        self.autocast_enabled = {}  # device type -> bool
        self.autocast_dtype = {}  # device type -> dtype

    def set(self, **values):
        """A block inside which fields have these values; an unknown name is an AttributeError."""
        return _Set(values)


class Process:
    """What holds for all threads. Calls look at these numbers, which are 0 in nearly every program."""

    active = 0  # what forces calls off the direct way: function modes, autocast, devices as contexts, interceptors
    interceptors = 0
    duals = 0  # levels of forward-mode differentiation that some thread is in
    levels = ()  # those that every thread sees
    versions = 0  # blocks of any thread in which new tensors get version counters of another kind
    subclasses = False  # classes of tensors other than the direct ones exist
    dispatched = False  # whether tensors of a class with a __torch_dispatch__ of its own were ever made


CONTEXT, PROCESS = Context(), Process()
WRAPPED = "numbers are tensors"  # a value of Context.native
_lock = lock()


def activate(active=0, interceptors=0, duals=0, versions=0):
    """Add to the process's counts: positive numbers when something begins, negative ones when it ends."""
    with _lock:
        PROCESS.active += active
        PROCESS.interceptors += interceptors
        PROCESS.duals += duals
        PROCESS.versions += versions
