"""torch.save and torch.load: PyTorch's files, both ways; and how a tensor is pickled and copied."""

import contextlib
import copy
import copyreg
import enum
import io
import mmap as _mmap
import os
import pickle
import re
import struct
import sys
import threading
import warnings
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import dtypes as dt
from . import unpickler as safe
from .archive import Reader, Writer, read_exactly
from .backend import accelerator_count
from .call.overrides import handle_torch_function, has_torch_function
from .device import ACCELERATOR, CPU, LAYOUTS, META, QSCHEMES, Size
from .device import device as _device
from .device import layout as _layout
from .storage import LEGACY_STORAGES, TypedStorage, UntypedStorage
from .tensor import Tensor, alias, canonical, meta_tensor, wrap

MAGIC_NUMBER, PROTOCOL_VERSION, DEFAULT_PROTOCOL = 0x1950A86A20F9469CFC6C, 1001, 2
UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. "
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
    "execution. Do it only if you got the file from a trusted source."
)
# dtypes whose storages have a class in the format; the others are saved as bytes with the dtype beside them
STORAGE_NAMES = {
    **{
        dt.LEGACY[dt.ALL[n]] + "Storage": dt.ALL[n] for n in ("float64 float32 float16 int64 int32 int16 int8 uint8 bool bfloat16 complex128 complex64").split()
    },
    **{n + "Storage": dt.ALL[n.lower()] for n in ("QInt8", "QInt32", "QUInt8", "QUInt4x2", "QUInt2x4")},
}
STORAGE_OF = {d: n for n, d in STORAGE_NAMES.items()}


class LoadEndianness(enum.Enum):
    NATIVE = 1
    LITTLE = 2
    BIG = 3


load_config = SimpleNamespace(mmap=False, endianness=None, mmap_flags=_mmap.MAP_PRIVATE, calculate_storage_offsets=False)
save_config = SimpleNamespace(compute_crc32=True, use_pinned_memory_for_d2h=False, storage_alignment=64)


class _Local(threading.local):
    map_location, skip_data, materialize_fake_tensors = None, False, False


_serialization_tls = _Local()


def get_default_load_endianness():
    """The byte order assumed for files that don't say theirs."""
    return load_config.endianness


def set_default_load_endianness(endianness):
    """Set the byte order assumed for files that don't say theirs (None: little)."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    load_config.endianness = endianness


def get_crc32_options():
    """Whether save() computes checksums."""
    return save_config.compute_crc32


def set_crc32_options(compute_crc32):
    """Set whether save() computes checksums; load() needs none, other unzippers do."""
    save_config.compute_crc32 = compute_crc32


def get_default_mmap_options():
    """The flags that load(mmap=True) maps with."""
    return load_config.mmap_flags


class set_default_mmap_options:
    """Set the flags (MAP_PRIVATE or MAP_SHARED) that load(mmap=True) maps with; also a context manager."""

    def __init__(self, flags):
        if flags not in (_mmap.MAP_PRIVATE, _mmap.MAP_SHARED):
            raise ValueError(f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}")
        self.previous, load_config.mmap_flags = load_config.mmap_flags, flags

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        load_config.mmap_flags = self.previous


class skip_data:
    """In a `with`: save() leaves the storages' places empty, load() makes storages without reading them."""

    def __init__(self, materialize_fake_tensors=False):
        self.new = (True, materialize_fake_tensors)

    def __enter__(self):
        tls = _serialization_tls
        self.old = (tls.skip_data, tls.materialize_fake_tensors)
        tls.skip_data, tls.materialize_fake_tensors = self.new

    def __exit__(self, *exc):
        _serialization_tls.skip_data, _serialization_tls.materialize_fake_tensors = self.old


# ------------------------------------------------------------ where storages live
_package_registry: list[tuple] = []


def register_package(priority, tagger, deserializer):
    """Say how storages of a device are tagged when saved, and brought there when loaded; lower priorities are asked first."""
    _package_registry.append((priority, tagger, deserializer))
    _package_registry.sort(key=lambda entry: entry[0])


