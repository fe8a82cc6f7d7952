"""Pipes that combine several map-style pipes."""

from collections.abc import Sized

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe
from ..utils.common import _all

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]


class _Combined(MapDataPipe):
    def __init__(self, *datapipes):
        self.datapipes = _all(datapipes, MapDataPipe, Sized)


@functional_datapipe("concat")
class ConcaterMapDataPipe(_Combined):
    """A pipe that concatenates several pipes."""

    def __getitem__(self, index):
        offset = 0
        for d in self.datapipes:
            if index - offset < len(d):
                return d[index - offset]
            offset += len(d)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self):
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(_Combined):
    """A pipe of tuples with one sample of each pipe."""

    def __getitem__(self, index):
        row = []
        for d in self.datapipes:
            try:
                row.append(d[index])
            except IndexError as e:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {d}.") from e
        return tuple(row)

    def __len__(self):
        return min(map(len, self.datapipes))
