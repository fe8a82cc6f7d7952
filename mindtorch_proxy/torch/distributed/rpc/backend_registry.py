"""The RPC backends. There is only one."""

import enum

__all__ = ["BackendType", "backend_registered"]


class BackendType(enum.Enum):
    """The RPC backends.

    The only one has PyTorch's name but its own wire format, so all workers of a job must use this torch.
    """

    TENSORPIPE = "TENSORPIPE"

    def __repr__(self):
        return str(self)


def backend_registered(backend_name):
    """Whether there is a backend of that name."""
    return backend_name in BackendType.__members__
