"""torch.utils.dlpack: tensors shared with other libraries without a copy."""

from mindtorch_proxy.runtime.dlpack import DLDeviceType, from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """Return a DLPack capsule for the memory of a tensor."""
    return tensor.__dlpack__()
