"""torch.npu's switches: precision of products of matrices and of convolutions, memory formats, compilation.

All are off, and stay so.
"""

import warnings


class _Off:
    """One switch: False; setting it to True warns and leaves it."""

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


class _Precision:
    """allow_hf32: whether float32 may be computed with a shorter mantissa. MindSpore asks CANN to keep the dtype."""

    __slots__ = ()
    allow_hf32 = _Off()


class _Config:
    """allow_internal_format: whether tensors may have CANN's private memory formats. They never have here."""

    __slots__ = ()
    allow_internal_format = _Off()


def set_compile_mode(jit_compile=False):
    """Whether operators are compiled for the shapes that they meet.

    All are CANN's binary ones here, so that True warns and changes nothing.
    """
    if jit_compile:
        _stays_false("jit_compile")


def is_jit_compile_false():
    """True: operators are CANN's binary ones."""
    return True


config, matmul, conv = _Config(), _Precision(), _Precision()
