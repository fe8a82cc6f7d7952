"""Pipes of what is no pipe."""

import copy
import warnings

from ..datapipe import IterDataPipe
from ..utils.common import _lengths

__all__ = ["IterableWrapperIterDataPipe"]


def _known_length(self):
    """The length that was given."""
    if self.length == -1:
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
    return self.length


class IterableWrapperIterDataPipe(IterDataPipe):
    """The items of any iterable, copied before each iteration."""

    def __init__(self, iterable, deepcopy=True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:  # generators, say
                warnings.warn("The input iterable can not be deepcopied, please be aware of in-place modification would affect source data.", stacklevel=2)
        yield from source

    def __len__(self):
        return _lengths(self, self.iterable)[0]
