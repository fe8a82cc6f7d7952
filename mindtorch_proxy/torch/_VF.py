"""The functions of the root namespace, without what torch itself wraps."""

import torch

from ._namespace import serve

serve(globals(), "torch")


def unique_dim(input, dim, sorted=True, return_inverse=False, return_counts=False):
    """(the distinct slices along a dimension, where each slice is among them, how often each of them occurs): all
    three, whatever is asked for.
    """
    return torch.unique(input, sorted=sorted, return_inverse=True, return_counts=True, dim=dim)
