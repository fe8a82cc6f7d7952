"""Helpers for dispatch modes."""

import contextlib
from typing import TypeVar

import torch

T = TypeVar("T")


@contextlib.contextmanager
def no_dispatch():
    """Disable __torch_dispatch__ of modes and tensor classes within the block."""
    with torch._C._DisableTorchDispatch():
        yield


def all_same_mode(modes):
    """Whether all modes are the same object."""
    return all(mode is modes[0] for mode in modes)
