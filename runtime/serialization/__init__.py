"""torch.save and torch.load for PyTorch's file formats, and how a tensor is pickled and copied."""

from .config import (
    LoadEndianness,
    _serialization_tls,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    load_config,
    save_config,
)
from .config import set_crc32_options, set_default_load_endianness, set_default_mmap_options, skip_data
from .files import _is_path, _is_zipfile, _open_file_like, check_module_version_greater_or_equal
from .legacy import MAGIC_NUMBER, PROTOCOL_VERSION
from .load import _get_wo_message, get_unsafe_globals_in_checkpoint, load, storage_loader
from .places import (
    _get_restore_location,
    _package_registry,
    _validate_device,
    default_restore_location,
    location_tag,
    register_package,
)
from .reader import PyTorchFileReader, PyTorchFileWriter, _open_zipfile_reader, _open_zipfile_writer
from .save import DEFAULT_PROTOCOL, save
from .storages import STORAGE_NAMES, STORAGE_OF, StorageType
from .tensors import (
    _get_layout,
    _get_obj_state,
    _load_from_bytes,
    _rebuild_device_tensor_from_cpu_tensor,
    _rebuild_device_tensor_from_numpy,
)
from .tensors import (
    _rebuild_from_type_v2,
    _rebuild_meta_tensor_no_storage,
    _rebuild_nested_tensor,
    _rebuild_qtensor,
    _rebuild_sparse_tensor,
)
from .tensors import (
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_wrapper_subclass,
    _set_obj_state,
    get_tensor_metadata,
)
from .tensors import reduce_storage, set_tensor_metadata
from .unpickler import UNSAFE_MESSAGE

__all__ = [
    "DEFAULT_PROTOCOL",
    "LoadEndianness",
    "MAGIC_NUMBER",
    "PROTOCOL_VERSION",
    "PyTorchFileReader",
    "STORAGE_NAMES",
    "STORAGE_OF",
    "StorageType",
]
__all__ += [
    "UNSAFE_MESSAGE",
    "_get_layout",
    "_get_obj_state",
    "_get_restore_location",
    "_get_wo_message",
    "_is_path",
    "_is_zipfile",
    "_load_from_bytes",
]
__all__ += [
    "_open_file_like",
    "_package_registry",
    "_rebuild_device_tensor_from_cpu_tensor",
    "_rebuild_device_tensor_from_numpy",
    "_rebuild_from_type_v2",
]
__all__ += [
    "_rebuild_meta_tensor_no_storage",
    "_rebuild_nested_tensor",
    "_rebuild_qtensor",
    "_rebuild_sparse_tensor",
    "_rebuild_tensor",
]
__all__ += [
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_rebuild_wrapper_subclass",
    "_serialization_tls",
    "_set_obj_state",
    "_validate_device",
]
__all__ += [
    "check_module_version_greater_or_equal",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
]
__all__ += [
    "get_default_mmap_options",
    "get_tensor_metadata",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "load_config",
    "location_tag",
]
__all__ += [
    "reduce_storage",
    "register_package",
    "save",
    "save_config",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
]
__all__ += [
    "set_tensor_metadata",
    "skip_data",
    "storage_loader",
    "PyTorchFileWriter",
    "_open_zipfile_reader",
    "_open_zipfile_writer",
]
