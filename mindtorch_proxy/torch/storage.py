"""torch.storage."""

from mindtorch_proxy.runtime.serialization import STORAGE_NAMES, STORAGE_OF, _load_from_bytes  # noqa: F401
from mindtorch_proxy.runtime.storage import LEGACY_STORAGES, TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
globals().update({"_" + n: c for n, c in LEGACY_STORAGES.items()})


def _get_dtype_from_pickle_storage_type(pickle_storage_type):
    return STORAGE_NAMES[pickle_storage_type]


def _dtype_to_storage_type_map():
    return dict(STORAGE_OF)
