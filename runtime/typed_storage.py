"""Typed storages: the memory of an untyped storage as elements of a dtype.

They are deprecated in PyTorch, but still part of its file format.
"""

import warnings
from collections.abc import Sequence
from functools import wraps

from . import dtypes as dt
from .device import HOST, META, usable
from .registry import T
from .storage import UntypedStorage
from .tensor import Tensor, tensor_method


class _Removal:
    """State of the deprecation warning: it is given the first time in a process, or always."""

    told = always = False


def warn_typed_storage_removal(stacklevel=2):
    if _Removal.always or not _Removal.told:
        warnings.warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
            "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
            "directly, use tensor.untyped_storage() instead of tensor.storage()",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
        _Removal.told = True


def reset_warn_typed_storage_removal():
    _Removal.told = False


def get_always_warn_typed_storage_removal():
    return _Removal.always


def set_always_warn_typed_storage_removal(always_warn):
    if always_warn.__class__ is not bool:
        raise AssertionError(f"always_warn must be a bool, got {type(always_warn)}")
    _Removal.always = always_warn


def _deprecated(f):
    @wraps(f)
    def told(*args, **kwargs):
        warn_typed_storage_removal()
        return f(*args, **kwargs)

    return told


# the dtype that quantized elements are stored in
_STORED = {dt.quint8: dt.uint8, dt.quint4x2: dt.uint8, dt.quint2x4: dt.uint8, dt.qint32: dt.int32, dt.qint8: dt.int8}
_NO_VALUES = "Not available for 'meta' device type"
_FORMS = "{0} received an invalid combination of arguments. Expected one of:\n * {1}\n"
_TYPED_FORMS = (
    "(*, torch.device device, torch.dtype dtype)\n * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n * (*, UntypedStorage wrap_storage, "
    "torch.dtype dtype)"
)
_LEGACY_FORMS = "no arguments\n * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)"
_CONVERSIONS = dict(
    double=dt.float64,
    float=dt.float32,
    half=dt.float16,
    long=dt.int64,
    int=dt.int32,
    short=dt.int16,
    char=dt.int8,
    byte=dt.uint8,
    bool=dt.bool_,
    bfloat16=dt.bfloat16,
    complex_double=dt.complex128,
    complex_float=dt.complex64,
    float8_e5m2=dt.ALL["float8_e5m2"],
    float8_e4m3fn=dt.ALL["float8_e4m3fn"],
    float8_e5m2fnuz=dt.ALL["float8_e5m2fnuz"],
    float8_e4m3fnuz=dt.ALL["float8_e4m3fnuz"],
)


