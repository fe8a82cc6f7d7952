"""torch.autograd.grad_mode."""

from mindtorch_proxy.runtime.context import CONTEXT
from mindtorch_proxy.runtime.autograd.modes import _SetGrad, enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401

_DecoratorContextManager = _SetGrad
__all__ = [
    "no_grad",
    "enable_grad",
    "set_grad_enabled",
    "inference_mode",
    "set_multithreading_enabled",
    "enforce_grad_layout_policy",
]


class _Switch(_DecoratorContextManager):
    """A setting of this thread: set at once, set back at the end of a block."""

    def __init__(self, mode):
        self.mode, self.prev = mode, getattr(CONTEXT, self._field)
        setattr(CONTEXT, self._field, mode)

    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)

    def __enter__(self):
        setattr(CONTEXT, self._field, self.mode)

    def __exit__(self, *error):
        setattr(CONTEXT, self._field, self.prev)

    def clone(self):
        return type(self)(self.mode)


class set_multithreading_enabled(_Switch):
    """Whether backward may use several threads, as programs ask; here it runs in the thread that calls it."""

    _field = "multithreading"


class enforce_grad_layout_policy(_Switch):
    """Whether a leaf's first gradient is copied into the leaf's strides.

    Without that, one that nobody else holds is taken with its own.
    """

    _field = "grad_layout"

    def __init__(self, enable=True):
        super().__init__(enable)
