"""The exceptions of torch.distributed."""


class DistError(RuntimeError):
    """An error of torch.distributed."""


class DistBackendError(DistError):
    """An error of a backend: a collective failed, or its group cannot be used any more."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store, such as a key that nobody sets in time."""


class QueueEmptyError(DistStoreError):
    """Nothing is in the queue."""


for _cls in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _cls.__module__ = "torch.distributed"
