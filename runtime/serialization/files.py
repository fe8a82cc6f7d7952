"""What save and load have in common: opening files, and pickling."""

import contextlib
import io
import os
import warnings

from . import unpickler as safe
from .storages import STORAGE_NAMES, StorageType


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
                f"{e}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
                "like io.BytesIO and try to load from it instead."
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
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared "
            f"with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from e
        warnings.warn(message + ", but continuing assuming that requirement is met", stacklevel=2)
        return True


def check_dill_version(pickle_module):
    if getattr(pickle_module, "__name__", "") == "dill" and not check_module_version_greater_or_equal(
        pickle_module, (0, 3, 1), False
    ):
        raise ValueError(
            f"'torch' supports dill >= 0.3.1, but you have dill {pickle_module.__version__}. "
            "Please upgrade dill or switch to 'pickle'"
        )


def dump(obj, file, pickle_module, protocol, persistent_id):
    pickler = type("Pickler", (pickle_module.Pickler,), {"persistent_id": lambda self, o: persistent_id(o)})
    pickler(file, protocol=protocol).dump(obj)


def unpickle(file, pickle_module, args, persistent_load):
    class Unpickler(pickle_module.Unpickler):  # type: ignore[name-defined]
        def find_class(self, module, name):
            if name in STORAGE_NAMES and pickle_module is not safe:
                return StorageType(name)
            return super().find_class("torch._tensor" if module == "torch.tensor" else module, name)

    unpickler = Unpickler(file, **args)
    unpickler.persistent_load = persistent_load
    return unpickler.load()
