"""The exceptions of torch.distributed."""


class DistError(RuntimeError):
    """Base class of the errors of torch.distributed."""


class DistBackendError(DistError):
    """A backend error: a collective failed, or the group can no longer be used."""


class DistNetworkError(DistError):
    """A network error."""


class DistStoreError(DistError):
    """A store error, such as a key that was not set in time."""


class QueueEmptyError(DistStoreError):
    """The queue is empty."""


for _cls in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _cls.__module__ = "torch.distributed"
