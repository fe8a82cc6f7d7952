"""Statistics of the compiler, which stay empty, and small helpers for modules."""

import copy
import warnings
from collections import Counter, defaultdict

import torch

counters = defaultdict(Counter)


def is_compile_supported(device_type):
    """Whether code can be generated for a device, which is never the case."""
    return False


def deepcopy_to_fake_tensor(obj, fake_mode):
    """Copy an object, for instance a module, with fake tensors."""
    with torch._subclasses.fake_tensor.FakeCopyMode(fake_mode):
        return copy.deepcopy(obj)


def compile_times(repr="str", aggregate=False):
    """Return the compile times, which are empty."""
    return "TorchDynamo compilation metrics:\nFunction, Runtimes (s)" if repr == "str" else ((), ())


_warned = set()


def warn_once(msg, stacklevel=1):
    """Warn, unless this process has issued the same warning before."""
    if msg not in _warned:
        _warned.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)
