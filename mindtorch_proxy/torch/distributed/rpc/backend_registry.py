"""The backends of remote procedure calls: one."""

import enum

__all__ = ["BackendType", "backend_registered"]


class BackendType(enum.Enum):
    """Backends. The one there is has PyTorch's name, and its own wire format: all workers of a job run the same
    torch.
    """

    TENSORPIPE = "TENSORPIPE"

    def __repr__(self):
        return str(self)


def backend_registered(backend_name):
    """Whether there is a backend of that name."""
    return backend_name in BackendType.__members__
