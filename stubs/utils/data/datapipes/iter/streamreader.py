"""A pipe of the contents of streams."""

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["StreamReaderIterDataPipe"]


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """A pipe of pairs of a label and the content of its stream, whole or in chunks."""

    def __init__(self, datapipe, chunk=None):
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self):
        for label, stream in self.datapipe:
            while data := stream.read(self.chunk):
                yield label, data
            stream.close()
