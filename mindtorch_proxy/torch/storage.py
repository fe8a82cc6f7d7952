"""torch.storage."""
from mindtorch_proxy.runtime.storage import LEGACY_STORAGES, TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
globals().update({"_" + n: c for n, c in LEGACY_STORAGES.items()})


def _load_from_bytes(b):
    import io

    import torch
    return torch.load(io.BytesIO(b), weights_only=False)
