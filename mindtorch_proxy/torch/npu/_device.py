"""Functions for the modules of torch.npu that query the backend for its NPUs."""

from mindtorch_proxy.runtime.backend import of_type
from mindtorch_proxy.runtime.device import device as _device


def devices():
    """Return the device interface of the Ascend backend; raise the error of a build without NPUs if there are none."""
    found = of_type("npu").devices
    if not found.count():
        raise AssertionError("Torch not compiled with NPU enabled")
    return found


def communication():
    """Return the Ascend backend's module for communication; raise the error of a build without NPUs."""
    devices()
    return of_type("npu").communication


def plans():
    """Return the plans of the Ascend backend, which count their calls."""
    return of_type("npu").plans


def available():
    """Return the number of usable NPUs."""
    return of_type("npu").devices.count()


def number(device):
    """Return the index for a device, an index or None; ValueError for a device of another type."""
    if device is None or isinstance(device, int):
        return None if device is None or device < 0 else device
    device = _device(device)
    if device.type != "npu":
        raise ValueError(f"Expected a npu device, but got: {device}")
    return device.index
