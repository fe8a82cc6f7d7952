"""The settings of torch.npu for precision of matrix products and convolutions, memory formats, and compilation.

All but that of convolutions are False and cannot be changed.
"""

import warnings

from ._device import devices, plans


class _Off:
    """A setting that is always False; setting it to True only warns."""

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, instance, owner=None):
        return self if instance is None else False

    def __set__(self, instance, value):
        if not isinstance(value, bool):
            raise TypeError(f"{self._name} must be a bool, but got {type(value).__name__}")
        if value:
            _stays_false(self._name, 3)


def _stays_false(name, frames=2):
    warnings.warn(f"torch.npu: {name}=True is not supported on device npu: it stays False", stacklevel=frames + 1)


class _Products:
    """allow_hf32: whether float32 may be computed with a shorter mantissa; MindSpore tells CANN to keep the dtype.

    Chips without float32 products (910A, 310P) compute them in float16 whatever this says.
    """

    __slots__ = ()
    allow_hf32 = _Off()


class _Convolutions:
    """allow_hf32: whether float32 may be computed in HF32, with a mantissa of 11 bits, which is CANN's default.

    It can be changed once, before the first convolution of the process; later assignments only warn.
    """

    __slots__ = ("_allowed",)

    def __init__(self):
        self._allowed = True

    @property
    def allow_hf32(self):
        return self._allowed

    @allow_hf32.setter
    def allow_hf32(self, value):
        if not isinstance(value, bool):
            raise TypeError(f"allow_hf32 must be a bool, but got {type(value).__name__}")
        if value is self._allowed:
            return
        late = any(plan.calls and (plan.primitive or "").startswith("Conv") for plan in plans())
        if late or not devices().allow_hf32_in_convolutions(value):
            warnings.warn(
                f"torch.npu.conv.allow_hf32 stays {self._allowed}: "
                "MindSpore takes it once, before the first convolution",
                stacklevel=2,
            )
        else:
            self._allowed = value


class _Config:
    """allow_internal_format: whether tensors may have CANN's private memory formats, which they never have here."""

    __slots__ = ()
    allow_internal_format = _Off()


def set_compile_mode(jit_compile=False):
    """Set whether operators are compiled for each shape.

    All operators are CANN's precompiled ones here, so True only warns.
    """
    if jit_compile:
        _stays_false("jit_compile")


def is_jit_compile_false():
    """Return True: operators are CANN's precompiled ones."""
    return True


config, matmul, conv = _Config(), _Products(), _Convolutions()
