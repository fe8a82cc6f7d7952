"""torch._custom_ops: older names of functions of torch.library."""

import torch
from torch.library import get_ctx

__all__ = ["impl", "impl_abstract", "get_ctx"]


def impl(qualname, *, device_types=("cpu", "cuda"), func=None):
    """Register the kernel for the given device types; without ``func``, return a decorator."""
    return torch.library.impl(qualname, device_types, func)


def impl_abstract(qualname, *, func=None):
    """Register the fake implementation, which computes shapes and dtypes; without ``func``, return a decorator."""
    return torch.library.register_fake(qualname, func)
