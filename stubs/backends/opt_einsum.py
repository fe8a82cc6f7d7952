"""torch.backends.opt_einsum: whether einsum looks for a good order of contraction with the package opt_einsum."""

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
    """The package opt_einsum, or None."""
    return _opt_einsum


def flags(enabled=None, strategy=None):
    """Set flags within a block."""
    return _flags(enabled=enabled, strategy=strategy)
