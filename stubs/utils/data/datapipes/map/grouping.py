"""A pipe that groups samples."""

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe
from ..iter.grouping import _Batching

__all__ = ["BatcherMapDataPipe"]


@functional_datapipe("batch")
class BatcherMapDataPipe(_Batching, MapDataPipe):
    """A pipe of batches with a fixed number of samples."""

    def __getitem__(self, index):
        batch = []
        try:
            batch.extend(self.datapipe[i] for i in range(index * self.batch_size, (index + 1) * self.batch_size))
        except IndexError as e:  # the last batch
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from e
        return self.wrapper_class(batch)
