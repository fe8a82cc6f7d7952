"""The functional interface: the operators of the namespace nn.functional, resolved on first access."""

import importlib as _importlib

from mindtorch_proxy.runtime import registry as _registry
from mindtorch_proxy.runtime.ops import nn as _nn
from mindtorch_proxy.runtime.tensor import Tensor

from torch.overrides import (  # noqa: F401
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

from . import _reduction as _Reduction, grad  # noqa: F401
from ._arguments import _list_with_default, _pair, _single, _triple  # noqa: F401
from ._scaled import ScalingType, SwizzleType, scaled_grouped_mm, scaled_mm  # noqa: F401

# Functions of the root namespace that this module exports as well; they are the same objects.
_ROOT = frozenset(
    """celu_ conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc avg_pool1d
 adaptive_avg_pool1d channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle pairwise_distance pdist
 cosine_similarity bilinear hardshrink prelu relu_ rrelu_ selu_ threshold_""".split()
)


def _none_or_dtype(input):
    """Return the dtype of a tensor, or None for None; any other input raises RuntimeError."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the inputs of multi-head attention are batched.

    AssertionError is raised if the numbers of dimensions do not fit together.
    """
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    start = f"For {'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`, expected"
    if (key.dim(), value.dim()) != (dims, dims):
        found = f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        raise AssertionError(f"{start} `key` and `value` to be {dims}-D but found {found}")
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        found = f"{key_padding_mask.dim()}-D tensor instead"
        raise AssertionError(f"{start} `key_padding_mask` to be `None` or {dims - 1}-D but found {found}")
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        )
    expected = num_heads, query.shape[0], key.shape[0]
    if dims == 2 and attn_mask is not None and attn_mask.dim() == 3 and attn_mask.shape != expected:
        raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return dims == 3


def __getattr__(name):
    if name == "__all__":  # the names that `from torch.nn.functional import *` imports
        return [n for n in __dir__() if n[:1] != "_"]
    if name[:2] != "__":
        f = _registry.function("torch" if name in _ROOT else "nn.functional", name)
        if f is None and name in ("GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "_canonical_mask"):
            f = getattr(_nn, name.removeprefix("_"))
        if f is None and name == "_VF":
            f = _importlib.import_module("torch._VF")
        if f is not None:
            globals()[name] = f
            return f
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_registry.names("nn.functional"), *_ROOT, "elu_", "hardtanh_", "leaky_relu_"})
