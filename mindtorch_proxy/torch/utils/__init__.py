"""torch.utils."""

import copyreg as _copyreg
import weakref as _weakref

from mindtorch_proxy.runtime.device import rename_privateuse1_backend  # noqa: F401

from .hooks import RemovableHandle  # noqa: F401

_LAZY = ("backcompat", "benchmark", "checkpoint", "collect_env", "data", "deterministic", "dlpack", "hooks", "model_zoo", "_pytree", "weak")


def __getattr__(name):
    import importlib

    if name in _LAZY:
        return importlib.import_module("torch.utils." + name)
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")


def set_module(obj, mod):
    """Say where an object belongs."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1, t2):
    """Exchange what two tensors are: class, memory, autograd state and attributes."""
    for t in (t1, t2):
        if _weakref.getweakrefs(t):
            raise RuntimeError(
                "Cannot swap t1 because it has weakref associated with it" if t is t1 else "Cannot swap t2 because it has weakref associated with it"
            )
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    slots = _copyreg._slotnames(type(t1)) or []
    for name in {*slots, *_copyreg._slotnames(type(t2))} - {"__weakref__", "__dict__"}:
        a, b = getattr(t1, name), getattr(t2, name)
        setattr(t1, name, b)
        setattr(t2, name, a)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
