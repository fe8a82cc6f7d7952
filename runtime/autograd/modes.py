"""Grad modes of each thread, anomaly detection, and hooks for saved tensors."""

import contextlib
import functools
import inspect
import itertools
import warnings

from ..context import CONTEXT, activate
from ..versions import INFERENCE, Transform, made, made_in

_sequence = itertools.count()
next_sequence = _sequence.__next__


def upcoming_sequence():
    """Return the sequence number that the next node will get."""
    return int(repr(_sequence)[len("count(") : -1])


class _SetGrad(contextlib.ContextDecorator):
    """Base of no_grad and enable_grad.

    Also a decorator, with or without parentheses, for functions, classes and generators.
    """

    value = None

    def __new__(cls, orig_func=None):
        self = object.__new__(cls)
        return self if orig_func is None else self(orig_func)

    def __call__(self, orig_func):
        return context_decorator(self, orig_func)

    def clone(self):
        return type(self)()

    def __enter__(self):
        self.prev = CONTEXT.grad
        CONTEXT.grad = self.value and not CONTEXT.inference

    def __exit__(self, *exc):
        CONTEXT.grad = self.prev


def context_decorator(ctx, func):
    """Run each call of func, and each step of a generator function, inside a fresh clone of ctx."""
    if inspect.isclass(func):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
            "the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        func.__init__ = context_decorator(ctx, func.__init__)
        return func
    make = ctx.clone if hasattr(ctx, "clone") else ctx
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def generator(*args, **kwargs):
            gen = func(*args, **kwargs)
            send, value = gen.send, None
            try:
                while True:
                    with make():
                        out = send(value)
                    try:
                        value, send = (yield out), gen.send
                    except GeneratorExit:
                        with make():
                            gen.close()
                        raise
                    except BaseException as e:
                        value, send = e, gen.throw
            except StopIteration as e:
                return e.value

        return generator

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        with make():
            return func(*args, **kwargs)

    return wrapper


class no_grad(_SetGrad):
    """Operations inside record nothing."""

    __module__ = "torch.autograd.grad_mode"
    value = False


class enable_grad(_SetGrad):
    """Operations inside record again."""

    __module__ = "torch.autograd.grad_mode"
    value = True


class set_grad_enabled(_SetGrad):
    """Switch recording on or off immediately; as a context manager, restore it afterwards."""

    __module__ = "torch.autograd.grad_mode"

    def __new__(cls, mode):
        return object.__new__(cls)

    def __init__(self, mode):
        if mode.__class__ is not bool and type(mode).__module__ != "numpy":
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        self.prev, self.mode = CONTEXT.grad, bool(mode)
        CONTEXT.grad = self.mode and not CONTEXT.inference

    def __call__(self, func):
        CONTEXT.grad = self.prev
        return context_decorator(self, func)

    def clone(self):
        """A new context manager with the same mode."""
        return set_grad_enabled(self.mode)

    def __enter__(self):
        CONTEXT.grad = self.mode and not CONTEXT.inference

    def __str__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__


class inference_mode(_SetGrad):
    """Like no_grad, but its tensors cannot take part in autograd afterwards: they have no version counter."""

    __module__ = "torch.autograd.grad_mode"

    def __new__(cls, mode=True):
        self = object.__new__(cls)
        if not isinstance(mode, bool):
            self.__init__(True)
            return self(mode)
        return self

    def __init__(self, mode=True):
        self.mode = mode

    def clone(self):
        """A new context manager with the same mode."""
        return inference_mode(self.mode)

    def __enter__(self):
        self.prev = CONTEXT.grad, CONTEXT.inference
        CONTEXT.inference = self.mode
        CONTEXT.grad = not self.mode
        activate(versions=self.mode)

    def __exit__(self, *exc):
        activate(versions=-self.mode)
        CONTEXT.grad, CONTEXT.inference = self.prev


