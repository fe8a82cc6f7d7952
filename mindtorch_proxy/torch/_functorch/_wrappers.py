"""torch._C._functorch: how active transforms wrap tensors.

vmap wraps its inputs, with the batch dimension first. Gradients use plain autograd, so the gradient transforms do not
wrap tensors.
"""

import enum

from .vmap import (
    _LEVELS,
    FALLBACK,
    BatchedTensor,
    _add_batch_dim,
    _is_batched,
    _remove_batch_dim,
    _vmap_decrement_nesting,
    _vmap_increment_nesting,
)

__all__ = [
    "TransformType",
    "_add_batch_dim",
    "_is_vmap_fallback_enabled",
    "_remove_batch_dim",
    "_set_vmap_fallback_enabled",
    "_set_vmap_fallback_warning_enabled",
    "_unwrap_batched",
    "_vmap_decrement_nesting",
    "_vmap_increment_nesting",
    "current_level",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functionaltensor",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "is_legacy_batchedtensor",
    "maybe_current_level",
    "maybe_get_bdim",
    "maybe_get_level",
    "reshape_dim_into",
    "reshape_dim_outof",
]


class TransformType(enum.Enum):
    """The kinds of transforms."""

    Torch, Vmap, Grad, Jvp, Functionalize = range(5)


def is_batchedtensor(t):
    """Whether a tensor is a BatchedTensor."""
    return isinstance(t, BatchedTensor)


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(t):
    """Whether a gradient transform has wrapped a tensor, which is never the case."""
    return False


is_functionaltensor = is_legacy_batchedtensor = is_gradtrackingtensor


def maybe_get_level(t):
    """Return the vmap level of a batched tensor, -1 for other tensors."""
    return t._level if isinstance(t, BatchedTensor) else -1


def maybe_get_bdim(t):
    """Return the batch dimension of a batched tensor, -1 for other tensors."""
    return 0 if isinstance(t, BatchedTensor) else -1


def get_unwrapped(t):
    """Return the values of a batched tensor."""
    if not isinstance(t, BatchedTensor):
        raise RuntimeError("No wrappers present!")
    return t._value


def _unwrap_batched(t, level):
    """Return the values and batch dimension at a level, or the tensor and None."""
    return (t._value, 0) if _is_batched(t, level) else (t, None)


def maybe_current_level():
    """Return the level of the innermost vmap, or None."""
    return _LEVELS[-1][0] if _LEVELS else None


def current_level():
    """Return the level of the innermost vmap."""
    if not _LEVELS:
        raise RuntimeError("no transform of torch.func is running")
    return _LEVELS[-1][0]


def _is_vmap_fallback_enabled():
    """Whether vmap may run a function without a rule once for each sample."""
    return FALLBACK.enabled


def _set_vmap_fallback_enabled(enabled):
    """Set whether vmap may run functions without a rule once for each sample."""
    FALLBACK.enabled = bool(enabled)


def _set_vmap_fallback_warning_enabled(enabled):
    """Set whether vmap warns when it runs a function once for each sample."""
    FALLBACK.warns = bool(enabled)


def reshape_dim_into(src, dst, x):
    """Merge dimension ``src`` into dimension ``dst`` of the remaining ones, as the slower part."""
    src %= x.dim()
    dst %= x.dim() - 1
    shape = list(x.shape)
    n = shape.pop(src)
    shape[dst] *= n
    return x.movedim(src, dst).reshape(shape)


def reshape_dim_outof(src, size1, x):
    """Split a dimension into two, the first of size ``size1``."""
    src %= x.dim()
    if x.shape[src] % size1:
        raise RuntimeError(f"a dimension of {x.shape[src]} is no multiple of {size1}")
    return x.reshape(*x.shape[:src], size1, x.shape[src] // size1, *x.shape[src + 1 :])
