"""Pooling layers."""

from .. import functional as F
from .module import Module
from .utils import _family, _layer, _ntuple

__all__ = [
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
]


def _default_stride(self):
    """No stride means the kernel's size."""
    if self.stride is None:
        self.stride = self.kernel_size


def _tuples(self):
    _default_stride(self)
    for name in ("kernel_size", "stride", "padding"):
        setattr(self, name, _ntuple(self._n)(getattr(self, name)))


class _PoolNd(Module):
    def _pool(self, name, *args, **kwargs):
        return getattr(F, f"{name}{self._n}d")(*args, **kwargs)


_MaxPoolNd = _layer(
    "_MaxPoolNd(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False)",
    lambda self, input: self._pool(
        "max_pool", input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices
    ),
    "kernel_size=, stride=, padding=, dilation=, ceil_mode=",
    base=_PoolNd,
    setup=_default_stride,
)
_MaxUnpoolNd = _layer(
    "_MaxUnpoolNd(kernel_size, stride=None, padding=0)",
    lambda self, input, indices, output_size=None: self._pool("max_unpool", input, indices, self.kernel_size, self.stride, self.padding, output_size),
    "kernel_size=, stride=, padding=",
    base=_PoolNd,
    setup=_tuples,
)
_AvgPoolNd = _layer(
    "_AvgPoolNd(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None)",
    lambda self, input: self._pool(
        "avg_pool", input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
    ),
    "kernel_size=, stride=, padding=",
    base=_PoolNd,
    setup=_default_stride,
)
_LPPoolNd = _layer(
    "_LPPoolNd(norm_type, kernel_size, stride=None, ceil_mode=False)",
    lambda self, input: self._pool("lp_pool", input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode),
    "norm_type=, kernel_size=, stride=, ceil_mode=",
    base=_PoolNd,
)
_AdaptiveMaxPoolNd = _layer(
    "_AdaptiveMaxPoolNd(output_size, return_indices=False)",
    lambda self, input: self._pool("adaptive_max_pool", input, self.output_size, self.return_indices),
    "output_size=",
    base=_PoolNd,
)
_AdaptiveAvgPoolNd = _layer(
    "_AdaptiveAvgPoolNd(output_size)", lambda self, input: self._pool("adaptive_avg_pool", input, self.output_size), "output_size=", base=_PoolNd
)


class _FractionalMaxPoolNd(_PoolNd):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        name, n = type(self).__name__, _ntuple(self._n)
        self.kernel_size = n(kernel_size)
        if self._n == 3 and any(k <= 0 for k in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else n(output_size)
        self.output_ratio = None if output_ratio is None else n(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        return self._pool(
            "fractional_max_pool", input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, _random_samples=self._random_samples
        )


MaxPool1d, MaxPool2d, MaxPool3d = _family("MaxPool", _MaxPoolNd, "Maximum over windows of {} dimensions.")
MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = _family("MaxUnpool", _MaxUnpoolNd, "Puts the maxima of MaxPool{}d back in their places.")
AvgPool2d, AvgPool3d = _family("AvgPool", _AvgPoolNd, "Average over windows of {} dimensions.", numbers=(2, 3))
FractionalMaxPool2d, FractionalMaxPool3d = _family(
    "FractionalMaxPool", _FractionalMaxPoolNd, "Maximum over pseudo-random regions of {} dimensions.", numbers=(2, 3)
)
LPPool1d, LPPool2d, LPPool3d = _family("LPPool", _LPPoolNd, "Power average over windows of {} dimensions.")
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = _family("AdaptiveMaxPool", _AdaptiveMaxPoolNd, "Maximum over {} dimensions to a given size.")
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = _family("AdaptiveAvgPool", _AdaptiveAvgPoolNd, "Average over {} dimensions to a given size.")
AvgPool1d = _layer(
    "AvgPool1d(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True)",
    lambda self, input: F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad),
    "kernel_size=, stride=, padding=",
    setup=_tuples,
)
AvgPool1d._n = 1
