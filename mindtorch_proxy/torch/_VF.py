"""torch._VF: the operators of the root namespace, without the Python wrappers that torch adds to some of them."""

import torch

from ._namespace import serve

serve(globals(), "torch")


def unique_dim(input, dim, sorted=True, return_inverse=False, return_counts=False):
    """Return the distinct slices along a dimension, the inverse indices and the counts.

    All three are computed, whatever return_inverse and return_counts are.
    """
    return torch.unique(input, sorted=sorted, return_inverse=True, return_counts=True, dim=dim)