class TypedStorage:
    """Elements of one dtype, without shape."""

    __module__ = "torch.storage"
    is_sparse = False
    _fake_device = None
    _dtype: dt.dtype

    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if not _internal:
            warn_typed_storage_removal()
        if cls is TypedStorage:
            return object.__new__(cls)
        if cls is LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        wrong = _FORMS.format(f"{cls}.__new__", _LEGACY_FORMS)
        for name, given in (("device", device), ("dtype", dtype)):
            if given is not None:
                raise RuntimeError(f"{wrong}\nKeyword argument '{name}' cannot be specified")
        if wrap_storage is None:
            if len(args) > 1:
                raise RuntimeError(wrong + "\nToo many positional arguments")
            if args and not _is_size(args[0]) and not isinstance(args[0], Sequence):
                raise TypeError(f"{wrong}\nArgument type not recognized: {type(args[0])}")
            return TypedStorage(*args, dtype=cls._dtype, device=cls._device, _internal=True)
        if args:
            raise RuntimeError(wrong + "\nNo positional arguments should be given when using 'wrap_storage'")
        _check_wrapped(wrap_storage, wrong)
        return TypedStorage(wrap_storage=wrap_storage, dtype=cls._dtype, _internal=True)

    def __init__(self, *args, device=None, dtype=None, wrap_storage=None, _internal=False):
        wrong = _FORMS.format("TypedStorage.__init__", _TYPED_FORMS)
        if wrap_storage is not None:
            if args or dtype is None or device is not None:
                raise RuntimeError(
                    wrong + "\nWith 'wrap_storage', only the argument 'dtype' is taken, and has to be given"
                )
            self.dtype = dtype
            self._untyped_storage = _check_wrapped(wrap_storage, wrong)
            return
        self.dtype = dt.get_default_dtype() if dtype is None else dtype
        home = usable(HOST if device is None else device)
        if len(args) > 1:
            raise RuntimeError(wrong + "\nToo many positional arguments")
        if not args or _is_size(args[0]):
            self._untyped_storage = UntypedStorage((int(args[0]) if args else 0) * self.dtype.itemsize, device=home)
        elif isinstance(args[0], Sequence):
            self._untyped_storage = T.tensor(
                args[0], dtype=_STORED.get(self.dtype, self.dtype), device=home
            )._get_storage()
        else:
            raise TypeError(f"{wrong}\nArgument type not recognized: {type(args[0])}")

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._dtype

    @dtype.setter
    def dtype(self, value):
        self._dtype = value

    # ------------------------------------------------------------ without a deprecation warning
    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    def _tensor(self):
        """Return the elements as a tensor over the same memory."""
        return T.empty((0,), dtype=_STORED.get(self.dtype, self.dtype), device=self._untyped_storage.device).set_(
            self._untyped_storage
        )

    def _size(self):
        """The number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def _new_wrapped_storage(self, untyped_storage):
        return TypedStorage(wrap_storage=untyped_storage, dtype=self.dtype, _internal=True)

    def _maybe_wrap_index(self, i, stop=False):
        n = self._size()
        if stop and i is None:
            return n
        if not stop and i is None:
            return 0
        if i.__class__ is not int:
            raise TypeError(f"can't index a {type(self)} with {type(i)}")
        if not -n <= i < n + stop:
            raise IndexError(f"index {i} out of range for storage of size {n}")
        return i + n if i < 0 else i

    def _getitem(self, i):
        if isinstance(i, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(i, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(i)}")
        if self._untyped_storage.device is META:
            raise NotImplementedError(_NO_VALUES)
        return self._tensor()[self._maybe_wrap_index(i)].item()

    def _pickle_storage_type(self):
        name = STORAGE_OF.get(self.dtype)
        if name is None:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return name

    def _deepcopy(self, memo):
        return self._new_wrapped_storage(self._untyped_storage.__deepcopy__(memo))

    @classmethod
    def _dtype_of(cls, dtype):
        if cls is TypedStorage:
            return dt.get_default_dtype() if dtype is None else dtype
        if dtype is not None:
            raise RuntimeError(
                "from_buffer: 'dtype' can only be specified in UntypedStorage.from_buffer and TypedStorage.from_buffer"
            )
        return cls._dtype

    @classmethod
    def _from_buffer(cls, *args, dtype=None, device=None, **kwargs):
        d = cls._dtype_of(dtype)
        if device is not None and usable(device) is not HOST:
            raise RuntimeError(f"TypedStorage.from_buffer: Not available for device {device}")
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, dtype=d, **kwargs), dtype=d, _internal=True)

    def _new_shared(self, size, *, device=None):
        """Return a new storage of this dtype in shared memory."""
        home = self._untyped_storage.device if device is None else usable(device)
        return self._new_wrapped_storage(UntypedStorage(size * self.dtype.itemsize, device=home).share_memory_())

    def _share_fd_cpu_(self, *args, **kwargs):
        fd, size = self._untyped_storage._share_fd_cpu_(*args, **kwargs)
        return fd, size // self.dtype.itemsize

    def _share_filename_cpu_(self, *args, **kwargs):
        manager, name, size = self._untyped_storage._share_filename_cpu_(*args, **kwargs)
        return manager, name, size // self.dtype.itemsize

    def _write_file(self, *args, **kwargs):
        self._untyped_storage._write_file(*args, **kwargs)

    def _get_legacy_storage_class(self):
        return LEGACY_STORAGES.get(STORAGE_OF.get(self.dtype)) if self._untyped_storage.device is HOST else None

    def __str__(self):
        warn_typed_storage_removal()
        u = self._untyped_storage
        elements = "..." if u.device is META else "\n ".join(str(v) for v in self._tensor().tolist())
        head = "..." if elements == "..." else " " + elements
        return f"{head}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={u.device}) of size {self._size()}]"

    __repr__ = __str__

    # ------------------------------------------------------------ deprecated
    @property
    def device(self):
        """Where the memory is."""
        warn_typed_storage_removal()
        return self._untyped_storage.device

    @property
    def is_cuda(self):
        """False: the device type is not supported."""
        warn_typed_storage_removal()
        return False

    is_hpu = is_cuda

    @property
    def filename(self):
        """The name of the mapped file: always None."""
        return self._untyped_storage.filename

    @_deprecated
    def untyped(self):
        """The storage without dtype."""
        return self._untyped_storage

    @_deprecated
    def __getitem__(self, i):
        return self._getitem(i)

    def _setitem(self, i, value):
        if not isinstance(i, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(i)}")
        if self._untyped_storage.device is not META:
            self._tensor()[i] = value

    __setitem__ = _deprecated(_setitem)

    @_deprecated
    def fill_(self, value):
        """Set every element."""
        if self._untyped_storage.device is not META:
            self._tensor()[:] = value
        return self

    @_deprecated
    def copy_(self, source, non_blocking=None):
        """Copy another storage's bytes."""
        self._untyped_storage.copy_(
            source._untyped_storage if isinstance(source, TypedStorage) else source, non_blocking
        )
        return self

    @_deprecated
    def tolist(self):
        """The elements as Python numbers."""
        if self._untyped_storage.device is META:
            raise NotImplementedError(_NO_VALUES)
        return self._tensor().tolist()

    def __iter__(self):
        warn_typed_storage_removal()
        return iter(self.tolist())

    @_deprecated
    def __len__(self):
        return self._size()

    size = _deprecated(_size)

    @_deprecated
    def __sizeof__(self):
        return object.__sizeof__(self) + self._untyped_storage.nbytes()

    @_deprecated
    def nbytes(self):
        """Return the size of the memory in bytes."""
        return self._untyped_storage.nbytes()

    @_deprecated
    def element_size(self):
        """Return the size of an element in bytes."""
        return self.dtype.itemsize

    _element_size = lambda self: self.dtype.itemsize  # noqa: E731
    _nbytes = lambda self: self._untyped_storage.nbytes()  # noqa: E731
    _data_ptr = lambda self: self._untyped_storage.data_ptr()  # noqa: E731
    _is_shared = lambda self: self._untyped_storage.is_shared()  # noqa: E731

    @_deprecated
    def data_ptr(self):
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    @_deprecated
    def get_device(self):
        """Return the index of the device, -1 for the CPU."""
        return self._untyped_storage.get_device()

    @_deprecated
    def clone(self):
        """A copy of the memory."""
        return self._new_wrapped_storage(self._untyped_storage.clone())

    def __copy__(self):
        return self.clone()

    @_deprecated
    def __deepcopy__(self, memo):
        return self._deepcopy(memo)

    @_deprecated
    def type(self, dtype=None, non_blocking=False):
        """Return the name of the legacy class, or, given a class, the storage converted to it."""
        if dtype is None:
            cls = self._get_legacy_storage_class()
            return (
                f"{type(self).__module__}.{type(self).__name__}" if cls is None else f"{cls.__module__}.{cls.__name__}"
            )
        return self._untyped_storage.type(dtype, non_blocking)

    def _to(self, dtype):
        return TypedStorage(
            wrap_storage=self._tensor().to(dtype, copy=True)._get_storage(), dtype=dtype, _internal=True
        )

    @_deprecated
    def to(self, *, device, non_blocking=False):
        """The elements on another device."""
        return self._new_wrapped_storage(self._untyped_storage.to(device=device, non_blocking=non_blocking))

    @_deprecated
    def cpu(self):
        """The elements on the CPU."""
        return self._new_wrapped_storage(self._untyped_storage.cpu())

    @_deprecated
    def cuda(self, device=None, non_blocking=False):
        """The elements on a CUDA device."""
        return self._new_wrapped_storage(self._untyped_storage.to(device="cuda" if device is None else device))

    @_deprecated
    def resizable(self):
        """Whether the memory may grow and shrink."""
        return self._untyped_storage.resizable()

    def _resize_(self, size):
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    @_deprecated
    def resize_(self, size):
        """Resize to a number of elements."""
        self._resize_(size)

    @_deprecated
    def is_shared(self):
        """Whether other processes may map the memory."""
        return self._untyped_storage.is_shared()

    def _share_memory_(self):
        """Move the elements to shared memory."""
        self._untyped_storage.share_memory_()
        return self

    share_memory_ = _deprecated(_share_memory_)

    @_deprecated
    def is_pinned(self, device="cuda"):
        """Whether the memory is page-locked for the accelerator."""
        return self._untyped_storage.is_pinned(device)

    @_deprecated
    def pin_memory(self, device="cuda"):
        """Return the elements in page-locked memory."""
        return self._new_wrapped_storage(self._untyped_storage.pin_memory(device))

    @_deprecated
    def pickle_storage_type(self):
        """Return the name of the legacy class that PyTorch's file format uses for the storage."""
        return self._pickle_storage_type()

    @classmethod
    def from_buffer(cls, *args, **kwargs):
        """Return a storage with a copy of a buffer's elements."""
        return cls._from_buffer(*args, **kwargs)

    @classmethod
    def from_file(cls, filename, shared, size):
        """Return a storage that maps a file. With shared=True writes reach the file."""
        warn_typed_storage_removal()
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        memory = UntypedStorage.from_file(filename, shared, size * cls._dtype.itemsize)
        return TypedStorage(wrap_storage=memory, dtype=cls._dtype, _internal=True)

    def __eq__(self, other):
        warn_typed_storage_removal()
        return isinstance(other, TypedStorage) and self._cdata == other._cdata

    __hash__ = object.__hash__


