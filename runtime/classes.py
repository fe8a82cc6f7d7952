"""Which classes of tensors run directly, which have overrides, a dispatch of their own, or values not in memory."""

from .context import CONTEXT, PROCESS, activate

NUMBERS = frozenset((int, float, bool, complex))
NUMBERS_OR_NONE = NUMBERS | {type(None)}


class _Direct(set):
    """Classes whose operators run directly. Membership is the test on the hot path."""

    with_none = with_numbers = numbers = None


direct = _Direct()
direct.with_none = _Direct((type(None),))
direct.with_numbers = _Direct(NUMBERS)
direct.numbers = NUMBERS
dispatching = set()  # classes of tensors with a __torch_dispatch__ of their own
# classes of tensors whose memory holds the conjugates or the negatives of their values (ops/conjugate.py). They have
# the methods _resolved_values() -> tensor with the values in memory, _write(source) for copy_ and fill_, and the static
# method _call(op, args, run, suffix) for a call with them.
lazy: set = set()


def register_direct(cls):
    """A tensor class without overrides (Tensor, Parameter, Buffer): direct calls, no conversion of results."""
    for s in (direct, direct.with_none, direct.with_numbers):
        s.add(cls)
    return cls


def look_at_classes():
    """From now on calls below autograd look at the classes of their arguments.

    To be called before the first instance of such a class is made.
    """
    if not PROCESS.dispatched:
        PROCESS.dispatched = True
        activate(interceptors=1)


def for_each(error):
    """An error of what does not run on many samples at once: vmap then runs it for each."""
    error.for_each = True
    return error


class DisableTorchFunctionSubclass:
    """Inside, classes of arguments are not asked for overrides."""

    __module__ = "torch._C"

    def __enter__(self):
        CONTEXT.subclass_off += 1

    def __exit__(self, *exc):
        CONTEXT.subclass_off -= 1


class DisableTorchDispatch:
    """While it lives, or until the end of its block, neither classes of arguments nor modes are asked below
    autograd.
    """

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
    return not CONTEXT.subclass_off and not disabled(cls)


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