def _validate_device(location, backend):
    name = backend.upper()
    where: Any = _device(location)
    count = accelerator_count() if backend == ACCELERATOR else 0
    advice = "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
    if not count:
        raise RuntimeError(f"Attempting to deserialize object on a {name} device but torch.{backend}.is_available() is False. {advice}")
    if (where.index or 0) >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on {name} device {where.index} but torch.{backend}.device_count() is "
            f"{count}. Please use torch.load with map_location to map your storages to an existing device."
        )
    return where


def _register_backend(priority, name):
    def restore(storage, location):
        if location == name or re.match(f"{name}(:|[0-9]+)", location):
            return storage.to(device=_validate_device(location, name))

    register_package(priority, lambda s: str(s.device) if s.device.type == name else None, restore)


register_package(10, lambda s: "cpu" if s.device.type == "cpu" else None, lambda s, location: s if location == "cpu" else None)
register_package(
    22, lambda s: "meta" if s.device.type == "meta" else None, lambda s, location: UntypedStorage._meta(s.nbytes()) if location == "meta" else None
)
for _priority, _name in ((20, "cuda"), (23, ACCELERATOR), (24, "hpu"), (25, "xpu"), (26, "mtia")):
    _register_backend(_priority, _name)


def _typename(obj):
    return f"{type(obj).__module__}.{type(obj).__name__}"


def location_tag(storage):
    """The device of a storage as files name it."""
    for _, tagger, _ in _package_registry:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError("don't know how to determine data location of " + _typename(storage))


def default_restore_location(storage, location):
    """A storage just read, on the device that the tag names."""
    for _, _, restore in _package_registry:
        result = restore(storage, location)
        if result is not None:
            return result
    raise RuntimeError(f"don't know how to restore data location of {_typename(storage)} (tagged with {location})")


def _get_restore_location(map_location):
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, _device)):
        return lambda storage, location: default_restore_location(storage, _text(map_location))

    def restore(storage, location):
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


def _text(value):
    return value.decode("ascii") if isinstance(value, bytes) else str(value)


class StorageType:
    """What stands for a storage class while a file is read."""

    def __init__(self, name):
        self.dtype = self._dtype = STORAGE_NAMES[name]

    def __str__(self):
        return f"StorageType(dtype={self.dtype})"


# ------------------------------------------------------------ files
def _is_path(f):
    return isinstance(f, (str, os.PathLike))


def _is_zipfile(f):
    start = f.tell()
    magic = f.read(4)
    f.seek(start)
    return magic == b"PK\3\4"


@contextlib.contextmanager
def _open_file_like(f, mode):
    if _is_path(f):
        with open(f, mode) as file:
            yield file
        return
    if "r" in mode:
        try:
            f.seek(f.tell())
        except (io.UnsupportedOperation, AttributeError) as e:
            raise type(e)(
                f"{e}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like "
                "io.BytesIO and try to load from it instead."
            ) from None
    yield f
    if "w" in mode:
        f.flush()


def check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True):
    """Whether a module's __version__ is at least the given tuple."""
    try:
        have = module.__version__.split(".")
        return tuple(type(want)(have[i]) for i, want in enumerate(req_version_tuple)) >= req_version_tuple
    except Exception as e:
        message = f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared with tuple {req_version_tuple}"
        if error_if_malformed:
            raise RuntimeError(message) from e
        warnings.warn(message + ", but continuing assuming that requirement is met", stacklevel=2)
        return True


def _check_dill_version(pickle_module):
    if getattr(pickle_module, "__name__", "") == "dill" and not check_module_version_greater_or_equal(pickle_module, (0, 3, 1), False):
        raise ValueError(f"'torch' supports dill >= 0.3.1, but you have dill {pickle_module.__version__}. Please upgrade dill or switch to 'pickle'")


def _dump(obj, file, pickle_module, protocol, persistent_id):
    pickler = type("Pickler", (pickle_module.Pickler,), {"persistent_id": lambda self, o: persistent_id(o)})
    pickler(file, protocol=protocol).dump(obj)


class _Storages:
    """The storages met while pickling, each once, in order."""

    def __init__(self):
        self.kept, self.dtypes = {}, {}

    def describe(self, obj):
        """(class, key, location, number of elements) of a storage, None for another object."""
        if isinstance(obj, TypedStorage):
            storage, d = obj._untyped_storage, obj.dtype
            cls = LEGACY_STORAGES[STORAGE_OF[d]]
        elif isinstance(obj, UntypedStorage):
            storage, d, cls = obj, dt.uint8, UntypedStorage
        else:
            return None
        address = storage.data_ptr()
        if address and self.dtypes.setdefault(address, d) is not d:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        index = self.kept.setdefault(storage._cdata, (len(self.kept), storage, d))[0]
        return cls, index, location_tag(storage), storage.nbytes() // d.itemsize

    def __iter__(self):
        return iter(self.kept.values())


