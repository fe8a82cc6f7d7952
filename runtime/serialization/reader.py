"""torch.PyTorchFileReader and torch.PyTorchFileWriter."""

import contextlib
import os
import sys

import numpy as np

from ..storage import UntypedStorage
from .archive import Reader, Writer
from .files import _is_path
from .tensors import rebuild


class PyTorchFileReader:
    """Reads the records of a file that torch.save wrote, given as a path or an open file."""

    __module__ = "torch"

    def __init__(self, file):
        self._archive = Reader(open(file, "rb") if _is_path(file) else file)

    def get_all_records(self):
        """Return the names of all records."""
        return list(self._archive.records)

    def has_record(self, name):
        """Whether the file has a record of that name."""
        return name in self._archive

    def get_record(self, name):
        """Return the bytes of a record; RuntimeError if the file has none of that name."""
        return self._archive.read(name)

    def get_record_size(self, name):
        """Return the size of a record in bytes."""
        return self._archive.size(name)

    def get_record_offset(self, name):
        """Return the position in the file at which a record's bytes begin."""
        return self._archive.offset(name)

    def get_storage_from_record(self, name, numel, dtype):
        """Return an empty tensor whose storage holds the record."""
        array = np.empty(numel * dtype.itemsize, np.uint8)
        self._archive.read_into(name, array)
        return rebuild(UntypedStorage._from_array(array), dtype, 0, (0,), (1,))

    def serialization_id(self):
        """Return the file's id, as its writer computed it."""
        return self.get_record(".data/serialization_id").decode()


class PyTorchFileWriter:
    """Writes records into a file, given as a path or an open file, as torch.save does."""

    __module__ = "torch"

    def __init__(self, file, compute_crc32=True, storage_alignment=64):
        self._own = _is_path(file)
        if self._own and not os.path.isdir(parent := os.path.dirname(os.path.abspath(os.fspath(file)))):
            raise RuntimeError(f"Parent directory {parent} does not exist.")
        name = os.path.basename(os.fspath(file)) if self._own else "archive"
        self._file = open(file, "wb") if self._own else file
        self._archive = Writer(self._file, name.rpartition(".")[0] or name, storage_alignment, compute_crc32)
        self._written = set()

    def write_record(self, name, data, size):
        """Write a record of bytes, or of the memory of a storage."""
        data = data._array() if isinstance(data, UntypedStorage) else data
        self._archive.record(name, memoryview(data).cast("B")[:size])
        self._written.add(name)

    def write_record_metadata(self, name, size):
        """Write a record whose content is zeros."""
        self._archive.record(name, bytes(size), skip=True)
        self._written.add(name)

    def get_all_written_records(self):
        """Return the names of the records written so far."""
        return set(self._written)

    def archive_name(self):
        """Return the name of the folder that the records are in."""
        return self._archive.name

    def write_end_of_file(self):
        """Write the last records and the directory; close the file if it was opened by path."""
        if "byteorder" not in self._written:
            self.write_record("byteorder", sys.byteorder.encode(), len(sys.byteorder))
        self._archive.close()
        self._file.flush()
        if self._own:
            self._file.close()


@contextlib.contextmanager
def _open_zipfile_writer(name_or_buffer):
    writer = PyTorchFileWriter(name_or_buffer)
    yield writer
    writer.write_end_of_file()


@contextlib.contextmanager
def _open_zipfile_reader(name_or_buffer):
    yield PyTorchFileReader(name_or_buffer)
