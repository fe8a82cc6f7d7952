"""torch.load."""

import io
import os
import pickle
import re
import sys
import warnings
from mmap import MAP_SHARED

import numpy as np

from ...tracebacks import shorten
from ..device import device as _device
from ..storage import UntypedStorage
from ..typed_storage import TypedStorage
from . import unpickler as safe
from .archive import Reader
from .config import LoadEndianness, _serialization_tls, load_config
from .files import _is_path, _is_zipfile, _open_file_like, check_dill_version, unpickle
from .legacy import legacy_load
from .places import _get_restore_location
from .sparse import loaded_sparse, validate_loaded
from .storages import storage_id, swapped
from .unpickler import UNSAFE_MESSAGE


def _env(name):
    return os.getenv(name, "0").lower() in ("1", "y", "yes", "true")


def _is_weights_only(weights_only, pickle_module):
    """Return the effective weights_only: of the argument, the environment and the pickle module."""
    force, force_not = _env("TORCH_FORCE_WEIGHTS_ONLY_LOAD"), _env("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if force and force_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, "
            "but both were set."
        )
    if force:
        weights_only = True
    elif weights_only is None and force_not:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    elif weights_only is None:
        return pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return weights_only


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Load what save() or PyTorch's save() wrote, from a path or a binary stream.

    weights_only (the default) admits tensors, plain Python data and what add_safe_globals allowed; mmap maps the file
    instead of reading it.
    """
    try:
        weights_only = _is_weights_only(weights_only, pickle_module)
        if weights_only and pickle_load_args:
            warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
        pickle_module = safe if weights_only else pickle_module or pickle
        mmap = load_config.mmap if mmap is None else mmap
        check_dill_version(pickle_module)
        pickle_load_args.setdefault("encoding", "utf-8")
        old_location = _serialization_tls.map_location
        try:
            with _open_file_like(f, "rb") as file:
                _serialization_tls.map_location = map_location
                loaded_sparse.clear()
                if _is_zipfile(file):
                    result = _load(Reader(file), map_location, pickle_module, f if mmap else None, pickle_load_args)
                    validate_loaded()
                    return result
                if mmap:
                    name = f"{f}, " if isinstance(f, str) else ""
                    raise RuntimeError(
                        "mmap can only be used with files saved with "
                        f"`torch.save({name}_use_new_zipfile_serialization=True), please torch.save your checkpoint "
                        "with this option in order to use mmap."
                    )
                result = legacy_load(file, map_location, pickle_module, pickle_load_args)
                validate_loaded()
                return result
        except pickle.UnpicklingError as e:
            if weights_only:
                raise pickle.UnpicklingError(_get_wo_message(str(e))) from None
            raise
        finally:
            _serialization_tls.map_location = old_location
    except Exception as error:
        shorten(error)
        raise


def _get_wo_message(message):
    """Return the text of a weights_only error: what failed, and what the user can do."""
    docs = (
        "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
        "https://pytorch.org/docs/stable/generated/torch.load.html."
    )
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {UNSAFE_MESSAGE}\n\t(2) Alternatively, to load with `weights_only=True` please check the "
            f"recommended steps in the following error message.\n\tWeightsUnpickler error: {message}{docs}"
        )
    issue = (
        ""
        if re.search(r"whose module (\S+) is blocked", message)
        else (
            "Please file an issue with the following so that we can make `weights_only=True` compatible with your "
            "use case: WeightsUnpickler error: "
        )
    )
    return f"Weights only load failed. {UNSAFE_MESSAGE}\n{issue}\n\n{message}{docs}"


def _byte_order(archive):
    """Return the byte order of the file's storages; None if nothing states it."""
    if "byteorder" in archive:
        order = archive.read("byteorder").decode()
        if order not in ("little", "big"):
            raise ValueError("Unknown endianness type: " + order)
        return order
    return {None: "little", LoadEndianness.LITTLE: "little", LoadEndianness.BIG: "big"}.get(load_config.endianness)


def _mapped(f):
    if not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    return UntypedStorage.from_file(os.fspath(f), load_config.mmap_flags == MAP_SHARED, os.path.getsize(f))


def _read(archive, name, nbytes, mapped):
    """Return the storage of a record: a part of the mapped file if possible, else bytes read from the file."""
    if _serialization_tls.skip_data:
        return UntypedStorage(nbytes)
    if mapped is not None and archive.stored(name):
        start = archive.offset(name)
        if nbytes != archive.size(name) or start + nbytes > mapped.nbytes():
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: it does not have {nbytes} bytes")
        return mapped[start : start + nbytes]
    if nbytes != archive.size(name):
        raise RuntimeError(
            f"PytorchStreamReader failed reading file {name}: it has {archive.size(name)} bytes, not {nbytes}"
        )
    array = np.empty(nbytes, np.uint8)
    archive.read_into(name, array)
    return UntypedStorage._from_array(array, resizable=False)  # as in PyTorch


def storage_loader(archive, map_location, mapped=None, folder="data"):
    """Return the persistent_load of an unpickler, for the storages in a folder of an archive."""
    order = _byte_order(archive)
    to_meta = isinstance(map_location, (str, _device)) and str(map_location) == "meta"
    restore = _get_restore_location(map_location)
    loaded: dict[str, TypedStorage] = {}

    def persistent_load(saved_id):
        d, key, location, nbytes = storage_id(saved_id, 5)
        if key in loaded:
            return loaded[key]
        name = f"{folder}/{key}"
        if to_meta:
            storage = UntypedStorage._meta(nbytes)
            storage._checkpoint_offset = archive.offset(name)
        else:
            storage = _read(archive, name, nbytes, mapped)
            if order not in (None, sys.byteorder):
                storage._array()[:] = swapped(storage._array(), d, order)
            storage = restore(storage, location).untyped()
        typed = TypedStorage(wrap_storage=storage, dtype=d, _internal=True)
        if nbytes and typed._data_ptr():  # empty storages may have several dtypes
            loaded[key] = typed
        return typed

    return persistent_load


def _load(archive, map_location, pickle_module, to_map, args):
    if "constants.pkl" in archive:
        if pickle_module is safe:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. " + UNSAFE_MESSAGE
            )
        raise NotImplementedError("torch.load: TorchScript archives are not supported")
    persistent_load = storage_loader(archive, map_location, None if to_map is None else _mapped(to_map))
    return unpickle(io.BytesIO(archive.read("data.pkl")), pickle_module, args, persistent_load)


def get_unsafe_globals_in_checkpoint(f):
    """Return the globals that a checkpoint names and that weights_only would refuse."""
    with _open_file_like(f, "rb") as file:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = Reader(file)
        if "constants.pkl" in archive:
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
            )
        return list(safe.globals_in(archive.read("data.pkl")) - set(safe.allowed()) - set(safe.LATE))
