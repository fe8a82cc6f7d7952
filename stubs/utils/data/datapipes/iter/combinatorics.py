"""Pipes that change the order of samples."""

import random

import torch
from torch.utils.data.sampler import SequentialSampler

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import Sized, _AsLong, _lengths

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe):
    """A pipe of what a sampler of the source returns."""

    def __init__(self, datapipe, sampler=SequentialSampler, sampler_args=None, sampler_kwargs=None):
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe, self.sampler_args = datapipe, sampler_args or ()
        self.sampler_kwargs = {**(sampler_kwargs or {}), "data_source": datapipe}
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self):
        return iter(self.sampler)

    def __len__(self):
        return _lengths(self, self.sampler)[0]


class _Shuffled(IterDataPipe):
    """A pipe with random order.

    The seed that was set applies to one iteration; otherwise torch draws a seed.
    """

    def __init__(self, datapipe):
        self.datapipe, self._enabled, self._seed, self._rng = datapipe, True, None, random.Random()

    def set_shuffle(self, shuffle=True):
        """Enable or disable shuffling, and return the pipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """Set the seed of the next iteration, and return the pipe."""
        self._seed = seed
        return self

    def reset(self):
        if self._enabled:
            self._rng.seed(torch.empty((), dtype=torch.int64).random_().item() if self._seed is None else self._seed)
            self._seed = None


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(_AsLong, _Shuffled):
    """A pipe that shuffles samples by a buffer which is refilled from the source."""

    def __init__(self, datapipe, *, buffer_size=10000, unbatch_level=0):
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        super().__init__(datapipe.unbatch(unbatch_level=unbatch_level) if unbatch_level else datapipe)
        self.buffer_size, self._buffer = buffer_size, []

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        buffer = self._buffer
        for x in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(x)
            else:
                i = self._rng.randrange(len(buffer))
                x, buffer[i] = buffer[i], x
                yield x
        while buffer:
            yield buffer.pop(self._rng.randrange(len(buffer)))

    def reset(self):
        self._buffer = []
        super().reset()
