"""torch._custom_ops: the older names of what torch.library has."""

import torch
from torch.library import get_ctx

__all__ = ["impl", "impl_abstract", "get_ctx"]


def impl(qualname, *, device_types=("cpu", "cuda"), func=None):
    """Set the kernel for types of devices; a decorator without ``func``."""
    return torch.library.impl(qualname, device_types, func)


def impl_abstract(qualname, *, func=None):
    """Set what gives the shapes and dtypes of the results; a decorator without ``func``."""
    return torch.library.register_fake(qualname, func)
