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
    """A per-thread setting that is applied immediately and restored at the end of a block."""

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
    """Set whether backward may use several threads.

    The setting is only stored: backward always runs in the calling thread.
    """

    _field = "multithreading"


class enforce_grad_layout_policy(_Switch):
    """Set whether a leaf's first gradient is copied to the leaf's strides.

    If not, a gradient that has no other references is used with its own strides.
    """

    _field = "grad_layout"

    def __init__(self, enable=True):
        super().__init__(enable)
