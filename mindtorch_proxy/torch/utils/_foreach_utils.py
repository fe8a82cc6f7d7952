"""torch.utils._foreach_utils: groups tensors that one foreach call can take together."""

import torch


def _get_foreach_kernels_supported_devices():
    """Return the devices for which PyTorch has foreach kernels."""
    return ["cuda", "xpu", "mtia", torch._C._get_privateuse1_backend_name()]


def _get_fused_kernels_supported_devices():
    """Return the devices for which PyTorch has fused optimizers."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", torch._C._get_privateuse1_backend_name()]


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Group tensors by the device and dtype of the first list's tensors.

    Return {(device, dtype): (lists of tensors, their indices if with_indices)}. All lists have the same length or are
    empty.
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
