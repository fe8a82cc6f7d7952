"""Copying tensors from one device to several and back, within one process."""

import torch
from torch._utils import _flatten_dense_tensors, _take_tensors, _unflatten_dense_tensors

__all__ = ["broadcast", "broadcast_coalesced", "reduce_add", "reduce_add_coalesced", "scatter", "gather"]


def _device(place):
    """Return the torch.device for `place`, where a number means that accelerator.

    A number raises RuntimeError if no accelerator is available.
    """
    if isinstance(place, int):
        accelerator = torch.accelerator.current_accelerator()
        if accelerator is None:
            raise RuntimeError(f"device {place} is an accelerator's, and none is available")
        return torch.device(accelerator.type, place)
    return torch.device(place)


def _either(devices, out):
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )


def broadcast(tensor, devices=None, *, out=None):
    """Copy a tensor to each of the devices, or into the tensors of `out`; return a tuple.

    The tensor should be on the first device already.
    """
    _either(devices, out)
    if out is None:
        return tuple(tensor.to(_device(d)) for d in devices)
    for copy in out:
        copy.copy_(tensor)
    return tuple(out)


def broadcast_coalesced(tensors, devices, buffer_size=10485760):
    """Copy tensors to each of the devices; return a list with one tuple of tensors per device."""
    return [tuple(t.to(_device(d)) for t in tensors) for d in devices]


def reduce_add(inputs, destination=None):
    """Sum tensors from several devices on `destination`, by default the device of the first tensor.

    Tensors of different sizes raise ValueError.
    """
    inputs = list(inputs)
    place = inputs[0].device if destination is None else _device(destination)
    if any(t.size() != inputs[0].size() for t in inputs):
        raise ValueError(f"input 0 has invalid size: got {[tuple(t.size()) for t in inputs]}, all must be equal")
    total = inputs[0].to(place, copy=len(inputs) > 1)
    for t in inputs[1:]:
        total = total.add_(t.to(place))
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size=10485760):
    """Sum the tensors at each position of several lists of tensors.

    Up to buffer_size bytes of tensors are flattened and summed as one.
    """
    results = []
    for group in zip(*(_take_tensors(tensors, buffer_size) for tensors in inputs)):
        flat = reduce_add([_flatten_dense_tensors(tensors) for tensors in group], destination)
        results += _unflatten_dense_tensors(flat, group[0])
    return tuple(results)


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None):
    """Split a tensor along `dim` into one piece per device, or into the tensors of `out`.

    The pieces have equal sizes, or the given chunk_sizes; chunk_sizes together with `out` raises RuntimeError.
    """
    _either(devices, out)
    if out is not None:
        if chunk_sizes is not None:
            raise RuntimeError(
                f"'chunk_sizes' cannot be specified when 'out' is specified, but got chunk_sizes={chunk_sizes}"
            )
        for piece, into in zip(tensor.split([o.size(dim) for o in out], dim), out):
            into.copy_(piece)
        return tuple(out)
    pieces = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(piece.to(_device(d)) for piece, d in zip(pieces, devices))


def gather(tensors, dim=0, destination=None, *, out=None):
    """Concatenate tensors from several devices along `dim`, on `destination` or in `out`.

    destination=-1 means the CPU; `destination` together with `out` raises RuntimeError.
    """
    if out is not None:
        if destination is not None:
            raise RuntimeError(
                f"'destination' must not be specified when 'out' is specified, but got destination={destination}"
            )
        return torch.cat([t.to(out.device) for t in tensors], dim, out=out)
    place = tensors[0].device if destination is None else _device("cpu" if destination == -1 else destination)
    return torch.cat([t.to(place) for t in tensors], dim)
