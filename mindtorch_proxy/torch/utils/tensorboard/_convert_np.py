"""Converts values to NumPy arrays."""

import numpy as np
import torch


def make_np(x):
    """Convert a tensor, an array or a number to an array."""
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, torch.Tensor):
        x = x.detach().cpu()
        return x.to(torch.float32).numpy() if x.dtype is torch.bfloat16 else x.numpy()
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
