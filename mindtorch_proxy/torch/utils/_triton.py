"""torch.utils._triton: whether Triton kernels can run.

They cannot run on the devices here, CPU and Ascend.
"""

import functools
import importlib.util

__all__ = ["has_triton", "has_triton_package", "has_triton_tma", "has_triton_tma_device"]


@functools.cache
def has_triton_package():
    """Whether the package triton is installed."""
    return importlib.util.find_spec("triton") is not None


def has_triton():
    """Whether a device can run Triton kernels; always False."""
    return False


has_triton_tma = has_triton_tma_device = has_triton_stable_tma_api = has_triton_tensor_descriptor_host_tma = (
    has_triton_experimental_host_tma
) = has_triton
