"""Pipes that merge several streams or split one."""

import copy as copying
import warnings
from collections import deque
from itertools import chain

from .._decorator import functional_datapipe
from ..datapipe import _FEEDBACK, IterDataPipe, _describe
from ..utils.common import StreamWrapper, _all, _check_unpickable_fn, _lengths

__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """A pipe that yields several streams one after the other."""

    def __init__(self, *datapipes):
        self.datapipes = _all(datapipes, IterDataPipe)

    def __iter__(self):
        yield from chain.from_iterable(self.datapipes)

    def __len__(self):
        return sum(_lengths(self, *self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """A pipe that yields one sample of each stream in turn, until one ends."""

    def __init__(self, *datapipes):
        self.datapipes = datapipes

    def __iter__(self):
        yield from chain.from_iterable(zip(*self.datapipes))

    def __len__(self):
        return min(_lengths(self, *self.datapipes)) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """A pipe that yields tuples with one sample of each stream, until one ends."""

    def __init__(self, *datapipes):
        if not all(isinstance(d, IterDataPipe) for d in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self):
        yield from zip(*self.datapipes)

    def __len__(self):
        return min(_lengths(self, *self.datapipes))


class _Splitter(IterDataPipe):
    """The common source of several child pipes; each child has a queue of samples that it has not read yet."""

    def __init__(self, datapipe, num_instances, buffer_size):
        self.main_datapipe, self.num_instances, self.buffer_size = datapipe, num_instances, buffer_size
        if buffer_size < 0:
            warnings.warn(
                f"Unlimited buffer size is set for `{self._verb}`, please be aware of OOM at random places",
                stacklevel=3,
            )
        self.reset()

    def reset(self):
        self._datapipe_iterator, self._exhausted, self._usage = None, False, 0
        self._buffers, self._stopped = [deque() for _ in range(self.num_instances)], [True] * self.num_instances

    def __getstate__(self):  # the state of an iteration is not pickled
        return {k: v for k, v in super().__getstate__().items() if k not in ("_datapipe_iterator", "_buffers")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.reset()

    def _limit(self, waiting):
        if 0 <= self.buffer_size < waiting:
            raise BufferError(
                f"{type(self).__name__[1:]} buffer overflow, buffer size {self.buffer_size} is insufficient."
            )

    def get_next_element_by_instance(self, instance_id):
        if self._datapipe_iterator is None and self._stopped[instance_id]:
            self._datapipe_iterator, self._exhausted, self._stopped = (
                iter(self.main_datapipe),
                False,
                [False] * self.num_instances,
            )
        try:
            while not self._stopped[instance_id]:  # a reset replaces the queues, so they are looked up each time
                while not (self._buffers[instance_id] or self._exhausted):
                    value = next(self._datapipe_iterator, _Splitter)
                    if value is _Splitter:  # the source has ended
                        self._exhausted, self._datapipe_iterator = True, None
                    else:
                        self._put(value, instance_id)
                if not self._buffers[instance_id]:
                    break
                yield self._get(instance_id)
        finally:
            self._stopped[instance_id] = True
            if all(self._stopped):
                self._datapipe_iterator = None
            self._leave(instance_id)

    def is_every_instance_exhausted(self):
        return self._exhausted and all(self._stopped)


class _ChildDataPipe(IterDataPipe):
    """One of the streams of a splitter, which restart together.

    The first one that restarts resets the source, which invalidates the iterators of the others.
    """

    def __init__(self, main_datapipe, instance_id):
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self):
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self):
        return len(self.main_datapipe)

    def _begin(self):
        main = self.main_datapipe
        if main._valid_iterator_id == self._valid_iterator_id:
            if main._valid_iterator_id >= 0 and not main.is_every_instance_exhausted():
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting the buffer and "
                    "each child DataPipe will read from the start again.",
                    stacklevel=3,
                )
            main._begin()
        self._valid_iterator_id = main._valid_iterator_id
        return self._valid_iterator_id

    def _check(self, iterator_id):
        if not iterator_id == self._valid_iterator_id == self.main_datapipe._valid_iterator_id:
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from one of the "
                f"ChildDataPipes of {_describe(self.main_datapipe)}.{_FEEDBACK}"
            )


class _ForkerIterDataPipe(_Splitter):
    _verb = "fork"

    def __init__(self, datapipe, num_instances, buffer_size=1000, copy=None):
        copies = {None: None, "shallow": copying.copy, "deep": copying.deepcopy}
        super().__init__(datapipe, num_instances, buffer_size)
        if copy not in copies:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        self.copy_fn = copies[copy]

    def _put(self, value, instance_id):
        for b in self._buffers:
            b.append(value)

    def _get(self, instance_id):
        value = self._buffers[instance_id].popleft()
        self._limit(max(map(len, self._buffers)) + self._exhausted)  # the end of the source takes a place too
        return value if self.copy_fn is None else self.copy_fn(value)

    def _leave(self, instance_id):  # a child's unread samples count until all children have stopped
        for b in self._buffers if all(self._stopped) else ():
            b.clear()

    def __len__(self):
        return len(self.main_datapipe)


class _DemultiplexerIterDataPipe(_Splitter):
    _verb = "demux"

    def __init__(self, datapipe, num_instances, classifier_fn, drop_none, buffer_size):
        super().__init__(datapipe, num_instances, buffer_size)
        self.classifier_fn, self.drop_none = classifier_fn, drop_none

    def _put(self, value, instance_id):
        owner = self.classifier_fn(value)
        if owner is None and self.drop_none:
            StreamWrapper.close_streams(value)
            return
        if owner is None or not 0 <= owner < self.num_instances:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.num_instances - 1}. "
                f"{owner} is returned."
            )
        self._buffers[owner].append(value)
        self._usage += 1
        if owner != instance_id:
            self._limit(self._usage)

    def _get(self, instance_id):
        self._usage -= 1
        return self._buffers[instance_id].popleft()

    def _leave(self, instance_id):
        while self._buffers[instance_id]:
            StreamWrapper.close_streams(self._buffers[instance_id].popleft())

    def __len__(self):
        raise TypeError


def _check_instances(n):
    if n < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {n} is found")


def _children(main):
    return [_ChildDataPipe(main, i) for i in range(main.num_instances)]


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """Several pipes that each yield all the samples."""

    def __new__(cls, datapipe, num_instances, buffer_size=1000, copy=None):
        _check_instances(num_instances)
        return (
            datapipe
            if num_instances == 1
            else _children(_ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy))
        )


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """Several pipes, among which a function of the sample distributes the samples."""

    def __new__(cls, datapipe, num_instances, classifier_fn, drop_none=False, buffer_size=1000):
        _check_instances(num_instances)
        _check_unpickable_fn(classifier_fn)
        return _children(_DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size))