def save(obj, f, pickle_module=pickle, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True, _disable_byteorder_record=False):
    """Save an object to a path or a binary stream, in PyTorch's zip format (or its old one)."""
    _check_dill_version(pickle_module)
    if not (_is_path(f) or hasattr(f, "write")):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    storages = _Storages()
    if not _use_new_zipfile_serialization:
        if _serialization_tls.skip_data:
            raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
        with _open_file_like(f, "wb") as file:
            _legacy_save(obj, file, pickle_module, pickle_protocol, storages)
        return
    data = io.BytesIO()

    def persistent_id(o):
        found = storages.describe(o)
        return found and ("storage", found[0], str(found[1]), *found[2:])

    _dump(obj, data, pickle_module, pickle_protocol, persistent_id)
    stem = os.path.basename(os.fspath(f)).rpartition(".")[0] or os.path.basename(os.fspath(f)) if _is_path(f) else ""
    with _open_file_like(f, "wb") as file:
        out = Writer(file, stem if stem and stem.isascii() else "archive", save_config.storage_alignment, save_config.compute_crc32)
        out.record("data.pkl", data.getbuffer())
        out.record(".format_version", b"1")
        out.record(".storage_alignment", b"%d" % save_config.storage_alignment)
        if not _disable_byteorder_record:
            out.record("byteorder", sys.byteorder.encode())
        for index, storage, _ in storages:
            if storage.device.type != "meta":
                out.record(f"data/{index}", storage.cpu()._array(), _serialization_tls.skip_data)
        out.close()


