"""The module of the accelerator, torch.npu."""

import torch

from .._absent_device import functions


def is_available():
    """Whether an accelerator can be used."""
    return hasattr(torch, "npu") and torch.npu.is_available()


def device_module():
    """Return torch.npu; raise RuntimeError if there is no accelerator."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return torch.npu


def asking(namespace, *declarations):
    """Add functions to a module that call functions of torch.npu.

    declarations: pairs of the name in torch.npu and of the text of PyTorch's declaration.
    """

    def of_module(name):
        return lambda **arguments: getattr(device_module(), name)(*arguments.values())

    functions(namespace, *((of_module(name), text) for name, text in declarations))
