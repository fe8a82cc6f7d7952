"""autocast: runs the operators of a region in a lower precision, which the runtime chooses for each operator."""

import functools
import warnings
from collections.abc import Iterable, Mapping

import numpy as np
import torch

__all__ = ["autocast_decorator", "autocast", "is_autocast_available", "custom_fwd", "custom_bwd"]

_AVAILABLE = {"cpu", "cuda", "xpu", "mps", "hpu", "ipu", "xla", "privateuseone", "npu", "mtia", "maia"}


def is_autocast_available(device_type):
    """Whether a device type supports autocast."""
    return torch.device(device_type).type in _AVAILABLE


def _check_device_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def autocast_decorator(autocast_instance, func):
    """Return a function that runs ``func`` within an autocast context."""

    @functools.wraps(func)
    def decorated(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


class autocast:
    """Context manager and decorator: operators inside run in ``dtype`` where that is known to be safe and fast."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        _check_device_type(device_type)
        torch.device(device_type)
        self.device = device_type
        self.fast_dtype = torch.get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = torch.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda":
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype not in (torch.bfloat16, torch.float16):
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
                "supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self):
        self.prev_cache_enabled = torch.is_autocast_cache_enabled()
        self.prev = torch.is_autocast_enabled(self.device)
        self.prev_fastdtype = torch.get_autocast_dtype(self.device)
        self._set(self._enabled, self.fast_dtype, self._cache_enabled)
        torch.autocast_increment_nesting()
        return self

    def __exit__(self, *exc):
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        self._set(self.prev, self.prev_fastdtype, self.prev_cache_enabled)
        return False

    def _set(self, enabled, dtype, cache_enabled):
        torch.set_autocast_enabled(self.device, enabled)
        torch.set_autocast_dtype(self.device, dtype)
        torch.set_autocast_cache_enabled(cache_enabled)

    def __call__(self, func):
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast "
                f"as a context manager?"
            )
        return autocast_decorator(self, func)


def _enter_autocast(*args):
    mode = autocast(*args)
    mode.__enter__()
    return mode


def _exit_autocast(mode):
    mode.__exit__(None, None, None)


def _cast(value, device_type, dtype):
    """Cast the floating-point tensors on the device in ``value``, except float64, to ``dtype``."""
    if isinstance(value, torch.Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not torch.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes, np.ndarray)) or not isinstance(value, Iterable):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    items = (_cast(v, device_type, dtype) for v in value)
    return type(value)(items) if isinstance(value, (list, tuple)) else items


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorate the ``forward`` of an autograd Function; with ``cast_inputs``, it runs in that dtype, autocast off."""
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        ctx, inside = args[0], torch.is_autocast_enabled(device_type)
        if not isinstance(ctx, torch.Tensor):  # with setup_context, forward has no ctx, and _dtype is a tensor's own
            ctx._dtype = torch.get_autocast_dtype(device_type)
            ctx._fwd_used_autocast = inside and cast_inputs is None
        if not inside or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd=None, *, device_type):
    """Decorate the ``backward`` of an autograd Function: it runs under the autocast state of its forward."""
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorated
