"""Conversion between parameters and one vector."""

import torch


def _check_param_device(param, old_param_device):
    device = -1 if param.device.type == "cpu" else param.get_device()
    if old_param_device not in (None, device):
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return device


def parameters_to_vector(parameters):
    """Flatten all parameters and concatenate them into one vector."""
    device, flat = None, []
    for param in parameters:
        device = _check_param_device(param, device)
        flat.append(param.view(-1))
    return torch.cat(flat)


def vector_to_parameters(vec, parameters):
    """Make the parameters views of consecutive slices of the vector.

    A `vec` that is not a tensor raises TypeError.
    """
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    device, start = None, 0
    for param in parameters:
        device = _check_param_device(param, device)
        stop = start + param.numel()
        param.data = vec[start:stop].view_as(param).data
        start = stop
