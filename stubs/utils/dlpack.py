"""DLPack: tensors shared with other libraries without a copy."""

import enum

import torch

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """Types of devices in DLPack's specification."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of another library's."""
    if device is not None or copy is not None:
        raise NotImplementedError("torch.utils.dlpack.from_dlpack: device and copy")
    return torch.from_dlpack(ext_tensor)


def to_dlpack(tensor):
    """A capsule for the tensor's memory."""
    return tensor.__dlpack__()
