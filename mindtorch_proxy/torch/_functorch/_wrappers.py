"""torch._C._functorch: how a tensor is wrapped by the transforms that run.

vmap wraps its inputs, with the batch in front; gradients are autograd's own, so their transforms wrap nothing.
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
    """What a transform does."""

    Torch, Vmap, Grad, Jvp, Functionalize = range(5)


def is_batchedtensor(t):
    """Whether a tensor is one sample of a vmap."""
    return isinstance(t, BatchedTensor)


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(t):
    """Whether a transform of gradients has wrapped a tensor: none does."""
    return False


is_functionaltensor = is_legacy_batchedtensor = is_gradtrackingtensor


def maybe_get_level(t):
    """The level of the vmap that a tensor is a sample of, -1 for others."""
    return t._level if isinstance(t, BatchedTensor) else -1


def maybe_get_bdim(t):
    """Where the samples lie in the values behind a tensor, -1 for others."""
    return 0 if isinstance(t, BatchedTensor) else -1


def get_unwrapped(t):
    """The values behind a sample."""
    if not isinstance(t, BatchedTensor):
        raise RuntimeError("No wrappers present!")
    return t._value


def _unwrap_batched(t, level):
    """The values of a level and their batch dimension, or the tensor and None."""
    return (t._value, 0) if _is_batched(t, level) else (t, None)


def maybe_current_level():
    """The number of the innermost vmap, or None."""
    return _LEVELS[-1][0] if _LEVELS else None


def current_level():
    """The number of the innermost vmap."""
    if not _LEVELS:
        raise RuntimeError("no transform of torch.func is running")
    return _LEVELS[-1][0]


def _is_vmap_fallback_enabled():
    """Whether vmap may call a function without a rule for each sample."""
    return FALLBACK.enabled


def _set_vmap_fallback_enabled(enabled):
    """Let vmap call functions without a rule for each sample, or refuse."""
    FALLBACK.enabled = bool(enabled)


def _set_vmap_fallback_warning_enabled(enabled):
    """Have vmap say so where it calls a function for each sample."""
    FALLBACK.warns = bool(enabled)


def reshape_dim_into(src, dst, x):
    """One dimension joined with another of those that remain, as the slower of the two."""
    src %= x.dim()
    dst %= x.dim() - 1
    shape = list(x.shape)
    n = shape.pop(src)
    shape[dst] *= n
    return x.movedim(src, dst).reshape(shape)


def reshape_dim_outof(src, size1, x):
    """A dimension as two, the first of a given size."""
    src %= x.dim()
    if x.shape[src] % size1:
        raise RuntimeError(f"a dimension of {x.shape[src]} is no multiple of {size1}")
    return x.reshape(*x.shape[:src], size1, x.shape[src] // size1, *x.shape[src + 1 :])
