"""torch.export: programs cannot be exported; the types exist for annotations and for describing dynamic shapes."""

import enum
import sys

__all__ = ["Dim", "ExportedProgram", "export", "load", "save", "register_dataclass"]


class _DimHint(enum.Enum):
    AUTO = enum.auto()
    STATIC = enum.auto()
    DYNAMIC = enum.auto()


class Dim:
    """A named size with bounds."""

    AUTO, STATIC, DYNAMIC = _DimHint.AUTO, _DimHint.STATIC, _DimHint.DYNAMIC

    def __init__(self, name, *, min=None, max=None):
        self.min, self.max = 0 if min is None else min, sys.maxsize - 1 if max is None else max
        if self.max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name

    def __repr__(self):
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"


class ExportedProgram:
    """What ``export`` would return."""


def _unsupported(name):
    def f(*args, **kwargs):
        raise NotImplementedError(f"torch.export.{name}: there is no export of programs")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "Raises: programs cannot be exported."
    return f


export, load, save = map(_unsupported, ("export", "load", "save"))


def register_dataclass(cls, *, serialized_type_name=None):
    """Make a dataclass a pytree container."""
    from ..utils._pytree import register_dataclass

    register_dataclass(cls, serialized_type_name=serialized_type_name)