def _legacy_save(obj, file, pickle_module, protocol, storages):
    def persistent_id(o):
        found = storages.describe(o)
        if found and found[0] is UntypedStorage:  # which PyTorch writes and then cannot read
            found = (LEGACY_STORAGES["ByteStorage"], *found[1:])
        return found and ("storage", found[0], str(found[1]), *found[2:], None)

    sizes = {"short": struct.calcsize("=h"), "int": struct.calcsize("=i"), "long": struct.calcsize("=l")}
    for header in (MAGIC_NUMBER, PROTOCOL_VERSION, {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}):
        pickle_module.dump(header, file, protocol=protocol)
    _dump(obj, file, pickle_module, protocol, persistent_id)
    pickle_module.dump([str(index) for index, _, _ in storages], file, protocol=protocol)
    file.flush()
    for _, storage, d in storages:
        file.write(struct.pack("<q", storage.nbytes() // d.itemsize))
        file.write(_swapped(storage.cpu()._array(), d, "little").data)


def _swapped(array, d, order):
    """A byte array of elements of `d` in another byte order (the array itself where that is this machine's)."""
    unit = d.itemsize // (2 if d.is_complex else 1)
    return array if order == sys.byteorder or unit == 1 else array.view(f"u{unit}").byteswap().view(np.uint8)


def _env(name):
    return os.getenv(name, "0").lower() in ("1", "y", "yes", "true")


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Load what save() or PyTorch's save() wrote, from a path or a binary stream.

    weights_only (the default) admits tensors, plain Python data and what add_safe_globals allowed; mmap maps the file instead of
    reading it.
    """
    force, force_not = _env("TORCH_FORCE_WEIGHTS_ONLY_LOAD"), _env("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if force and force_not:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both were set.")
    if force:
        weights_only = True
    elif weights_only is None and force_not:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not explicitly "
            "passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=2,
        )
        weights_only = False
    elif weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    pickle_module = safe if weights_only else pickle_module or pickle
    mmap = load_config.mmap if mmap is None else mmap
    _check_dill_version(pickle_module)
    pickle_load_args.setdefault("encoding", "utf-8")
    old_location = _serialization_tls.map_location
    try:
        with _open_file_like(f, "rb") as file:
            _serialization_tls.map_location = map_location
            if not _is_zipfile(file):
                if mmap:
                    name = f"{f}, " if isinstance(f, str) else ""
                    raise RuntimeError(
                        "mmap can only be used with files saved with "
                        f"`torch.save({name}_use_new_zipfile_serialization=True), "
                        "please torch.save your checkpoint with this option in order to use mmap."
                    )
                return _legacy_load(file, map_location, pickle_module, pickle_load_args)
            archive = Reader(file)
            if "constants.pkl" in archive:
                if weights_only:
                    raise RuntimeError("Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. " + UNSAFE_MESSAGE)
                raise NotImplementedError("torch.load: TorchScript archives are not supported")
            mapped = None
            if mmap:
                if not _is_path(f):
                    raise ValueError("f must be a file path in order to use the mmap argument")
                mapped = UntypedStorage.from_file(os.fspath(f), load_config.mmap_flags == _mmap.MAP_SHARED, os.path.getsize(f))
            return _load(archive, map_location, pickle_module, mapped, pickle_load_args)
    except pickle.UnpicklingError as e:
        if weights_only:
            raise pickle.UnpicklingError(_get_wo_message(str(e))) from None
        raise
    finally:
        _serialization_tls.map_location = old_location


def _get_wo_message(message):
    """The text of a weights_only error: what failed and which ways out there are."""
    docs = (
        "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
        "https://pytorch.org/docs/stable/generated/torch.load.html."
    )
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {UNSAFE_MESSAGE}\n\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in "
            f"the following error message.\n\tWeightsUnpickler error: {message}{docs}"
        )
    issue = (
        ""
        if re.search(r"whose module (\S+) is blocked", message)
        else ("Please file an issue with the following so that we can make `weights_only=True` compatible with your use case: WeightsUnpickler error: ")
    )
    return f"Weights only load failed. {UNSAFE_MESSAGE}\n{issue}\n\n{message}{docs}"


def _unpickle(file, pickle_module, args, persistent_load):
    class Unpickler(pickle_module.Unpickler):  # type: ignore[name-defined]
        def find_class(self, module, name):
            if name in STORAGE_NAMES and pickle_module is not safe:
                return StorageType(name)
            return super().find_class("torch._tensor" if module == "torch.tensor" else module, name)

    unpickler = Unpickler(file, **args)
    unpickler.persistent_load = persistent_load
    return unpickler.load()


def _storage_id(saved_id, n):
    """The parts of a persistent id, checked."""
    if not (isinstance(saved_id, tuple) and len(saved_id) == n and _text(saved_id[0]) == "storage"):
        raise pickle.UnpicklingError(f"Unknown saved id: {saved_id!r:.200}")
    _, cls, key, location, count, *rest = saved_id
    d = dt.uint8 if cls is UntypedStorage else getattr(cls, "dtype", None)
    if not isinstance(d, dt.dtype) or not isinstance(count, int) or count < 0:
        raise pickle.UnpicklingError(f"Invalid storage in the file: {saved_id!r:.200}")
    return (d, _text(key), _text(location), count * d.itemsize, *rest)


def _load(archive, map_location, pickle_module, mapped, args):
    order = None
    if "byteorder" in archive:
        order = archive.read("byteorder").decode()
        if order not in ("little", "big"):
            raise ValueError("Unknown endianness type: " + order)
    elif load_config.endianness is not LoadEndianness.NATIVE:
        order = "big" if load_config.endianness is LoadEndianness.BIG else "little"
    to_meta = isinstance(map_location, (str, _device)) and str(map_location) == "meta"
    restore = _get_restore_location(map_location)
    loaded: dict[str, TypedStorage] = {}

    def persistent_load(saved_id):
        d, key, location, nbytes = _storage_id(saved_id, 5)
        if key in loaded:
            return loaded[key]
        name = f"data/{key}"
        if to_meta:
            storage = UntypedStorage._meta(nbytes)
            storage._checkpoint_offset = archive.offset(name)
        else:
            if _serialization_tls.skip_data:
                storage = UntypedStorage(nbytes)
            elif mapped is not None and archive.stored(name):
                start = archive.offset(name)
                if nbytes != archive.size(name) or start + nbytes > mapped.nbytes():
                    raise RuntimeError(f"PytorchStreamReader failed reading file {name}: it does not have {nbytes} bytes")
                storage = mapped[start : start + nbytes]
            else:
                if nbytes != archive.size(name):
                    raise RuntimeError(f"PytorchStreamReader failed reading file {name}: it has {archive.size(name)} bytes, not {nbytes}")
                array = np.empty(nbytes, np.uint8)
                archive.read_into(name, array)
                storage = UntypedStorage._from_array(array, resizable=False)  # as in PyTorch
            if order not in (None, sys.byteorder):
                storage._array()[:] = _swapped(storage._array(), d, order)
            storage = restore(storage, location).untyped()
        typed = TypedStorage(wrap_storage=storage, dtype=d, _internal=True)
        if typed.data_ptr():
            loaded[key] = typed
        return typed

    return _unpickle(io.BytesIO(archive.read("data.pkl")), pickle_module, args, persistent_load)


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
        return _rebuild(UntypedStorage._from_array(array), dtype, 0, (0,), (1,))

    def serialization_id(self):
        return self.get_record(".data/serialization_id").decode()


def _legacy_load(file, map_location, pickle_module, args):
    restore = _get_restore_location(map_location)
    loaded: dict[str, TypedStorage] = {}
    views: dict = {}

    def persistent_load(saved_id):
        if isinstance(saved_id, tuple) and len(saved_id) > 1 and _text(saved_id[0]) == "module" and pickle_module is not safe:
            return saved_id[1]  # a module class with its source beside it, which PyTorch compares only to warn
        d, key, location, nbytes, view = _storage_id(saved_id, 6)
        if key not in loaded:
            if nbytes > _remaining(file):
                raise RuntimeError(f"unexpected EOF, a storage of {nbytes} bytes cannot be in the file. The file might be corrupted.")
            storage = restore(UntypedStorage._from_array(np.empty(nbytes, np.uint8)), location)
            loaded[key] = TypedStorage(wrap_storage=storage, dtype=d, _internal=True)
        if view is None:
            return loaded[key]
        view_key, offset, size = view
        if view_key not in views:
            part = loaded[key]._untyped_storage[offset * d.itemsize : (offset + size) * d.itemsize]
            views[view_key] = TypedStorage(wrap_storage=part, dtype=d, _internal=True)
        return views[view_key]

    start = file.tell()
    file.seek(257)
    if start == 0 and file.read(5) == b"ustar":
        if pickle_module is safe:
            raise RuntimeError("Cannot use ``weights_only=True`` with files saved in the legacy .tar format. " + UNSAFE_MESSAGE)
        raise NotImplementedError("torch.load: the .tar format of PyTorch 0.1 is not supported")
    file.seek(start)
    if pickle_module.load(file, **args) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = pickle_module.load(file, **args)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    pickle_module.load(file, **args)
    result = _unpickle(file, pickle_module, args, persistent_load)
    for key in pickle_module.load(file, **args):
        if key not in loaded:
            raise RuntimeError(f"storage key {key!r} not found in the objects read. The file might be corrupted.")
        storage, d = loaded[key]._untyped_storage, loaded[key].dtype
        head = np.empty(1, "<i8")
        read_exactly(file, head)
        nbytes = int(head[0]) * d.itemsize
        if nbytes != storage.nbytes():
            raise RuntimeError(f"storage has wrong byte size: expected {storage.nbytes()} got {nbytes}")
        if storage.device.type == "meta" or _serialization_tls.skip_data:
            file.seek(nbytes, 1)
            continue
        array = storage._array() if storage.device.type == "cpu" else np.empty(nbytes, np.uint8)
        read_exactly(file, array)
        array[:] = _swapped(array, d, "little")
        if storage.device.type != "cpu":
            storage.copy_(UntypedStorage._from_array(array))
    return result


def _remaining(file):
    at = file.tell()
    end = file.seek(0, 2)
    file.seek(at)
    return (file.tell() if end is None else end) - at


def get_unsafe_globals_in_checkpoint(f):
    """The globals that a checkpoint names and weights_only would refuse."""
    with _open_file_like(f, "rb") as file:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = Reader(file)
        if "constants.pkl" in archive:
            raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
        return list(safe.globals_in(archive.read("data.pkl")) - set(safe.allowed()) - set(safe.LATE))


# ------------------------------------------------------------ tensors: what their pickles call, under PyTorch's names
def _named(module):
    def mark(function):
        function.__module__ = module
        safe.allow(function)
        return function

    return mark


@_named("torch.serialization")
def _get_layout(name):
    return LAYOUTS[name.removeprefix("torch.")]


copyreg.pickle(_layout, lambda value: (_get_layout, (str(value),)))


def _rebuild(storage, d, offset, size, stride):
    """A tensor over a storage; the numbers may come from a hostile file."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if not all(isinstance(i, int) and i >= 0 for i in (offset, *size, *stride)):
        raise RuntimeError(f"Tensor: invalid size {size}, stride {stride} or storage offset {offset}")
    storage = storage.untyped()
    need = 0 if 0 in size else offset + 1 + sum((n - 1) * s for n, s in zip(size, stride))
    if need * d.itemsize > storage.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {d.itemsize} "
            f"requiring a storage size of {need * d.itemsize} are out of bounds for storage of size {storage.nbytes()}"
        )
    t = wrap(None, size, d, storage.device)
    t._storage, t._stride, t._offset = storage, canonical(size, stride), offset
    return t


@_named("torch._utils")
def _rebuild_tensor(storage, storage_offset, size, stride):
    return _rebuild(storage, storage.dtype, storage_offset, size, stride)


@_named("torch._utils")
def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    return _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, storage.dtype, metadata)


