"""torch.PyTorchFileReader."""

import numpy as np

from ..storage import UntypedStorage
from .archive import Reader
from .files import _is_path
from .tensors import rebuild


class PyTorchFileReader:
    """The records of a file that torch.save wrote, given as a path or an open file: what lies below torch.load."""

    __module__ = "torch"

    def __init__(self, file):
        self._archive = Reader(open(file, "rb") if _is_path(file) else file)

    def get_all_records(self):
        """The names of all records."""
        return list(self._archive.records)

    def has_record(self, name):
        """Whether the file has a record of that name."""
        return name in self._archive

    def get_record(self, name):
        """The bytes of a record; RuntimeError if the file has none of that name."""
        return self._archive.read(name)

    def get_record_size(self, name):
        """The bytes of a record."""
        return self._archive.size(name)

    def get_record_offset(self, name):
        """Where a record's bytes begin in the file."""
        return self._archive.offset(name)

    def get_storage_from_record(self, name, numel, dtype):
        """A tensor without elements of its own whose storage holds the record."""
        array = np.empty(numel * dtype.itemsize, np.uint8)
        self._archive.read_into(name, array)
        return rebuild(UntypedStorage._from_array(array), dtype, 0, (0,), (1,))

    def serialization_id(self):
        """The file's identity, as its writer computed it."""
        return self.get_record(".data/serialization_id").decode()
