"""torch.serialization: saving and loading."""

import contextlib
import importlib
import tempfile
from collections.abc import Callable

import torch
import torch._utils  # noqa: F401 - defines functions that pickled tensors call
from mindtorch_proxy.runtime.serialization import (  # noqa: F401
    DEFAULT_PROTOCOL,
    MAGIC_NUMBER,
    PROTOCOL_VERSION,
    UNSAFE_MESSAGE,
    LoadEndianness,
    PyTorchFileReader,
    PyTorchFileWriter,
    StorageType,
    _get_layout,
    _get_restore_location,
    _get_wo_message,
    _is_path,
    _is_zipfile,
    _open_file_like,
    _open_zipfile_reader,
    _open_zipfile_writer,
    _package_registry,
    _serialization_tls,
    _validate_device,
    check_module_version_greater_or_equal,
    default_restore_location,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    get_unsafe_globals_in_checkpoint,
    load,
    location_tag,
    register_package,
    save,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from mindtorch_proxy.runtime.serialization.unpickler import (
    LATE,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)

__all__ = [
    "register_package",
    "check_module_version_greater_or_equal",
    "validate_cuda_device",
    "validate_hpu_device",
    "location_tag",
    "default_restore_location",
    "normalize_storage_type",
    "storage_to_tensor_type",
    "save",
    "load",
    "StorageType",
    "LoadEndianness",
    "get_crc32_options",
    "set_crc32_options",
    "get_default_load_endianness",
    "set_default_load_endianness",
    "get_default_mmap_options",
    "set_default_mmap_options",
    "clear_safe_globals",
    "get_safe_globals",
    "add_safe_globals",
    "safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "skip_data",
]

MAP_LOCATION = Callable[[torch.types.Storage, str], torch.types.Storage] | torch.device | str | dict[str, str] | None
FILE_LIKE = torch.types.FileLike

for _public in __all__:  # pickles and error messages contain the name of PyTorch's module
    if _public in globals():
        globals()[_public].__module__ = __name__

LATE["torch.nn.parameter.Parameter"] = lambda: torch.nn.Parameter
LATE["torch.nested._internal.nested_tensor.NestedTensor"] = lambda: torch.nested._internal.nested_tensor.NestedTensor
LATE["torch._dynamo.decorators._DimRange"] = lambda: importlib.import_module("torch._dynamo.decorators")._DimRange
LATE["torch.nested._internal.nested_tensor._rebuild_njt"] = lambda: torch.nested._internal.nested_tensor._rebuild_njt


def validate_cuda_device(location):
    """Check that a location is a usable CUDA device and return its index."""
    return _validate_device(location, "cuda").index


def validate_hpu_device(location):
    """Check that a location is a usable HPU device and return its index."""
    return _validate_device(location, "hpu").index


def normalize_storage_type(storage_type):
    """Return the class of torch with the same name."""
    return getattr(torch, storage_type.__name__)


def storage_to_tensor_type(storage):
    """Return the legacy tensor class for the class of a storage."""
    return getattr(torch, type(storage).__name__.replace("Storage", "Tensor"))


class SourceChangeWarning(Warning):
    """The warning that the source of a saved class has changed; only PyTorch's older files contain the source."""


@contextlib.contextmanager
def mkdtemp():
    """Create a temporary folder that is removed after the block."""
    with tempfile.TemporaryDirectory() as path:
        yield path