@_named("torch._utils")
def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    t = _rebuild(storage, dtype, storage_offset, size, stride)
    if metadata:
        set_tensor_metadata(t, metadata)
    t.requires_grad = requires_grad
    return t  # hooks have not been saved since PyTorch 0.4


def get_tensor_metadata(tensor):
    """The lazy conjugate and negative marks to save with a tensor."""
    return {name: True for name, on in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if on}


def set_tensor_metadata(tensor, metadata):
    """Apply saved conjugate and negative marks, at once."""
    if metadata.get("conj"):
        tensor._replace(tensor.conj_physical())
    if metadata.get("neg"):
        tensor._replace(tensor.neg())


@_named("torch._utils")
def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return meta_tensor(size, dtype, stride).requires_grad_(requires_grad)


@_named("torch._utils")
def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    where = _serialization_tls.map_location
    if isinstance(where, dict):
        where = where.get(device, device)
    elif callable(where):
        raise RuntimeError("Callable map_location not supported with _rebuild_wrapper_subclass or _rebuild_device_tensor_from_numpy")
    return data.to(dtype=dtype, device=device if where is None else where).requires_grad_(requires_grad)


@_named("torch._utils")
def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    from .tensor import from_array

    return _rebuild_device_tensor_from_cpu_tensor(from_array(data), dtype, device, requires_grad)


