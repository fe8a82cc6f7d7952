"""torch.utils._device: a context and a decorator that set the default device."""

import functools

import torch

from ._contextlib import context_decorator


@functools.lru_cache(1)
def _device_constructors():
    """Return the functions that create tensors on the default device."""
    names = """
    empty empty_permuted empty_strided ones arange bartlett_window blackman_window eye full hamming_window hann_window
    kaiser_window linspace logspace rand randn randint randperm range sparse_coo_tensor sparse_compressed_tensor
    sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor tril_indices triu_indices zeros asarray
    tensor as_tensor scalar_tensor"""
    return {getattr(torch, n) for n in names.split()} | {torch.fft.fftfreq, torch.fft.rfftfreq}


class DeviceContext:
    """Set the default device within the block, as ``with torch.device(device)`` does."""

    def __init__(self, device):
        self.device = torch.device(device)

    def __enter__(self):
        self.device.__enter__()
        return self

    def __exit__(self, *exc):
        return self.device.__exit__(*exc)


def device_decorator(device, func):
    """Return a function that runs ``func`` with a default device."""
    return context_decorator(lambda: device, func)


def set_device(device):
    """Return a decorator that makes a function run with a default device."""
    return functools.partial(device_decorator, torch.device(device))
