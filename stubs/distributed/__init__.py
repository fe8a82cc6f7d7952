"""torch.distributed in a build without it: ``is_available()`` is False and, as in such a build, little else exists."""


def is_available():
    """Whether this build has torch.distributed: no."""
    return False


def is_initialized():
    """Whether a process group exists: it cannot."""
    return False


class _Stub:
    """What annotations of other modules name."""


ProcessGroup = GroupName = _Stub


class DistError(RuntimeError):
    """An error of torch.distributed."""


class DistBackendError(DistError):
    """An error of a backend."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store."""
