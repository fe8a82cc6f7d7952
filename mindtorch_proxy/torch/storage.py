"""torch.storage."""

from mindtorch_proxy.runtime.serialization import _load_from_bytes  # noqa: F401
from mindtorch_proxy.runtime.storage import StorageBase as _StorageBase, UntypedStorage  # noqa: F401
from mindtorch_proxy.runtime.typed_storage import LEGACY_STORAGES, STORAGE_NAMES, STORAGE_OF, TypedStorage
from mindtorch_proxy.runtime.typed_storage import (  # noqa: F401
    LegacyStorage as _LegacyStorage,
    get_always_warn_typed_storage_removal as _get_always_warn_typed_storage_removal,
    reset_warn_typed_storage_removal as _reset_warn_typed_storage_removal,
    set_always_warn_typed_storage_removal as _set_always_warn_typed_storage_removal,
    warn_typed_storage_removal as _warn_typed_storage_removal,
)

__all__ = ["TypedStorage", "UntypedStorage"]
globals().update({"_" + n: c for n, c in LEGACY_STORAGES.items()})


def _get_dtype_from_pickle_storage_type(pickle_storage_type):
    return STORAGE_NAMES[pickle_storage_type]


def _dtype_to_storage_type_map():
    return dict(STORAGE_OF)


def _storage_type_to_dtype_map():
    return dict(STORAGE_NAMES)