def _is_size(x):
    return hasattr(x, "__index__") and not isinstance(x, (bool, Sequence))


def _check_wrapped(storage, wrong):
    if not isinstance(storage, UntypedStorage):
        raise TypeError(f"{wrong}\nArgument 'wrap_storage' must be UntypedStorage, but got {type(storage)}")
    return storage


def _conversion(name, dtype):
    def typed(self):
        warn_typed_storage_removal()
        return self._to(dtype)

    def untyped(self):
        return TypedStorage(wrap_storage=self, dtype=dt.uint8, _internal=True)._to(dtype)

    for cls, f, what in (TypedStorage, typed, "elements"), (UntypedStorage, untyped, "bytes"):
        f.__name__, f.__qualname__, f.__doc__ = name, f"{cls.__name__}.{name}", f"The {what} as {dtype}."
        setattr(cls, name, f)


for _n, _d in _CONVERSIONS.items():
    _conversion(_n, _d)


def _pin_memory(self, device="cuda"):
    """Return the bytes in page-locked memory: the storage itself where they already are."""
    if self.device is not HOST:
        raise TypeError(f"cannot pin '{self.type()}' only CPU memory can be pinned")
    bytes_ = T.empty((0,), dtype=dt.uint8).set_(self)
    return bytes_.pin_memory(device).untyped_storage()


