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
        return list(self._archive.records)

    def has_record(self, name):
        return name in self._archive

    def get_record(self, name):
        return self._archive.read(name)

    def get_record_size(self, name):
        return self._archive.size(name)

    def get_record_offset(self, name):
        return self._archive.offset(name)

    def get_storage_from_record(self, name, numel, dtype):
        """A tensor without elements of its own whose storage holds the record."""
        array = np.empty(numel * dtype.itemsize, np.uint8)
        self._archive.read_into(name, array)
        return rebuild(UntypedStorage._from_array(array), dtype, 0, (0,), (1,))

    def serialization_id(self):
        return self.get_record(".data/serialization_id").decode()
