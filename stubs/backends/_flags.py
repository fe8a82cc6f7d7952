"""Flags that modules keep: how they are set, and when they may not be."""

import sys
import types
from contextlib import contextmanager

_frozen = False


def disable_global_flags():
    """From now on flags change only inside their module's ``flags()`` block."""
    global _frozen
    _frozen = True


def flags_frozen():
    """Whether plain assignment to flags is forbidden."""
    return _frozen


@contextmanager
def __allow_nonbracketed_mutation():
    """Plain assignment to flags within a block, whatever disable_global_flags said."""
    global _frozen
    before, _frozen = _frozen, False
    try:
        yield
    finally:
        _frozen = before


class FlagModule(types.ModuleType):
    """A module whose flags are checked when they are assigned."""

    def __setattr__(self, name, value):
        kind = self.__dict__.get("_kinds", {}).get(name)
        if kind is not None:
            if _frozen:
                raise RuntimeError(
                    f"not allowed to set {self.__name__} flags after disable_global_flags; please use flags() context "
                    "manager instead"
                )
            if not isinstance(value, kind):
                raise RuntimeError(
                    f"set_{name}_{self.__name__.rpartition('.')[2]} expects a {kind.__name__}, "
                    f"but got {type(value).__name__}"
                )
        super().__setattr__(name, value)


def flag_module(module_name, **defaults):
    """Give a module flags with these defaults; returns its ``set_flags`` and ``flags``."""
    module = sys.modules[module_name]
    state = vars(module)
    state.update(defaults)
    state["_kinds"] = {k: type(v) for k, v in defaults.items() if v is not None}
    module.__class__ = FlagModule

    def set_flags(**values):
        """Set flags; returns the values that they had."""
        names = {k.lstrip("_"): v for k, v in values.items() if v is not None}
        old = tuple(state[k] for k in defaults)
        state.update(names)
        return old

    @contextmanager
    def flags(**values):
        """Set flags within a block."""
        old = set_flags(**values)
        try:
            yield
        finally:
            state.update(zip(defaults, old))

    return set_flags, flags


class Precision:
    """Holder of ``fp32_precision`` for one kind of operator."""

    __slots__ = ("fp32_precision",)

    def __init__(self, fp32_precision="none"):
        self.fp32_precision = fp32_precision
