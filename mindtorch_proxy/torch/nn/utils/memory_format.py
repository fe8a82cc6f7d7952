"""The memory format of convolution weights."""

import torch

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, classes, memory_format):
    for child in module.modules():
        if isinstance(child, classes):
            child.weight.data = child.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Convert the weights of all 2d convolutions in the module to the memory format."""
    return _convert(module, (torch.nn.Conv2d, torch.nn.ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module, memory_format):
    """Convert the weights of all 3d convolutions in the module to the memory format."""
    return _convert(module, (torch.nn.Conv3d, torch.nn.ConvTranspose3d), memory_format)
