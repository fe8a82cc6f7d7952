"""Selection of the implementation of scaled_dot_product_attention."""

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
    """Context manager that allows only the given implementations.

    There is only one implementation here, so the choice does not change results. An argument other than an SDPBackend
    or a list raises AssertionError.
    """
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


_implementations, _active = {}, None  # {name: register_fn}; (name, handle with remove())


def register_flash_attention_impl(impl, *, register_fn):
    """Register an implementation of flash attention under the name `impl`.

    ``register_fn`` installs its kernels and returns a handle with ``remove()``, or None.
    """
    _implementations[impl] = register_fn


def list_flash_attention_impls():
    """Return the sorted names of the registered implementations."""
    return sorted(_implementations)


def current_flash_attention_impl():
    """Return the name of the active implementation, or None for the built-in one."""
    return _active and _active[0]


def activate_flash_attention_impl(impl):
    """Install the kernels of a registered implementation in place of the active one.

    An unknown name raises ValueError.
    """
    global _active
    if impl not in _implementations:
        raise ValueError(
            f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}"
        )
    if current_flash_attention_impl() != impl:
        restore_flash_attention_impl(_raise_warn=False)
        _active = impl, _implementations[impl]()


def restore_flash_attention_impl(_raise_warn=True):
    """Restore the built-in implementation; warn if no other was active."""
    global _active
    if _active is None:
        if _raise_warn:
            warnings.warn("Trying to restore default FA2 impl when no custom impl was activated", stacklevel=2)
        return
    if _active[1] is not None:
        _active[1].remove()
    _active = None
