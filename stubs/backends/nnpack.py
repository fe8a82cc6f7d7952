"""torch.backends.nnpack."""

from ._flags import flag_module

set_flags, _flags = flag_module(__name__, enabled=False)


def is_available():
    """False: there is no NNPACK."""
    return False


def flags(enabled=False):
    """Set the flag within a block."""
    return _flags(enabled=enabled)
