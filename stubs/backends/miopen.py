"""torch.backends.miopen."""

from ._flags import flag_module

set_flags, _flags = flag_module(__name__, immediate=False)


def flags(immediate=False):
    """Context manager that sets the flag."""
    return _flags(immediate=immediate)
