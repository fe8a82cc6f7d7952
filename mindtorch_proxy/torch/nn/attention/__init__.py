"""Choosing the implementation of scaled_dot_product_attention."""

import contextlib
import warnings

from torch.backends import cuda as _switches
from torch.backends.cuda import (
    SDPAParams as SDPAParams,
    SDPBackend,
    can_use_efficient_attention as can_use_efficient_attention,
    can_use_flash_attention as can_use_flash_attention,
)

__all__ = [
    "SDPBackend",
    "sdpa_kernel",
    "WARN_FOR_UNFUSED_KERNELS",
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
]

WARN_FOR_UNFUSED_KERNELS = False


_backend_names = {
    "cudnn": "CUDNN_ATTENTION",
    "flash": "FLASH_ATTENTION",
    "mem_efficient": "EFFICIENT_ATTENTION",
    "math": "MATH",
}


def _cur_sdpa_kernel_backends():
    return [SDPBackend[value] for name, value in _backend_names.items() if getattr(_switches, f"{name}_sdp_enabled")()]


def _sdpa_kernel(backends):
    for name, value in _backend_names.items():
        getattr(_switches, f"enable_{name}_sdp")(SDPBackend[value] in backends)


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Allow only these implementations; there is one here for all, so the choice changes no result."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, "
            f"got {type(backends).__name__}"
        )
    previous = _cur_sdpa_kernel_backends()
    try:
        _sdpa_kernel([backends] if isinstance(backends, SDPBackend) else backends)
        yield {}
    finally:
        _sdpa_kernel(previous)


_implementations, _active = {}, None  # name -> the function that activates it; (name, what can remove it again)


def register_flash_attention_impl(impl, *, register_fn):
    """Make an implementation of flash attention known.

    ``register_fn`` installs its kernels and returns a handle with ``remove()``, or None.
    """
    _implementations[impl] = register_fn


def list_flash_attention_impls():
    """The names of the implementations that were registered."""
    return sorted(_implementations)


def current_flash_attention_impl():
    """The name of the active implementation; None: the built-in one."""
    return _active and _active[0]


def activate_flash_attention_impl(impl):
    """Install the kernels of a registered implementation, in place of the one before. ValueError for an unknown one."""
    global _active
    if impl not in _implementations:
        raise ValueError(
            f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}"
        )
    if current_flash_attention_impl() != impl:
        restore_flash_attention_impl(_raise_warn=False)
        _active = impl, _implementations[impl]()


def restore_flash_attention_impl(_raise_warn=True):
    """Back to the built-in implementation."""
    global _active
    if _active is None:
        if _raise_warn:
            warnings.warn("Trying to restore default FA2 impl when no custom impl was activated", stacklevel=2)
        return
    if _active[1] is not None:
        _active[1].remove()
    _active = None