def _refuse(name, what):
    def rebuild(*args, **kwargs):
        raise NotImplementedError(f"torch.load: {what} tensors are not supported")

    rebuild.__name__ = rebuild.__qualname__ = name
    return _named("torch._utils")(rebuild)


@_named("torch._utils")
def _rebuild_sparse_tensor(layout, data):
    from .device import LAYOUTS
    from .ops.sparse import sparse_coo_tensor

    if layout is not LAYOUTS["sparse_coo"]:
        raise NotImplementedError(f"torch.load: tensors of layout {layout} are not supported")
    return sparse_coo_tensor(*data[:3], check_invariants=True, is_coalesced=len(data) > 3 and data[3])


_rebuild_nested_tensor = _refuse("_rebuild_nested_tensor", "nested")
_rebuild_qtensor = _refuse("_rebuild_qtensor", "quantized")
_rebuild_wrapper_subclass = _refuse("_rebuild_wrapper_subclass", "wrapper subclass")


@_named("torch._tensor")
def _rebuild_from_type_v2(func, new_type, args, state):
    r = func(*args)
    if type(r) is not new_type:
        r = r.as_subclass(new_type)
    if new_type.__setstate__ is not Tensor.__setstate__:
        r.__setstate__(state)
        return r
    return _set_obj_state(r, state)


def _slots(cls):
    return [n for n in copyreg._slotnames(cls) if n not in Tensor.__slots__]  # type: ignore[attr-defined]


