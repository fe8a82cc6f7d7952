"""torch.autograd.forward_ad: dual tensors, which carry a tangent through every operator."""

from typing import NamedTuple

from mindtorch_proxy.runtime.autograd import tangents as _tangents
from mindtorch_proxy.runtime.registry import T as _T
from mindtorch_proxy.runtime.tensor import Tensor as _Tensor

from .._C import _is_fwd_grad_enabled, _set_fwd_grad_enabled as _set_enabled
from ..utils._contextlib import _DecoratorContextManager

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]

_current_level = -1
_carry = _tangents.carry  # creates a tensor from a dual tensor and keeps its tangents
_transform_level = _tangents.entered  # a level of torch.func; such levels nest


def _level(level):
    """Return the given level, or the current one; -1 if there is none."""
    return level if level is not None else -1 if _tangents.current_level() is None else 0


def enter_dual_level():
    """Enter a level at which dual tensors can be created; there can be only one at a time."""
    global _current_level
    _tangents.enter_dual_level()
    _current_level = 0
    return _current_level


def exit_dual_level(*, level=None):
    """Leave the level and discard its tangents."""
    global _current_level
    if (_current_level if level is None else level) != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if _current_level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    _tangents.exit_dual_level()
    _current_level = -1


def make_dual(tensor, tangent, *, level=None):
    """Return a view of ``tensor`` with a tangent."""
    level = _level(level)
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")
    return _T._make_dual(tensor, tangent, level)


class UnpackedDualTensor(NamedTuple):
    """The result of unpack_dual(): the tensor without its tangent, and the tangent or None."""

    primal: _Tensor
    tangent: _Tensor | None


def unpack_dual(tensor, *, level=None):
    """Return a tensor without its tangent, and the tangent."""
    level = _level(level)
    return UnpackedDualTensor(*((tensor, None) if level < 0 else _T._unpack_dual(tensor, level)))


class dual_level(_DecoratorContextManager):
    """Context manager and decorator that enters a level."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, exc_type, exc_value, traceback):
        exit_dual_level()


class _set_fwd_grad_enabled(_DecoratorContextManager):
    """Set immediately whether tangents are propagated; as a context manager, restore it at the end."""

    def __init__(self, mode):
        self.prev = _is_fwd_grad_enabled()
        _set_enabled(mode)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        _set_enabled(self.prev)
