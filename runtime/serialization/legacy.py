"""The file format before the zip format: several pickles in a row, then the bytes of the storages."""

import struct
import sys

import numpy as np

from ..device import HOST
from ..storage import UntypedStorage
from ..typed_storage import LEGACY_STORAGES, TypedStorage
from . import unpickler as safe
from .archive import read_exactly
from .config import _serialization_tls
from .files import dump, unpickle
from .places import _get_restore_location, _text
from .storages import storage_id, swapped
from .unpickler import UNSAFE_MESSAGE

MAGIC_NUMBER, PROTOCOL_VERSION = 0x1950A86A20F9469CFC6C, 1001


def legacy_save(obj, file, pickle_module, protocol, storages):
    def persistent_id(o):
        found = storages.describe(o)
        if found and found[0] is UntypedStorage:  # PyTorch writes these but cannot read them
            found = (LEGACY_STORAGES["ByteStorage"], *found[1:])
        return found and ("storage", found[0], str(found[1]), *found[2:], None)

    sizes = {"short": struct.calcsize("=h"), "int": struct.calcsize("=i"), "long": struct.calcsize("=l")}
    for header in (
        MAGIC_NUMBER,
        PROTOCOL_VERSION,
        {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes},
    ):
        pickle_module.dump(header, file, protocol=protocol)
    dump(obj, file, pickle_module, protocol, persistent_id)
    pickle_module.dump([str(index) for index, _, _ in storages], file, protocol=protocol)
    file.flush()
    for _, storage, d in storages:
        file.write(struct.pack("<q", storage.nbytes() // d.itemsize))
        file.write(swapped(storage.cpu()._array(), d, "little").data)


def _remaining(file):
    at = file.tell()
    end = file.seek(0, 2)
    file.seek(at)
    return (file.tell() if end is None else end) - at


class _Reader:
    """Creates the storages that the pickle names. Their bytes follow it in the file."""

    def __init__(self, file, restore, weights_only):
        self.file, self.restore, self.weights_only = file, restore, weights_only
        self.loaded: dict[str, TypedStorage] = {}
        self.views: dict = {}

    def persistent_load(self, saved_id):
        if (
            isinstance(saved_id, tuple)
            and len(saved_id) > 1
            and _text(saved_id[0]) == "module"
            and not self.weights_only
        ):
            return saved_id[1]  # a module class with its source, which PyTorch compares only for a warning
        d, key, location, nbytes, view = storage_id(saved_id, 6)
        if key not in self.loaded:
            if nbytes > _remaining(self.file):
                raise RuntimeError(
                    f"unexpected EOF, a storage of {nbytes} bytes cannot be in the file. The file might be corrupted."
                )
            storage = self.restore(UntypedStorage._from_array(np.empty(nbytes, np.uint8)), location)
            self.loaded[key] = TypedStorage(wrap_storage=storage, dtype=d, _internal=True)
        if view is None:
            found = self.loaded[key]
            # an empty storage may have several dtypes
            return (
                found
                if nbytes or found.dtype is d
                else TypedStorage(wrap_storage=found._untyped_storage, dtype=d, _internal=True)
            )
        view_key, offset, size = view
        if view_key not in self.views:
            part = self.loaded[key]._untyped_storage[offset * d.itemsize : (offset + size) * d.itemsize]
            self.views[view_key] = TypedStorage(wrap_storage=part, dtype=d, _internal=True)
        return self.views[view_key]

    def fill(self, key):
        """Read the bytes of one storage."""
        key = _text(key)
        if key not in self.loaded:
            raise RuntimeError(f"storage key {key!r} not found in the objects read. The file might be corrupted.")
        storage, d = self.loaded[key]._untyped_storage, self.loaded[key].dtype
        head = np.empty(1, "<i8")
        read_exactly(self.file, head)
        nbytes = int(head[0]) * d.itemsize
        if nbytes != storage.nbytes():
            raise RuntimeError(f"storage has wrong byte size: expected {storage.nbytes()} got {nbytes}")
        if storage.device.type == "meta" or _serialization_tls.skip_data:
            self.file.seek(nbytes, 1)
            return
        array = storage._array() if storage.device is HOST else np.empty(nbytes, np.uint8)
        read_exactly(self.file, array)
        array[:] = swapped(array, d, "little")
        if storage.device is not HOST:
            storage.copy_(UntypedStorage._from_array(array))


def _check_header(file, pickle_module, args):
    start = file.tell()
    file.seek(257)
    if start == 0 and file.read(5) == b"ustar":
        if pickle_module is safe:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. " + UNSAFE_MESSAGE
            )
        raise NotImplementedError("torch.load: the .tar format of PyTorch 0.1 is not supported")
    file.seek(start)
    if pickle_module.load(file, **args) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = pickle_module.load(file, **args)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    pickle_module.load(file, **args)


def legacy_load(file, map_location, pickle_module, args):
    _check_header(file, pickle_module, args)
    reader = _Reader(file, _get_restore_location(map_location), pickle_module is safe)
    result = unpickle(file, pickle_module, args, reader.persistent_load)
    for key in pickle_module.load(file, **args):
        reader.fill(key)
    return result