def _get_obj_state(obj):
    """A tensor's Python attributes: its __dict__, with (dict, slots) where a subclass has slots; falsy where there are none."""
    own = getattr(type(obj), "__getstate__", None)
    if own is not None and own is not getattr(object, "__getstate__", None):
        return own(obj)
    slots = {n: getattr(obj, n) for n in _slots(type(obj)) if hasattr(obj, n)}
    state = obj.__dict__ or None
    return (state, slots) if slots else state


def _set_obj_state(obj, state):
    """Put back what _get_obj_state gave."""
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for part in state if isinstance(state, tuple) else (state,):
        for k, v in (part or {}).items():
            setattr(obj, k, v)
    return obj


def _reduce_plain(t):
    if t.device is META:
        if _serialization_tls.skip_data:
            warnings.warn("Serializing tensors on the meta device under skip_data context manager is a no-op", stacklevel=2)
        return _rebuild_meta_tensor_no_storage, (t.dtype, tuple(t.shape), t.stride(), t.requires_grad)
    if t.device is not CPU:
        if _serialization_tls.skip_data:
            raise RuntimeError("Cannot serialize tensors on backends with no storage under skip_data context manager")
        return _rebuild_device_tensor_from_cpu_tensor, (t.detach().cpu(), t.dtype, str(t.device), t.requires_grad)
    place: tuple = (t.storage_offset(), tuple(t.shape), t.stride(), t.requires_grad, OrderedDict())
    metadata = get_tensor_metadata(t)
    if t.dtype in STORAGE_OF:
        return _rebuild_tensor_v2, (t._typed_storage(), *place, *([metadata] if metadata else []))
    return _rebuild_tensor_v3, (t.untyped_storage(), *place, t.dtype, *([metadata] if metadata else []))


def reduce_ex(self, proto):
    """Pickle as PyTorch does: a rebuild function over the storage."""
    state = _get_obj_state(self)
    if type(self) is Tensor and not state:
        return _reduce_plain(self)
    if has_torch_function((self,)):
        return handle_torch_function(Tensor.__reduce_ex__, (self,), self, proto)
    func, args = _reduce_plain(self)
    return _rebuild_from_type_v2, (func, type(self), args, state)


def setstate(self, state):
    """States of tensors pickled by PyTorch before 0.4."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:
        self._replace(_rebuild_tensor(*state))
        return
    if len(state) == 5:
        self.data, state = state[0], (state[3], state[4], state[2])
    self.requires_grad = state[0]


def deepcopy(self, memo):
    """A copy with its own storage; tensors that share one storage share the copy of it."""
    if has_torch_function((self,)):
        return handle_torch_function(Tensor.__deepcopy__, (self,), self, memo)
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    cls = type(self)
    if self.device is CPU:
        new = _rebuild(copy.deepcopy(self.untyped_storage(), memo), self.dtype, self.storage_offset(), self.shape, self.stride())
    else:
        new = alias(self).clone()
    if cls is not Tensor:
        if type(self.new_empty([])) is not cls:
            raise RuntimeError(
                "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types "
                "that implement new_empty() and for which that function returns another instance of the same subclass. "
                "You should either properly implement new_empty() for your subclass or override __deepcopy__() if it is "
                "intended behavior for new_empty() to return an instance of a different type."
            )
        new = alias(new, cls)
        for name in _slots(cls):
            if hasattr(self, name):
                setattr(new, name, copy.deepcopy(getattr(self, name), memo))
    new.requires_grad_(self.requires_grad)
    if self._grad is not None:
        new.grad = copy.deepcopy(self._grad, memo)
    memo[id(self)] = new
    new.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return new


def _load_from_bytes(b):
    return load(io.BytesIO(b), weights_only=False)


_load_from_bytes.__module__ = "torch.storage"


def reduce_storage(self):
    """A storage pickled on its own: the bytes of a file in the old format."""
    b = io.BytesIO()
    save(self, b, _use_new_zipfile_serialization=False)
    return _load_from_bytes, (b.getvalue(),)


safe.allow(Size, _device, Tensor)
safe.ALLOWED.update(
    {str(d): d for d in dt.ALL.values()},
    **{"torch." + n: StorageType(n) for n in STORAGE_NAMES},
    **{str(q): q for q in QSCHEMES.values()},
    **{"torch.storage.UntypedStorage": UntypedStorage, "torch.storage.TypedStorage": TypedStorage},
)
