"""A pipe that wraps a sequence."""

from ..datapipe import MapDataPipe
from ..utils.common import _copied

__all__ = ["SequenceWrapperMapDataPipe"]


class SequenceWrapperMapDataPipe(MapDataPipe):
    """A pipe of the items of a sequence or mapping, which is copied."""

    def __init__(self, sequence, deepcopy=True):
        self.sequence = _copied("sequence", sequence) if deepcopy else sequence

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)
