"""Choosing the implementation of scaled_dot_product_attention."""

import contextlib
from enum import Enum

from torch.backends import cuda as _switches

__all__ = ["SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(Enum):
    """The implementations that PyTorch knows."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value

    __index__ = __int__


_backend_names = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "mem_efficient": "EFFICIENT_ATTENTION", "math": "MATH"}


def _cur_sdpa_kernel_backends():
    return [SDPBackend[value] for name, value in _backend_names.items() if getattr(_switches, f"{name}_sdp_enabled")()]


def _sdpa_kernel(backends):
    for name, value in _backend_names.items():
        getattr(_switches, f"enable_{name}_sdp")(SDPBackend[value] in backends)


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Allow only these implementations; there is one here for all, so the choice changes no result."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}")
    previous = _cur_sdpa_kernel_backends()
    try:
        _sdpa_kernel([backends] if isinstance(backends, SDPBackend) else backends)
        yield {}
    finally:
        _sdpa_kernel(previous)
