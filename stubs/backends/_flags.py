"""Flags of the torch.backends modules, with their checks."""

import sys
import types
from contextlib import contextmanager

_frozen = False


def disable_global_flags():
    """From now on allow changes of flags only by their module's ``flags()`` context manager."""
    global _frozen
    _frozen = True


def flags_frozen():
    """Whether direct assignment to flags is forbidden."""
    return _frozen


@contextmanager
def __allow_nonbracketed_mutation():
    """Context manager that allows assignment to flags even after disable_global_flags."""
    global _frozen
    before, _frozen = _frozen, False
    try:
        yield
    finally:
        _frozen = before


class FlagModule(types.ModuleType):
    """A module that checks assignments to its flags."""

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
    """Add flags with these defaults to a module, and return its ``set_flags`` and ``flags``."""
    module = sys.modules[module_name]
    state = vars(module)
    state.update(defaults)
    state["_kinds"] = {k: type(v) for k, v in defaults.items() if v is not None}
    module.__class__ = FlagModule

    def set_flags(**values):
        """Set flags and return their previous values."""
        names = {k.lstrip("_"): v for k, v in values.items() if v is not None}
        old = tuple(state[k] for k in defaults)
        state.update(names)
        return old

    @contextmanager
    def flags(**values):
        """Context manager that sets flags."""
        old = set_flags(**values)
        try:
            yield
        finally:
            state.update(zip(defaults, old))

    return set_flags, flags


class Precision:
    """The ``fp32_precision`` of one kind of operator."""

    __slots__ = ("fp32_precision",)

    def __init__(self, fp32_precision="none"):
        self.fp32_precision = fp32_precision
