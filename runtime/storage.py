"""Storages: memory without a shape. On CPU it is an array of bytes that NumPy and MindSpore share."""

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


def not_allocated(n):
    """Return PyTorch's error for memory that cannot be allocated."""
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        f"you tried to allocate {n} bytes. Error code 12 (Cannot allocate memory)"
    )


class SharedMemory:
    """A mapped file without a name. It disappears with the last process that holds it, however that process ends."""

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


# (device, inode) of shared memory -> the storage over it in this process
_mapped: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def _identity(fd):
    at = os.fstat(fd)
    return at.st_dev, at.st_ino


class StorageBase:
    """Bytes on one device: the base of UntypedStorage and of storage classes that programs define.

    `_bytes` is a writable 1-d uint8 array on CPU and None on meta; `_ms` is a flat tensor on npu.
    """

    __slots__ = ("_bytes", "_nbytes", "device", "_ms", "__weakref__", "__dict__")
    __module__ = "torch._C"
    _resizable = True  # False where the memory belongs to an array, a buffer or a file
    _shared = None  # the SharedMemory that holds the bytes
    _pinned = False  # whether the memory is page-locked, so that an accelerator may read it at any time
    is_cuda = is_hpu = False
    is_sparse = is_sparse_csr = False

    def __new__(cls, *args, device=None, dtype=None, **kw):
        if cls is StorageBase:
            raise RuntimeError("Cannot directly construct StorageBase; subclass it and then construct that")
        self = object.__new__(cls)
        d = HOST if device is None else usable(device)
        if len(args) > 1 or kw:
            got = ", ".join(
                [
                    *(type(a).__name__ for a in args),
                    *(f"{k}={type(v).__name__}" for k, v in kw.items()),
                    *[""][: len(kw)],
                ]
            )
            raise TypeError(
                f"torch.UntypedStorage() received an invalid combination of arguments - got ({got}), "
                "but expected one of:\n"
                " * (*, torch.device device = None)\n * (int size, *, torch.device device = None)\n * (Sequence data, "
                "*, torch.device device = None)\n"
            )
        if args and not isinstance(args[0], int):
            for b in args[0]:
                if not hasattr(b, "__index__"):
                    raise RuntimeError(
                        "torch.UntypedStorage(): tried to construct a storage from a sequence "
                        f"({type(args[0]).__name__}), but one of the items was of type {type(b).__name__} instead of "
                        "int"
                    )
            data = np.array([int(b) & 255 for b in args[0]], dtype=np.uint8)
            if d is META:
                return cls._meta(data.size)
        else:
            data = None if d is META else np.zeros(args[0] if args else 0, dtype=np.uint8)
        if d is not HOST and d is not META:
            return backend(d).new_storage(data, d)
        self._init(data, data.size if data is not None else args[0] if args else 0, d)
        return self

    def _init(self, data, nbytes, d):
        self._bytes, self._nbytes, self.device, self._ms = data, nbytes, d, None

    @classmethod
    def _from_array(cls, array, resizable=True):
        """Return a storage over the memory of a 1-d uint8 array, without a copy."""
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
        """Return a storage on an accelerator over a MindSpore tensor."""
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
        """Return a storage with a copy of `count` elements of a buffer from byte `offset` on, in native byte order."""
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        data, size = np.frombuffer(buffer, np.uint8), dtype.itemsize
        if byte_order is None and size > 1:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        if byte_order not in (None, "big", "little", "native"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        rest = data.size - offset
        if offset < 0 or rest < 0:
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({offset}), but got {data.size}"
            )
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
            raise NotImplementedError(f"Not available for '{self.device.type}' device type")
        return self._bytes

    def nbytes(self):
        """The size in bytes."""
        return self._nbytes

    size = __len__ = nbytes

    def __sizeof__(self):
        """Return what sys.getsizeof returns in PyTorch: the bytes of the memory and of the object."""
        return 32 + self._nbytes

    def element_size(self):
        """1: the elements are bytes."""
        return 1

    def data_ptr(self):
        """The address of the first byte."""
        return 0 if self._bytes is None else self._bytes.ctypes.data

    def resizable(self):
        """Whether the size may be changed."""
        return self._resizable

    def resize_(self, nbytes):
        """Grow or shrink, keeping the leading bytes. Existing NumPy and MindSpore aliases keep the old memory."""
        if not self._resizable:
            raise RuntimeError("Trying to resize storage that is not resizable")
        if self._bytes is not None:
            try:
                new = np.empty(nbytes, np.uint8)
            except MemoryError:
                raise not_allocated(nbytes) from None
            n = min(nbytes, self._bytes.size)
            new[:n] = self._bytes[:n]
            self._bytes = new
        self._nbytes = nbytes
        return self

    def copy_(self, source, non_blocking=None):
        """Copy the bytes of another storage of the same size."""
        if self._nbytes != source.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self._nbytes} bytes but src was {source.nbytes()} bytes"
            )
        if self.device is not META:
            self._array()[:] = source.cpu()._array()
        return self

    def fill_(self, value):
        """Set every byte."""
        if self.device is not META:
            self._array()[:] = int(value) & 255
        return self

    def clone(self):
        """Return a copy of the storage."""
        return (
            UntypedStorage._from_array(self._array().copy())
            if self._bytes is not None
            else UntypedStorage._meta(self._nbytes)
        )

    def cpu(self):
        """The bytes in the host's memory."""
        if self.device is META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self

    def tolist(self):
        """The bytes as ints."""
        return self._array().tolist()

    def is_pinned(self, device=None):
        """Whether the memory is page-locked for the accelerator."""
        return self._pinned

    def is_shared(self):
        """Whether other processes may map the memory."""
        return self._shared is not None

    def share_memory_(self):
        """Move the bytes to shared memory.

        Forked children see it, and multiprocessing passes its file descriptor to other processes.
        """
        return self._share()

    def _share(self, owners=None):
        """Implement share_memory_. owners: the tensors over this storage; None searches all objects for them."""
        if self.device is META:
            raise RuntimeError("_share_fd_: only available on CPU")
        if self._shared is None and self._bytes is not None:
            shared = SharedMemory(os.memfd_create("torch"), self._nbytes)
            shared.array[:] = self._bytes
            self._bytes, self._shared = shared.array, shared
            self._resizable = False
            _mapped[_identity(shared.fd)] = self
            # the NumPy and MindSpore aliases that tensors over this storage have cached are of the old memory
            for owner in gc.get_referrers(self) if owners is None else owners:
                if hasattr(owner, "_stride") and getattr(owner, "_storage", None) is self:
                    owner._ms = owner._np = None
        return self

    def _share_fd_cpu_(self, *args):
        """Move the bytes to shared memory and return (file descriptor, size in bytes)."""
        return self.share_memory_()._shared.fd, self._nbytes

    @classmethod
    def _new_shared_fd_cpu(cls, fd, size):
        """Return the storage over a file descriptor that another process shared.

        While a storage over the same memory is alive in this process, that one is returned.
        """
        known = _mapped.get(_identity(fd))
        if known is not None:
            os.close(fd)
            return known
        shared = SharedMemory(fd, size)
        self = cls._from_array(shared.array, resizable=False)
        self._shared = shared
        _mapped[_identity(fd)] = self
        return self

    def get_device(self):
        """The index of the device, -1 for the CPU."""
        return -1 if self.device.index is None else self.device.index

    @property
    def _cdata(self):
        # empty arrays may have the same address
        return self._bytes.ctypes.data if self._bytes is not None and self._nbytes else id(self)

    @property
    def filename(self):
        """The file that is mapped, or None."""
        return None

    def untyped(self):
        """The storage itself."""
        return self

    def byteswap(self, dtype):
        """Swap the byte order of each element of a dtype."""
        a, size = self._array(), dtype.itemsize // (2 if dtype.is_complex else 1)
        a[:] = a.view(f"u{size}").byteswap().view(np.uint8)

    def __getitem__(self, i):
        n = self._nbytes
        if isinstance(i, slice):
            step = i.indices(n)[2]
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            return UntypedStorage._from_array(self._array()[i], resizable=False)
        if not hasattr(i, "__index__"):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(i).__name__}")
        if self.device is META:
            self._array()
        i = i.__index__()
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
        """Return the name of the class, or, given a class, a copy of the bytes in a storage of that class."""
        if dtype is None:
            return "torch.storage.UntypedStorage"
        if isinstance(dtype, str):
            module, _, name = dtype.rpartition(".")
            dtype = getattr(sys.modules[module], name)
        return self if dtype is UntypedStorage else dtype(self._nbytes).copy_(self, non_blocking)

    def new(self):
        """An empty storage on the same device."""
        return UntypedStorage(0, device=self.device)

    def to(self, *, device, non_blocking=False):
        """Return the storage itself if it is on the device, else a copy there."""
        d = usable(_device(device))
        if d is self.device:
            return self
        if d is META or self.device is META:
            return UntypedStorage._meta(self._nbytes)
        return backend(d).new_storage(self._array(), d)

    def _write_file(self, f, is_real_file, save_size, element_size):
        """Write the bytes to a file, with save_size preceded by the number of elements."""
        f.write((self._nbytes // element_size).to_bytes(8, "little") * save_size + self.cpu()._array().tobytes())

    def _share_filename_cpu_(self):
        """Raise NotImplementedError: shared memory has no name that other processes could open."""
        if self.device is META:
            raise RuntimeError("_share_filename_: only available on CPU")
        raise NotImplementedError(
            "_share_filename_cpu_: shared memory has no name here, of any dtype, on cpu; "
            "processes hand over its descriptor"
        )


class UntypedStorage(StorageBase):
    """The bytes behind a tensor."""

    __slots__ = ()
    __module__ = "torch.storage"
