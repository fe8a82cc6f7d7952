"""torch.utils._foreach_utils: tensors sorted by what one call may take together."""

import torch


def _get_foreach_kernels_supported_devices():
    """Devices whose foreach operators take all tensors in one kernel."""
    return ["cuda", "xpu", "mtia", torch._C._get_privateuse1_backend_name()]


def _get_fused_kernels_supported_devices():
    """Devices whose optimizers have a fused form."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", torch._C._get_privateuse1_backend_name()]


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """{(device, dtype) of the first list's tensors: (the lists' tensors, their positions if with_indices)}.

    Lists are of one length or empty.
    """
    groups = {}
    for i, first in enumerate(tensorlistlist[0]):
        lists, positions = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for column, tensors in zip(lists, tensorlistlist):
            if tensors:
                column.append(tensors[i])
        if with_indices:
            positions.append(i)
    return groups


def _device_has_foreach_support(device):
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu") and not torch.jit.is_scripting()


def _has_foreach_support(tensors, device):
    return _device_has_foreach_support(device) and all(t is None or type(t) is torch.Tensor for t in tensors)