UntypedStorage.pin_memory = _pin_memory
_pin_memory.__name__, _pin_memory.__qualname__ = "pin_memory", "UntypedStorage.pin_memory"


class _LegacyKind(type):
    """Metaclass of torch.FloatStorage and the other legacy names.

    Each is the name of the typed storages of one dtype; all their instances are of class TypedStorage.
    """

    def __instancecheck__(cls, instance):
        return (
            type(instance) is TypedStorage
            and cls is not LegacyStorage
            and (cls._device, cls._dtype) == (instance._untyped_storage.device, instance.dtype)
        )

    @property
    def dtype(cls):
        warn_typed_storage_removal()
        return cls._dtype


class LegacyStorage(TypedStorage, metaclass=_LegacyKind):
    """Base class of torch.FloatStorage and the other legacy storage classes."""

    __module__ = "torch.storage"
    _device = HOST


LegacyStorage.__name__ = LegacyStorage.__qualname__ = "_LegacyStorage"

# dtypes whose storages have a class in the file format; others are saved as bytes together with the dtype
_CLASSES = "float64 float32 float16 int64 int32 int16 int8 uint8 bool bfloat16 complex128 complex64".split()
STORAGE_NAMES = {dt.LEGACY[dt.ALL[n]] + "Storage": dt.ALL[n] for n in _CLASSES}
STORAGE_NAMES |= {n + "Storage": dt.ALL[n.lower()] for n in ("QInt8", "QInt32", "QUInt8", "QUInt4x2", "QUInt2x4")}
STORAGE_OF = {d: n for n, d in STORAGE_NAMES.items()}
LEGACY_STORAGES = {
    n: _LegacyKind(n, (LegacyStorage,), {"_dtype": d, "__module__": "torch"}) for n, d in STORAGE_NAMES.items()
}


# ------------------------------------------------------------------------------------------------ tensor methods
@tensor_method
def _typed_storage(self):
    """The typed storage behind the tensor."""
    return TypedStorage(wrap_storage=self._get_storage(), dtype=self.dtype, _internal=True)


@tensor_method
def storage(self):
    """The typed storage behind the tensor."""
    warn_typed_storage_removal()
    return self._typed_storage()


@tensor_method
def storage_type(self):
    """Return the legacy class of typed storages of the tensor's dtype."""
    warn_typed_storage_removal()
    return self._typed_storage()._get_legacy_storage_class()


__all__ = ["Tensor"]
