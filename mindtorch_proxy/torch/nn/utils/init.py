"""Creation of modules without initializing their parameters."""

import inspect

import torch


def skip_init(module_cls, *args, **kwargs):
    """Create a module whose parameters are uninitialized memory.

    RuntimeError is raised if module_cls is not a Module, or if it has no `device` argument.
    """
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
