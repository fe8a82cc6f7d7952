"""A pipe that shuffles samples."""

from ..datapipe import MapDataPipe
from ..iter.combinatorics import _Shuffled

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(_Shuffled):
    """An iterable-style pipe of the samples in random order."""

    def __init__(self, datapipe, *, indices=None):
        super().__init__(datapipe)
        self.indices = self._shuffled_indices = list(range(len(datapipe))) if indices is None else indices

    def reset(self):
        super().reset()
        self._seed, self._shuffled_indices = None, self._rng.sample(self.indices, len(self.indices))

    def __iter__(self):
        if not self._enabled:
            yield from (self.datapipe[i] for i in self.indices)
        while self._enabled and self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def __len__(self):
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
