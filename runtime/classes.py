"""Kinds of tensor classes.

They run operators directly, or have a __torch_function__, a __torch_dispatch__, or values that are evaluated lazily.
"""

from .context import CONTEXT, PROCESS, activate
from .symbolic import SYMBOLIC

NUMBERS = frozenset((int, float, bool, complex)) | SYMBOLIC
NUMBERS_OR_NONE = NUMBERS | {type(None)}


class _Direct(set):
    """The classes whose operators run directly. The hot path tests membership in this set."""

    with_none = with_numbers = with_all = numbers = None


direct = _Direct()
direct.with_none = _Direct((type(None),))
direct.with_numbers = _Direct(NUMBERS)
direct.with_all = _Direct(NUMBERS_OR_NONE)
direct.numbers = NUMBERS
dispatching = set()  # tensor classes with their own __torch_dispatch__
# Tensor classes whose memory holds the conjugates or the negatives of their values (ops/conjugate.py). They have the
# methods _resolved_values(), which returns a tensor with the values in memory, and _write(source), for copy_ and fill_,
# and the static method _call(op, args, run, suffix), which runs an operator on them.
lazy: set = set()


def register_direct(cls):
    """Register a tensor class without overrides (Tensor, Parameter, Buffer).

    Its operators run directly, and their results are not converted.
    """
    for s in (direct, direct.with_none, direct.with_numbers, direct.with_all):
        s.add(cls)
    return cls


def look_at_classes():
    """Make calls below autograd check the classes of their arguments from now on.

    Must be called before the first instance of a class with __torch_dispatch__ is made.
    """
    if not PROCESS.dispatched:
        PROCESS.dispatched = True
        activate(interceptors=1)


def for_each(error):
    """Mark the error of an operator that cannot run on a whole batch: vmap then runs it for each sample."""
    error.for_each = True
    return error


class DisableTorchFunctionSubclass:
    """Context manager inside which the __torch_function__ of argument classes is not called."""

    __module__ = "torch._C"

    def __enter__(self):
        CONTEXT.subclass_off += 1

    def __exit__(self, *exc):
        CONTEXT.subclass_off -= 1


class DisableTorchDispatch:
    """Disable __torch_dispatch__ of classes and modes while the object is alive, or until the end of its block."""

    __module__, __qualname__ = "torch._C", "_DisableTorchDispatch"

    def __init__(self):
        CONTEXT.dispatch_off += 1
        self.interceptors, CONTEXT.interceptors = CONTEXT.interceptors, ()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.interceptors is not None:
            CONTEXT.dispatch_off -= 1
            CONTEXT.interceptors, self.interceptors = self.interceptors, None

    __del__ = __exit__


class _Unbound:
    """A function that does not become a method as a class attribute, and that drops `types` when called."""

    def __init__(self, function):
        self._function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, func, types, args=(), kwargs=None):
        return self._function(func, args, kwargs or {})

    def __reduce__(self):
        return self.__name__


@_Unbound
def _disabled_torch_dispatch_impl(func, args, kwargs):
    """Implement __torch_dispatch__ for classes that do not take part in dispatch."""
    with DisableTorchDispatch():
        return func(*args, **kwargs)


@_Unbound
def _disabled_torch_function_impl(func, args, kwargs):
    """Implement __torch_function__ for classes that run operators as plain tensors do."""
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def subclass_kept(cls):
    """Whether results from a tensor of this class keep the class.

    They do where the class has overrides and overrides of classes are enabled.
    """
    return not CONTEXT.subclass_off and not disabled(cls)


def disabled(cls):
    """Whether a tensor class has no __torch_function__ override."""
    if cls in direct:
        return True
    tf = getattr(cls, "__torch_function__", None)
    tf = getattr(tf, "__func__", tf)
    if tf is _disabled_torch_function_impl:
        if cls not in dispatching:
            register_direct(cls)
        return True
    return False
