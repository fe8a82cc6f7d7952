"""torch.backends.miopen."""

from ._flags import flag_module

set_flags, _flags = flag_module(__name__, immediate=False)


def flags(immediate=False):
    """Set the flag within a block."""
    return _flags(immediate=immediate)
