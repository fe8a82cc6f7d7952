"""torch.utils.dlpack: tensors shared with other libraries without a copy."""

from mindtorch_proxy.runtime.dlpack import DLDeviceType, from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """A capsule for the tensor's memory."""
    return tensor.__dlpack__()
