"""Storages: memory without shape. On CPU the truth is bytes that NumPy and MindSpore both see."""

import gc
import mmap
import os
import sys
import weakref

import numpy as np

from . import dtypes as dt
from .backend import backend
from .device import HOST, META, usable
from .device import device as _device


class SharedMemory:
    """A file without a name, mapped: it is gone with the last process that holds it, however that ends."""

    def __init__(self, fd, nbytes):
        self.fd = fd
        if nbytes:
            if os.fstat(fd).st_size < nbytes:
                os.ftruncate(fd, nbytes)
            self.array = np.frombuffer(mmap.mmap(fd, nbytes), np.uint8)
        else:
            self.array = np.zeros(0, np.uint8)

    def __del__(self):
        os.close(self.fd)


_received: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # (device, inode) of shared memory: the storage over it


class UntypedStorage:
    """Bytes of one device. `_bytes` is a writable 1-d uint8 array on CPU, None on meta; `_ms` a flat tensor on npu."""

    __slots__ = ("_bytes", "_nbytes", "device", "_ms", "__weakref__", "__dict__")
    __module__ = "torch.storage"
    _resizable = True  # False where the memory is somebody else's: an array's, a buffer's, a file's
    _shared = None  # the SharedMemory that holds the bytes
    _pinned = False  # an accelerator may read the memory at any time
    is_cuda = False
    is_sparse = False

    def __new__(cls, *args, device=None, dtype=None, **kw):
        if kw:
            raise TypeError(f"UntypedStorage got unexpected arguments {sorted(kw)}")
        self = object.__new__(cls)
        d = HOST if device is None else usable(device)
        if args and not isinstance(args[0], int):
            data = np.array([int(b) & 255 for b in args[0]], dtype=np.uint8)
        else:
            data = None if d is META else np.zeros(args[0] if args else 0, dtype=np.uint8)
        if d is not HOST and d is not META:
            return backend(d).new_storage(data, d)
        self._init(data, args[0] if data is None else data.size, d)
        return self

    def _init(self, data, nbytes, d):
        self._bytes, self._nbytes, self.device, self._ms = data, nbytes, d, None

    @classmethod
    def _from_array(cls, array, resizable=True):
        """A storage over the memory of a 1-d uint8 array, no copy."""
        self = object.__new__(cls)
        self._init(array, array.size, HOST)
        if not resizable:
            self._resizable = False
        return self

    @classmethod
    def _meta(cls, nbytes):
        self = object.__new__(cls)
        self._init(None, nbytes, META)
        return self

    @classmethod
    def _of_device(cls, ms, nbytes, d):
        """A storage on an accelerator, over a MindSpore tensor."""
        self = object.__new__(cls)
        self._init(None, nbytes, d)
        self._ms = ms
        return self

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """Map a file: shared=True writes through (and grows the file), False is a private copy-on-write mapping."""
        filename = os.fspath(filename)
        size = os.path.getsize(filename) if os.path.exists(filename) else 0
        if shared and size < nbytes:
            with open(filename, "ab") as f:
                f.truncate(nbytes)
            size = nbytes
        if size < nbytes:
            if not os.path.exists(filename):
                raise RuntimeError(f"unable to open file <{filename}> in read-only mode: No such file or directory (2)")
            raise RuntimeError(f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        nbytes = nbytes or size
        if nbytes == 0:
            return cls._from_array(np.zeros(0, np.uint8))
        with open(filename, "r+b" if shared else "rb") as f:
            m = mmap.mmap(f.fileno(), nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
        return cls._from_array(np.frombuffer(m, dtype=np.uint8), resizable=False)

    @classmethod
    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0, dtype=None):
        """A copy of `count` elements of a buffer behind `offset` bytes, in this machine's byte order."""
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        data, size = np.frombuffer(buffer, np.uint8), dtype.itemsize
        if byte_order is None and size > 1:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        if byte_order not in (None, "big", "little", "native"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        rest = data.size - offset
        if offset < 0 or rest < 0:
            raise ValueError(f"offset must be non-negative and no greater than buffer length ({offset}), but got {data.size}")
        if count < 0 and rest % size:
            raise ValueError(f"buffer size ({data.size}) must be a multiple of element size ({size})")
        if (count if count >= 0 else rest // size) * size > rest:
            raise ValueError(f"buffer has only {rest} elements after offset {offset}, but specified a size of {count}")
        self = cls._from_array(data[offset : offset + (count * size if count >= 0 else rest)].copy())
        if dtype is dt.bool_:
            self._bytes[:] = self._bytes != 0
        if byte_order not in (None, "native", sys.byteorder):
            self.byteswap(dtype)
        return self

    def _array(self):
        if self._bytes is None:
            raise NotImplementedError(f"Cannot access data of a storage on {self.device}")
        return self._bytes

    def nbytes(self):
        return self._nbytes

    size = __len__ = nbytes

    def __sizeof__(self):
        """The memory, and what PyTorch's object has beside it: sys.getsizeof says the same there."""
        return 32 + self._nbytes

    def element_size(self):
        return 1

    def data_ptr(self):
        return 0 if self._bytes is None else self._bytes.ctypes.data

    def resizable(self):
        return self._resizable

    def resize_(self, nbytes):
        """Grow or shrink; keeps the leading bytes. Tensors that made NumPy or MindSpore aliases keep the old memory."""
        if not self._resizable:
            raise RuntimeError("Trying to resize storage that is not resizable")
        if self._bytes is not None:
            new = np.empty(nbytes, np.uint8)
            n = min(nbytes, self._bytes.size)
            new[:n] = self._bytes[:n]
            self._bytes = new
        self._nbytes = nbytes
        return self

    def copy_(self, source, non_blocking=None):
        self._array()[:] = source._array()
        return self

    def fill_(self, value):
        self._array()[:] = int(value) & 255
        return self

    def clone(self):
        return UntypedStorage._from_array(self._array().copy()) if self._bytes is not None else UntypedStorage._meta(self._nbytes)

    def cpu(self):
        return self

    def tolist(self):
        return self._array().tolist()

    def is_pinned(self, device=None):
        return self._pinned

    def is_shared(self):
        """Whether other processes may map the memory."""
        return self._shared is not None

    def share_memory_(self):
        """Move the bytes to memory that other processes may map: forked children see them, multiprocessing hands over the file behind them."""
        if self._shared is None and self._bytes is not None:
            shared = SharedMemory(os.memfd_create("torch"), self._nbytes)
            shared.array[:] = self._bytes
            self._bytes, self._shared = shared.array, shared
            self._resizable = False
            for owner in gc.get_referrers(self):  # tensors over this storage, whose aliases are of the old memory
                if hasattr(owner, "_stride") and getattr(owner, "_storage", None) is self:
                    owner._ms = owner._np = None
        return self

    def _share_fd_cpu_(self, *args):
        """(file descriptor, size in bytes) of the memory, which is shared for it."""
        return self.share_memory_()._shared.fd, self._nbytes

    @classmethod
    def _new_shared_fd_cpu(cls, fd, size):
        """The storage over a file descriptor that another process shared; the same one while the first is alive."""
        at = os.fstat(fd)
        known = _received.get((at.st_dev, at.st_ino))
        if known is not None:
            os.close(fd)
            return known
        shared = SharedMemory(fd, size)
        self = cls._from_array(shared.array, resizable=False)
        self._shared = shared
        _received[at.st_dev, at.st_ino] = self
        return self

    def get_device(self):
        return -1 if self.device.index is None else self.device.index

    @property
    def _cdata(self):
        return self._bytes.ctypes.data if self._bytes is not None and self._nbytes else id(self)  # empty arrays may lie at one place

    @property
    def filename(self):
        return None

    def untyped(self):
        return self

    def byteswap(self, dtype):
        a, size = self._array(), dtype.itemsize // (2 if dtype.is_complex else 1)
        a[:] = a.view(f"u{size}").byteswap().view(np.uint8)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return UntypedStorage._from_array(self._array()[i], resizable=False)
        n = self._nbytes
        if not -n <= i < n:
            raise IndexError(f"index {i} out of range for storage of size {n}")
        return int(self._array()[i])

    def __setitem__(self, i, value):
        self._array()[i] = np.asarray(value).astype(np.uint8)

    def __iter__(self):
        return iter(self._array().tolist())

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        r = memo.get(self._cdata)
        if r is None:
            r = memo[self._cdata] = self.clone()
        return r

    def __str__(self):
        head = "" if self._bytes is None else "".join(f" {b}\n" for b in self._bytes[:1000].tolist())
        return f"{head}[torch.storage.UntypedStorage(device={self.device}) of size {self._nbytes}]"

    __repr__ = __str__

    def type(self, dtype=None, non_blocking=False):
        return "torch.storage.UntypedStorage" if dtype is None else NotImplemented

    def to(self, *, device, non_blocking=False):
        d = usable(_device(device))
        if d is self.device:
            return self
        if d is META or self.device is META:
            return UntypedStorage._meta(self._nbytes)
        return backend(d).new_storage(self._array(), d)


class TypedStorage:
    """An untyped storage seen as elements of a dtype (deprecated in PyTorch, still part of its file format)."""

    __module__ = "torch.storage"
    is_sparse = False
    _class_dtype = None

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        self.dtype = dtype or self._class_dtype or dt.get_default_dtype()
        if wrap_storage is None:
            n = args[0] if args else 0
            if isinstance(n, int):
                wrap_storage = UntypedStorage(n * self.dtype.itemsize, device=device)
            else:
                wrap_storage = UntypedStorage._from_array(np.array(n, dtype=self.dtype.np).view(np.uint8).reshape(-1))
        self._untyped_storage = wrap_storage

    @classmethod
    def from_buffer(cls, *args, **kwargs):
        """A storage of this class's dtype with a copy of a buffer's elements."""
        d = kwargs.pop("dtype", None) or cls._class_dtype or dt.get_default_dtype()
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, dtype=d, **kwargs), dtype=d)

    _from_buffer = from_buffer

    def untyped(self):
        return self._untyped_storage

    @property
    def device(self):
        return self._untyped_storage.device

    @property
    def is_cuda(self):
        return False

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    def nbytes(self):
        return self._untyped_storage.nbytes()

    def element_size(self):
        return self.dtype.itemsize

    def size(self):
        return self.nbytes() // self.dtype.itemsize

    __len__ = _size = size

    def data_ptr(self):
        return self._untyped_storage.data_ptr()

    def _view(self):
        return self._untyped_storage._array().view(self.dtype.np)

    def __getitem__(self, i):
        v = self._view()[i]
        return TypedStorage(wrap_storage=UntypedStorage._from_array(v.view(np.uint8)), dtype=self.dtype) if isinstance(i, slice) else v.item()

    def __setitem__(self, i, value):
        self._view()[i] = value

    def fill_(self, value):
        self._view()[:] = value
        return self

    def copy_(self, source, non_blocking=None):
        self._view()[:] = source._view().astype(self.dtype.np)
        return self

    def tolist(self):
        return self._view().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def clone(self):
        return type(self)(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def __deepcopy__(self, memo):
        return type(self)(wrap_storage=self._untyped_storage.__deepcopy__(memo), dtype=self.dtype)

    def resizable(self):
        return self._untyped_storage.resizable()

    def resize_(self, n):
        self._untyped_storage.resize_(n * self.dtype.itemsize)
        return self

    def is_shared(self):
        return self._untyped_storage.is_shared()

    def share_memory_(self):
        self._untyped_storage.share_memory_()
        return self

    def is_pinned(self, device=None):
        return self._untyped_storage.is_pinned()

    def cpu(self):
        return self

    def pickle_storage_type(self):
        return dt.LEGACY[self.dtype] + "Storage"

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self._cdata == other._cdata

    __hash__ = object.__hash__

    def __str__(self):
        return "".join(f" {v}\n" for v in self.tolist()) + f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"

    __repr__ = __str__


LEGACY_STORAGES = {}
for _d, _n in dt.LEGACY.items():
    LEGACY_STORAGES[_n + "Storage"] = type(_n + "Storage", (TypedStorage,), {"_class_dtype": _d, "dtype": _d, "__module__": "torch"})
