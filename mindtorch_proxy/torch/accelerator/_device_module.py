"""The module of the accelerator that there is: torch.npu."""

import torch

from .._absent_device import functions


def is_available():
    """Whether an accelerator can be used."""
    return torch.npu.is_available()


def device_module():
    """torch.npu; RuntimeError without an accelerator."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return torch.npu


def asking(namespace, *declarations):
    """Fill a module with functions of PyTorch's parameters that ask torch.npu's functions of these names: pairs of name
    and text.
    """

    def of_module(name):
        return lambda **arguments: getattr(device_module(), name)(*arguments.values())

    functions(namespace, *((of_module(name), text) for name, text in declarations))
