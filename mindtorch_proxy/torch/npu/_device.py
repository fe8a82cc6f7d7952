"""Which NPU: what torch.npu's modules ask of the backend."""

from mindtorch_proxy.runtime.backend import of_type
from mindtorch_proxy.runtime.device import device as _device


def devices():
    """The Ascend backend's account of NPUs; the error of a build without NPUs where there are none."""
    found = of_type("npu").devices
    if not found.count():
        raise AssertionError("Torch not compiled with NPU enabled")
    return found


def available():
    """How many NPUs are usable."""
    return of_type("npu").devices.count()


def number(device):
    """The index that a device, an index or None names; ValueError for a device of another type."""
    if device is None or isinstance(device, int):
        return None if device is None or device < 0 else device
    device = _device(device)
    if device.type != "npu":
        raise ValueError(f"Expected a npu device, but got: {device}")
    return device.index
