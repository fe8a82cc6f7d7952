"""Pipes that group samples."""

from collections import defaultdict

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import _check_unpickable_fn, _lengths

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


class _Batching:
    """The arguments and the length of the iterable-style and map-style batchers."""

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = (
            datapipe,
            batch_size,
            drop_last,
            wrapper_class,
        )

    def __len__(self):
        n = _lengths(self, self.datapipe)[0]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("batch")
class BatcherIterDataPipe(_Batching, IterDataPipe):
    """A pipe of batches with a fixed number of samples."""

    def __iter__(self):
        batch = []
        for x in self.datapipe:
            batch.append(x)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """A pipe of the samples in (nested) batches; a level of -1 unpacks all levels."""

    def __init__(self, datapipe, unbatch_level=1):
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def _dive(self, element, level):
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == 0 or (level == -1 and not isinstance(element, list)):
            yield element
        elif not isinstance(element, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        else:
            for item in element:
                yield from self._dive(item, max(level - 1, -1))

    def __iter__(self):
        for element in self.datapipe:
            yield from self._dive(element, self.unbatch_level)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """A pipe of groups of samples with the same key.

    Groups are yielded when they are full, the biggest one when the buffer is full, and the rest at the end.
    """

    def __init__(
        self,
        datapipe,
        group_key_fn,
        *,
        keep_key=False,
        buffer_size=10000,
        group_size=None,
        guaranteed_group_size=None,
        drop_remaining=False,
    ):
        _check_unpickable_fn(group_key_fn)
        if group_size is not None and buffer_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and (group_size is None or not 0 < guaranteed_group_size <= group_size):
            raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
        if guaranteed_group_size is None and buffer_size is not None:
            guaranteed_group_size = group_size
        self.datapipe, self.group_key_fn, self.keep_key, self.group_size = datapipe, group_key_fn, keep_key, group_size
        self.max_buffer_size, self.guaranteed_group_size, self.drop_remaining = (
            buffer_size,
            guaranteed_group_size,
            drop_remaining,
        )
        self.wrapper_class = DataChunk
        self.reset()

    def reset(self):
        self.buffer_elements, self.curr_buffer_size = defaultdict(list), 0

    def _take(self, key, label):
        items = self.buffer_elements.pop(key)
        self.curr_buffer_size -= len(items)
        return (label, self.wrapper_class(items)) if self.keep_key else self.wrapper_class(items)

    def __iter__(self):
        groups, sure = self.buffer_elements, self.guaranteed_group_size
        for x in self.datapipe:
            key = self.group_key_fn(x)
            groups[key].append(x)
            self.curr_buffer_size += 1
            if len(groups[key]) == self.group_size:
                yield self._take(key, key)
            if self.curr_buffer_size == self.max_buffer_size:
                biggest = max(groups, key=lambda k: len(groups[k]))
                enough = sure is None or len(groups[biggest]) >= sure
                if not enough and not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(groups[biggest]))
                group = self._take(biggest, key)  # PyTorch labels it with the key of the newest sample
                if enough:
                    yield group
        for key in tuple(groups):
            yield self._take(key, key)
