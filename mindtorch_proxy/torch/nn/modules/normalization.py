"""Layer, group and local response normalization."""

import numbers

from .. import functional as F
from ._functions import CrossMapLRN2d as _cross_map_lrn2d
from .batchnorm import _reset_norm
from .module import Module
from .utils import _layer, _optional_parameters

__all__ = ["LocalResponseNorm", "CrossMapLRN2d", "LayerNorm", "GroupNorm", "RMSNorm"]

LocalResponseNorm = _layer(
    "LocalResponseNorm(size, alpha=1e-4, beta=0.75, k=1.0)",
    lambda self, input: F.local_response_norm(input, self.size, self.alpha, self.beta, self.k),
    "size, alpha=, beta=, k=",
)
CrossMapLRN2d = _layer(
    "CrossMapLRN2d(size, alpha=1e-4, beta=0.75, k=1)",
    lambda self, input: _cross_map_lrn2d.apply(input, self.size, self.alpha, self.beta, self.k),
    "size, alpha=, beta=, k=",
)


class LayerNorm(Module):
    """Normalization over the last dimensions."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        _optional_parameters(self, {"device": device, "dtype": dtype}, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight one, bias zero."""
        _reset_norm(self, self.elementwise_affine)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class GroupNorm(Module):
    """Normalization over groups of channels."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        shape = (num_channels,) if affine else None
        _optional_parameters(self, {"device": device, "dtype": dtype}, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight one, bias zero."""
        _reset_norm(self, self.affine)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Division by the root mean square over the last dimensions."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        _optional_parameters(self, {"device": device, "dtype": dtype}, weight=self.normalized_shape if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight one."""
        _reset_norm(self, self.elementwise_affine)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
