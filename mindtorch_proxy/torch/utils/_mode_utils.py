"""Helpers for dispatch modes."""

import contextlib
from typing import TypeVar

import torch

T = TypeVar("T")


@contextlib.contextmanager
def no_dispatch():
    """Inside, neither modes nor classes of tensors are asked below autograd."""
    with torch._C._DisableTorchDispatch():
        yield


def all_same_mode(modes):
    """Whether each of a tuple of modes is the first."""
    return all(mode is modes[0] for mode in modes)
