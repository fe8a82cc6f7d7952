"""torch._utils: functions that pickled tensors call, and helpers that libraries import."""

import functools
import os
import sys
import traceback
import warnings
from collections import defaultdict

import torch
from mindtorch_proxy.tracebacks import shorten as _shorten
from mindtorch_proxy.runtime.serialization import unpickler
from mindtorch_proxy.runtime.serialization import (  # noqa: F401
    _get_obj_state,
    _rebuild_device_tensor_from_cpu_tensor,
    _rebuild_device_tensor_from_numpy,
    _rebuild_meta_tensor_no_storage,
    _rebuild_nested_tensor,
    _rebuild_qtensor,
    _rebuild_sparse_tensor,
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_wrapper_subclass,
    _set_obj_state,
    get_tensor_metadata,
    set_tensor_metadata,
)

_rebuild_xla_tensor = _rebuild_device_tensor_from_numpy


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _set_obj_state(torch.nn.Parameter(data, requires_grad), state)


unpickler.allow(_rebuild_parameter, _rebuild_parameter_with_state)


def _import_dotted_name(name):
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, __import__(first))


def _flatten_dense_tensors(tensors):
    """Concatenate the values of the tensors into one flat tensor."""
    return torch._C._nn.flatten_dense_tensors(tensors)


def _unflatten_dense_tensors(flat, tensors):
    """Return views of a flat tensor in the shapes of the given tensors."""
    return torch._C._nn.unflatten_dense_tensors(flat, tensors)


def _reorder_tensors_as(tensors, ordered_tensors):
    """Reorder the tensors so that their types are in the order of those of ordered_tensors."""
    by_type = defaultdict(list)
    for t in tensors:
        by_type[t.type()].append(t)
    by_type = {k: iter(v) for k, v in by_type.items()}
    return tuple(next(by_type[t.type()]) for t in ordered_tensors)


def _take_tensors(tensors, size_limit):
    """Yield groups of tensors of one type, each of at most size_limit bytes (or a single larger tensor)."""
    groups = defaultdict(lambda: [[], 0])
    for t in tensors:
        kind, size = t.type(), t.numel() * t.element_size()
        if groups[kind][1] and groups[kind][1] + size > size_limit:
            yield groups.pop(kind)[0]
        groups[kind][0].append(t)
        groups[kind][1] += size
    yield from (group for group, _ in groups.values() if group)


class KeyErrorMessage(str):
    """A string whose repr is itself: KeyError shows the repr of its argument."""

    __slots__ = ()

    def __repr__(self):
        return self


class ExceptionWrapper:
    """An exception and its traceback as text, to raise again in another thread or process."""

    def __init__(self, exc_info=None, where="in background"):
        exc_info = sys.exc_info() if exc_info is None else exc_info
        _shorten(exc_info[1])
        exc_info = (*exc_info[:2], exc_info[1].__traceback__)
        # keep only text: the traceback holds its frames, and these may hold this object
        self.exc_type, self.exc_msg, self.where = exc_info[0], "".join(traceback.format_exception(*exc_info)), where

    def reraise(self):
        """Raise the exception here, with the original traceback in the message."""
        msg = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            msg = KeyErrorMessage(msg)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=msg)
        try:
            exception = self.exc_type(msg)
        except Exception:  # a class that takes other arguments
            raise RuntimeError(msg) from None
        raise exception


def cpu_count():
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _get_available_device_type():
    modules = ((n, getattr(torch, n, None)) for n in ("cuda", "npu", "mps", "xpu", "mtia"))
    return next((n for n, m in modules if m is not None and m.is_available()), None)


def _get_device_attr(get_member):
    name = _get_available_device_type()
    return get_member(getattr(torch, name)) if name else None


def _get_current_device_index():
    return _get_device_attr(lambda m: m.current_device())


def _get_all_device_indices():
    return _get_device_attr(lambda m: list(range(m.device_count())))


def _get_devices_properties(device_ids):
    return [_get_device_attr(lambda m, i=i: m.get_device_properties(i)) for i in device_ids]


def get_current_device_index():
    """Return the index of the current CUDA device, or -1 if there is none."""
    return torch.cuda.current_device() if torch.cuda.device_count() > 0 else -1


def _get_device_index(device, optional=False, allow_cpu=False):
    """Return the device index for a device, a string or an integer."""
    if isinstance(device, str):
        device = torch.device(device)
    index = device if isinstance(device, int) else None
    if isinstance(device, torch.device):
        if not allow_cpu and device.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if device.type == "cpu" else device.index
    if index is None:
        if not optional:
            raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
        index = _get_current_device_index()
    return index


def _handle_complex(tensor):
    lazy = isinstance(tensor, torch.nn.UninitializedParameter)
    return torch.view_as_real(tensor) if not lazy and tensor.is_complex() else tensor


def _element_size(dtype):
    if not isinstance(dtype, torch.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


class _ClassPropertyDescriptor:
    def __init__(self, fget, fset=None):
        self.fget = fget

    def __get__(self, instance, owner=None):
        return self.fget.__get__(instance, type(instance) if owner is None else owner)()


def classproperty(func):
    """Return a property of the class, computed by ``func(cls)``."""
    return _ClassPropertyDescriptor(func if isinstance(func, (classmethod, staticmethod)) else classmethod(func))


def is_compiling():
    """Return torch.compiler.is_compiling(). Deprecated."""
    warnings.warn("`torch._utils.is_compiling` is deprecated. Use `torch.compiler.is_compiling` instead.", stacklevel=2)
    return torch.compiler.is_compiling()


def _get_device_module(device_type):
    module = getattr(torch, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return module


def _dummy_type(name):
    def fail(obj, *args, **kwargs):
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")

    return type(name, (object,), {"__init__": fail, "__new__": fail})
