"""A pipe that wraps an iterable."""

from ..datapipe import IterDataPipe
from ..utils.common import _copied, _lengths

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe):
    """A pipe of the items of an iterable, which is copied before each iteration."""

    def __init__(self, iterable, deepcopy=True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        yield from _copied("iterable", self.iterable, ".") if self.deepcopy else self.iterable

    def __len__(self):
        return _lengths(self, self.iterable)[0]