@contextlib.contextmanager
def differentiating(inputs):
    """Inside, refuse in-place operations on tensors that were created outside, as torch.func does.

    The inputs count as created inside.
    """
    before = CONTEXT.differentiated
    transform = CONTEXT.differentiated = Transform(before)
    activate(versions=1)
    given = [(t, t._vc) for t in inputs if t._vc is not INFERENCE]
    try:
        for t, counter in given:
            t._vc = made(0 if counter is None else counter[0], transform)
        yield
    finally:
        activate(versions=-1)
        CONTEXT.differentiated, transform.ended = before, True
        for t, counter in reversed(given):
            if counter is None:  # views share the new counter, which now counts as made outside of every transform
                t._vc.inside = None
            else:
                counter[0], t._vc = t._vc[0], counter


def check_captured(t, name):
    """Raise PyTorch's error for an in-place operation on a tensor that the transformed function did not create.

    Only needs to be called while PROCESS.versions is not 0.
    """
    if CONTEXT.differentiated is not None and made_in(t) is not CONTEXT.differentiated:
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
            f"operation ({name()}) that would mutate a captured Tensor. This is not supported; "
            "please rewrite the function being transformed to explicitly accept the mutated Tensor(s) as inputs."
        )


def is_grad_enabled():
    """Whether operators are recorded for gradients."""
    return CONTEXT.grad


def is_inference_mode_enabled():
    """Whether inference mode is on."""
    return CONTEXT.inference


TWO_CALLABLES = (
    "{}: incompatible function arguments. The following argument types are supported:\n    1. ({}arg0: "
    "collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\nInvoked with: {}"
)


class saved_tensors_hooks:
    """Inside, tensors saved for backward go through pack_hook, and come back through unpack_hook."""

    __module__ = "torch.autograd.graph"

    def __init__(self, pack_hook, unpack_hook):
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self):
        if CONTEXT.saved_hooks_disabled:
            raise RuntimeError(CONTEXT.saved_hooks_disabled)
        if not all(map(callable, self.hooks)):
            raise TypeError(
                TWO_CALLABLES.format("_push_saved_tensors_default_hooks()", "", f"{self.hooks[0]!r}, {self.hooks[1]!r}")
            )
        CONTEXT.saved_hooks = (*CONTEXT.saved_hooks, self.hooks)

    def __exit__(self, *exc):
        CONTEXT.saved_hooks = CONTEXT.saved_hooks[:-1]


class disable_saved_tensors_hooks(contextlib.ContextDecorator):
    __module__ = "torch.autograd.graph"

    def __init__(self, error_message):
        self.message = error_message

    def __enter__(self):
        if CONTEXT.saved_hooks:
            raise RuntimeError(self.message)
        self.prev, CONTEXT.saved_hooks_disabled = CONTEXT.saved_hooks_disabled, self.message

    def __exit__(self, *exc):
        CONTEXT.saved_hooks_disabled = self.prev


class detect_anomaly:
    """Inside, backward reports the forward call of a failing node, and NaN in gradients is an error."""

    __module__ = "torch.autograd.anomaly_mode"

    def __init__(self, check_nan=True):
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )
        self.value, self.check = True, check_nan
        self.prev = CONTEXT.anomaly, CONTEXT.anomaly_nan

    def __enter__(self):
        CONTEXT.anomaly, CONTEXT.anomaly_nan = self.value, self.check

    def __exit__(self, *exc):
        CONTEXT.anomaly, CONTEXT.anomaly_nan = self.prev


class set_detect_anomaly(detect_anomaly):
    """Switch anomaly detection on or off immediately; as a context manager, restore it afterwards."""

    __module__ = "torch.autograd.anomaly_mode"

    def __init__(self, mode, check_nan=True):
        self.prev = CONTEXT.anomaly, CONTEXT.anomaly_nan
        self.value, self.check = bool(mode), check_nan
        self.__enter__()


def is_anomaly_enabled():
    return CONTEXT.anomaly


def is_anomaly_check_nan_enabled():
    return CONTEXT.anomaly_nan
