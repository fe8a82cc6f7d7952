"""torch.utils."""

import copyreg as _copyreg
import weakref as _weakref

from mindtorch_proxy.runtime.device import rename_privateuse1_backend  # noqa: F401

from .hooks import RemovableHandle  # noqa: F401

_LAZY = (
    "backcompat",
    "backend_registration",
    "benchmark",
    "checkpoint",
    "collect_env",
    "data",
    "deterministic",
    "dlpack",
    "hooks",
    "model_zoo",
    "_pytree",
    "weak",
    "_device",
    "_foreach_utils",
    "_ordered_set",
    "_contextlib",
    "_mode_utils",
    "_python_dispatch",
)
_OF_MODULES = {"generate_methods_for_privateuse1_backend": "backend_registration"}


def __dir__():
    return sorted({*globals(), *_LAZY, *_OF_MODULES})


def __getattr__(name):
    import importlib

    if name == "__all__":  # what `from torch.utils import *` gives
        return [n for n in __dir__() if n[:1] != "_"]
    if name in _LAZY:
        return importlib.import_module("torch.utils." + name)
    if name in _OF_MODULES:
        return getattr(importlib.import_module("torch.utils." + _OF_MODULES[name]), name)
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")


def set_module(obj, mod):
    """Set the ``__module__`` of an object."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1, t2):
    """Swap two tensors: their class, memory, autograd state and attributes."""
    for t in (t1, t2):
        if _weakref.getweakrefs(t):
            raise RuntimeError(
                "Cannot swap t1 because it has weakref associated with it"
                if t is t1
                else "Cannot swap t2 because it has weakref associated with it"
            )
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    slots = _copyreg._slotnames(type(t1)) or []
    for name in {*slots, *_copyreg._slotnames(type(t2))} - {"__weakref__", "__dict__"}:
        a, b = getattr(t1, name), getattr(t2, name)
        setattr(t1, name, b)
        setattr(t2, name, a)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__


def get_cpp_backtrace(frames_to_skip=0, maximum_number_of_frames=64):
    """Return the C stack as text, with the C library's description of each frame."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.backtrace_symbols.restype = ctypes.POINTER(ctypes.c_char_p)
    libc.free.argtypes = [ctypes.c_void_p]
    frames = (ctypes.c_void_p * (frames_to_skip + maximum_number_of_frames))()
    n = libc.backtrace(frames, len(frames))
    names = libc.backtrace_symbols(frames, n)
    try:
        return "".join(f"frame #{i}: {names[i].decode(errors='replace')}\n" for i in range(frames_to_skip, n))
    finally:
        libc.free(names)
