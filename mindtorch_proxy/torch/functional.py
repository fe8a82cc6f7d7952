"""torch.functional: a second name for composite operators of torch."""

import torch as _torch
from mindtorch_proxy.runtime.registry import function as _function


__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "block_diag",
    "cdist",
    "chain_matmul",
    "einsum",
    "istft",
    "lu",
    "norm",
    "meshgrid",
    "pca_lowrank",
    "split",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]


def __getattr__(name):
    if name == "F":  # torch.nn.functional, which PyTorch's module imports under this name
        from torch.nn import functional

        return functional
    f = _function("torch", name) or (getattr(_torch, name, None) if name in __all__ else None)
    if f is None:
        raise AttributeError(f"module 'torch.functional' has no attribute '{name}'")
    return f
