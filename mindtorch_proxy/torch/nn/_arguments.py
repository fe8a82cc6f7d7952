"""Parsing of the arguments of functions, layers and sequences: sizes, dtypes and devices.

This is a separate file because functional, modules and utils all import it.
"""

from collections.abc import Iterable

import torch
from mindtorch_proxy.runtime.dtypes import of


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """Repeat each item n times, last item first: the form in which F.pad takes symmetric paddings."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """Return out_size with each None replaced by the value of `defaults` for the same trailing position.

    An out_size that is not shorter than `defaults` raises ValueError; a number is returned unchanged.
    """
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size) :])]


def _parse_to(*args, **kwargs):
    """Return (device, dtype, non_blocking, memory_format) from the arguments of `to`.

    The accepted forms are (device, dtype, ...), (dtype, ...) and (tensor, ...).
    """

    def bind(device=None, dtype=None, non_blocking=False, copy=False, *, memory_format=None):
        dtype = of(dtype)
        if dtype is not None and not isinstance(dtype, torch.dtype):
            raise TypeError
        if copy:
            raise RuntimeError(".to() does not accept copy argument")
        return None if device is None else torch.device(device), dtype, non_blocking, memory_format

    tensor = kwargs.get("tensor", args[0] if args else None)
    if isinstance(tensor, torch.Tensor):
        kwargs.pop("tensor", None)
        args = (tensor.device, tensor.dtype, *args[1:])
    elif isinstance(of(tensor), torch.dtype):
        args = (None, *args)
    try:
        return bind(*args, **kwargs)
    except TypeError:
        got = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        raise TypeError(f"to() received an invalid combination of arguments - got ({got})") from None
