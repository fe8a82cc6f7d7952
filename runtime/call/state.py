"""What makes a call leave the direct way: classes with overrides of their own, modes, autocast, interceptors."""

import threading

from ..forks import lock

NUMBERS = frozenset((int, float, bool, complex))
NUMBERS_OR_NONE = NUMBERS | {type(None)}


class _Direct(set):
    """Classes whose operators run directly. Membership is the test on the hot path."""

    with_none = with_numbers = numbers = None


direct = _Direct()
direct.with_none = _Direct((type(None),))
direct.with_numbers = _Direct(NUMBERS)
direct.numbers = NUMBERS


def register_direct(cls):
    """A tensor class without overrides (Tensor, Parameter, Buffer): direct calls, no conversion of results."""
    for s in (direct, direct.with_none, direct.with_numbers):
        s.add(cls)
    return cls


class _State:
    """`active` counts what forces calls off the direct way, in any thread: function modes, autocast, devices as
    contexts, interceptors.
    """

    active = 0
    subclasses = False  # classes of tensors other than the direct ones exist
    interceptors = 0
    dispatched = False  # whether tensors of a class in `dispatching` were ever made
    duals = 0  # levels of forward-mode differentiation that somebody is in
    levels = ()  # those that every thread sees


STATE = _State()
_lock = lock()


def activate(n, interceptors=0, duals=0):
    with _lock:
        STATE.active += n
        STATE.interceptors += interceptors
        STATE.duals += duals


dispatching = set()  # classes of tensors with a __torch_dispatch__ of their own


def look_at_classes():
    """From now on calls below autograd look at the classes of their arguments: to be called before the first instance
    of such a class is made.
    """
    if not STATE.dispatched:
        STATE.dispatched = True
        activate(0, 1)


class _Lazy(set):
    """Classes of tensors whose memory does not hold their values (ops/conjugate.py).

    handler(op, args, run, suffix): a call with them; values(t): t's values in memory; write(t, source): copy_ into one;
    mark(kind, t): turn t,
    whose memory holds conjugates ("conj") or negatives ("neg"), into one.
    """

    handler = values = write = mark = None


LAZY = _Lazy()


WRAPPED = "numbers are tensors"  # see _Local.native


class _Local(threading.local):
    formulas = 0  # how many derivative formulas this thread is in
    # whether what calls operators is C++ in PyTorch: a formula, or a function over others; WRAPPED: with numbers that
    # were made tensors
    native = False
    dispatch_off = 0
    recording = False  # whether gradients are recorded above the level of the call that is handed over
    modes = ()
    subclass_off = 0
    autocast = None
    interceptors = ()
    composites = None  # composites(name, args): a context around what a composite operator calls, for profiles
    # batches(op, args): what calls operators on batches of samples, where a graph is walked for several gradients at
    # once (torch.func)
    batches = None
    tracer = None  # what notes every operator for a graph (tracing.py)
    levels = None  # of forward-mode differentiation, those that calls look at; None: STATE.levels
    differentiated = None  # stands for the innermost transform of torch.func that differentiates
    transforms = ()  # torch.func's that run, and for each what custom functions ask, or None
    forward, disabled = True, None  # whether forward mode is enabled; if not, the levels before
    in_library = ()  # the kernels of torch.library that run in this thread, by the keys of LIBRARY_KERNELS


LOCAL = _Local()


def for_each(error):
    """An error of what does not run on many samples at once: vmap then runs it for each."""
    error.for_each = True
    return error


class DisableTorchFunctionSubclass:
    """Inside, classes of arguments are not asked for overrides."""

    __module__ = "torch._C"

    def __enter__(self):
        LOCAL.subclass_off += 1

    def __exit__(self, *exc):
        LOCAL.subclass_off -= 1


class DisableTorchDispatch:
    """While it lives, or until the end of its block, neither classes of arguments nor modes are asked below
    autograd.
    """

    __module__, __qualname__ = "torch._C", "_DisableTorchDispatch"

    def __init__(self):
        LOCAL.dispatch_off += 1
        self.interceptors, LOCAL.interceptors = LOCAL.interceptors, ()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.interceptors is not None:
            LOCAL.dispatch_off -= 1
            LOCAL.interceptors, self.interceptors = self.interceptors, None

    __del__ = __exit__


class _Unbound:
    """A function that stays what it is in a class: no method of its instances, and called without the class, as a
    builtin one is.
    """

    def __init__(self, function):
        self._function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, func, types, args=(), kwargs=None):
        return self._function(func, args, kwargs or {})

    def __reduce__(self):
        return self.__name__


@_Unbound
def _disabled_torch_dispatch_impl(func, args, kwargs):
    """The value of __torch_dispatch__ in classes that take no part in dispatch."""
    with DisableTorchDispatch():
        return func(*args, **kwargs)


@_Unbound
def _disabled_torch_function_impl(func, args, kwargs):
    """The value of __torch_function__ in classes that take part in operators as direct tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def subclass_kept(cls):
    """Whether what is made of a tensor of a class has the class: where overrides of classes are on and it has some."""
    return not LOCAL.subclass_off and not disabled(cls)


def disabled(cls):
    """Whether a class of tensors has no overrides."""
    if cls in direct:
        return True
    tf = getattr(cls, "__torch_function__", None)
    tf = getattr(tf, "__func__", tf)
    if tf is _disabled_torch_function_impl:
        if cls not in dispatching:
            register_direct(cls)
        return True
    return False
