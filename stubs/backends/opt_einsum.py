"""torch.backends.opt_einsum: whether einsum optimizes the contraction order with the package opt_einsum."""

from ._flags import flag_module

try:
    import opt_einsum as _opt_einsum
except ImportError:
    _opt_einsum = None

set_flags, _flags = flag_module(__name__, enabled=_opt_einsum is not None, strategy="auto" if _opt_einsum else None)


def is_available():
    """Whether the package opt_einsum is installed."""
    return _opt_einsum is not None


def get_opt_einsum():
    """Return the package opt_einsum, or None."""
    return _opt_einsum


def flags(enabled=None, strategy=None):
    """Context manager that sets flags."""
    return _flags(enabled=enabled, strategy=strategy)
