"""torch.backends.nnpack."""

from ._flags import flag_module

set_flags, _flags = flag_module(__name__, enabled=False)


def is_available():
    """Return False, because there is no NNPACK."""
    return False


def flags(enabled=False):
    """Context manager that sets the flag."""
    return _flags(enabled=enabled)
