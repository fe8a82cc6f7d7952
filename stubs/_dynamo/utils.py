"""Statistics of the compiler, which stay empty, and small help for modules."""

import copy
import warnings
from collections import Counter, defaultdict

import torch

counters = defaultdict(Counter)


def is_compile_supported(device_type):
    """Whether code is generated for a device: for none."""
    return False


def deepcopy_to_fake_tensor(obj, fake_mode):
    """A copy of an object, a module for instance, with fake tensors."""
    with torch._subclasses.fake_tensor.FakeCopyMode(fake_mode):
        return copy.deepcopy(obj)


def compile_times(repr="str", aggregate=False):
    """Nothing was compiled."""
    return "TorchDynamo compilation metrics:\nFunction, Runtimes (s)" if repr == "str" else ((), ())


_warned = set()


def warn_once(msg, stacklevel=1):
    """Warn of something that has not been warned of in this process."""
    if msg not in _warned:
        _warned.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)
