"""How pickles refer to storages."""

import pickle
import sys

import numpy as np

from .. import dtypes as dt
from ..storage import UntypedStorage
from ..typed_storage import LEGACY_STORAGES, STORAGE_NAMES, STORAGE_OF, TypedStorage
from . import unpickler as safe
from .places import _text, location_tag


class StorageType:
    """Takes the place of a storage class while a file is read."""

    def __init__(self, name):
        self.dtype = self._dtype = STORAGE_NAMES[name]

    def __str__(self):
        return f"StorageType(dtype={self.dtype})"


safe.ALLOWED.update({"torch." + n: StorageType(n) for n in STORAGE_NAMES})
safe.ALLOWED.update({"torch.storage.UntypedStorage": UntypedStorage, "torch.storage.TypedStorage": TypedStorage})


class Storages:
    """The storages found while pickling, each once, in order."""

    def __init__(self):
        self.kept, self.dtypes = {}, {}

    def describe(self, obj):
        """Return (class, key, location, number of elements) of a storage; None for any other object."""
        if isinstance(obj, TypedStorage):
            storage, d = obj._untyped_storage, obj.dtype
            cls = LEGACY_STORAGES[STORAGE_OF[d]]
        elif isinstance(obj, UntypedStorage):
            storage, d, cls = obj, dt.uint8, UntypedStorage
        else:
            return None
        address = storage.nbytes() and storage.data_ptr()
        if address and self.dtypes.setdefault(address, d) is not d:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        index = self.kept.setdefault(storage._cdata, (len(self.kept), storage, d))[0]
        return cls, index, location_tag(storage), storage.nbytes() // d.itemsize

    def __iter__(self):
        return iter(self.kept.values())


def storage_id(saved_id, n):
    """Check a persistent id and return its parts."""
    if not (isinstance(saved_id, tuple) and len(saved_id) == n and _text(saved_id[0]) == "storage"):
        raise pickle.UnpicklingError(f"Unknown saved id: {saved_id!r:.200}")
    _, cls, key, location, count, *rest = saved_id
    d = dt.uint8 if cls is UntypedStorage else getattr(cls, "dtype", None)
    if not isinstance(d, dt.dtype) or not isinstance(count, int) or count < 0:
        raise pickle.UnpicklingError(f"Invalid storage in the file: {saved_id!r:.200}")
    return (d, _text(key), _text(location), count * d.itemsize, *rest)


def swapped(array, d, order):
    """Return a byte array of elements of `d` in another byte order.

    This is the array itself if `order` is that of this machine.
    """
    unit = d.itemsize // (2 if d.is_complex else 1)
    return array if order == sys.byteorder or unit == 1 else array.view(f"u{unit}").byteswap().view(np.uint8)
