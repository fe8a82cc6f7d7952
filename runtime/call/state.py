"""What makes a call leave the direct way: classes with overrides of their own, modes, autocast, interceptors."""

import threading

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
    """`active` counts what forces calls off the direct way, in any thread: function modes, autocast, devices as contexts, interceptors."""

    active = 0
    interceptors = 0


STATE = _State()
_lock = threading.Lock()


def activate(n, interceptors=0):
    with _lock:
        STATE.active += n
        STATE.interceptors += interceptors


class _Local(threading.local):
    modes = ()
    subclass_off = 0
    autocast = None
    interceptors = ()


LOCAL = _Local()


class DisableTorchFunctionSubclass:
    """Inside, classes of arguments are not asked for overrides."""

    __module__ = "torch._C"

    def __enter__(self):
        LOCAL.subclass_off += 1

    def __exit__(self, *exc):
        LOCAL.subclass_off -= 1


def _disabled_torch_function_impl(cls, func=None, types=None, args=(), kwargs=None):
    """The value of __torch_function__ in classes that take part in operators as direct tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def disabled(cls):
    """Whether a class of tensors has no overrides."""
    if cls in direct:
        return True
    tf = getattr(cls, "__torch_function__", None)
    tf = getattr(tf, "__func__", tf)
    if tf is _disabled_torch_function_impl:
        register_direct(cls)
        return True
    return False
