"""Convolution layers."""

import warnings
from typing import Literal

from torch import Tensor

from .. import functional as F
from ..common_types import _size_1_t, _size_2_t, _size_3_t
from ..parameter import UninitializedParameter
from .lazy import LazyModuleMixin
from .linear import _reset_affine
from .module import Module
from .utils import _optional_parameters, _pair, _reverse_repeat_tuple, _single, _triple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]


_Mode = Literal["zeros", "reflect", "replicate", "circular"]


def _convolve(function, layer, input, weight, bias):
    """Run a convolution with the layer's arguments.

    A padding mode other than "zeros" is applied with F.pad before the operator, which supports only zero padding.
    """
    padding = layer.padding
    if layer.padding_mode != "zeros":
        input = F.pad(input, layer._reversed_padding_repeated_twice, mode=layer.padding_mode)
        padding = (0,) * len(layer.kernel_size)
    return function(input, weight, bias, layer.stride, padding, layer.dilation, layer.groups)


def _convolve_transposed(function, layer, input, output_size):
    """Run a transposed convolution with the layer's arguments, to output_size if it is given."""
    if layer.padding_mode != "zeros":
        raise ValueError(f"Only `zeros` padding mode is supported for {type(layer).__name__}")
    kernel_size, stride, padding, dilation = layer.kernel_size, layer.stride, layer.padding, layer.dilation
    output_padding = layer._output_padding(input, output_size, stride, padding, kernel_size, len(kernel_size), dilation)
    return function(input, layer.weight, layer.bias, stride, padding, output_padding, layer.groups, dilation)


class _ConvNd(Module):
    """Base of all convolutions; it holds the parameters, and expects sizes that are already tuples."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: _Mode,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = {"zeros", "reflect", "replicate", "circular"}
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        # The argument of F.pad, for padding modes other than zeros
        if isinstance(padding, str):
            totals = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel_size)]
            self._reversed_padding_repeated_twice = [side for t in reversed(totals) for side in (t // 2, t - t // 2)]
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(padding, 2)
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        _optional_parameters(
            self,
            {"device": device, "dtype": dtype},
            weight=(*channels, *kernel_size),
            bias=(out_channels,) if bias else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values for weight and bias."""
        _reset_affine(self.weight, self.bias)

    def extra_repr(self) -> str:
        s = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (usual,) * len(value):
                s += f", {name}={value}"
        if self.groups != 1:
            s += f", groups={self.groups}"
        if self.bias is None:
            s += ", bias=False"
        if self.padding_mode != "zeros":
            s += f", padding_mode={self.padding_mode}"
        return s

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _ConvTransposeNd(_ConvNd):
    """Base of the transposed convolutions, whose call accepts the size of the output."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        bias,
        padding_mode,
        device=None,
        dtype=None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(
        self,
        input: Tensor,
        output_size: list[int] | None,
        stride: list[int],
        padding: list[int],
        kernel_size: list[int],
        num_spatial_dims: int,
        dilation: list[int] | None = None,
    ) -> list[int]:
        """Return the output padding that leads to output_size."""
        if output_size is None:
            return self.output_padding
        n = num_spatial_dims
        lead = 2 if input.dim() == n + 2 else 1
        if len(output_size) == lead + n:
            output_size = output_size[lead:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {lead + n} elements (got "
                f"{len(output_size)})"
            )
        dilation = dilation or (1,) * n
        low = [
            (input.size(d + lead) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1
            for d in range(n)
        ]
        high = [s + stride[d] - 1 for d, s in enumerate(low)]
        if not all(a <= s <= b for a, s, b in zip(low, output_size, high)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {low} to {high} (for an "
                f"input of {input.size()[2:]})"
            )
        return [s - a for s, a in zip(output_size, low)]


class Conv1d(_ConvNd):
    """Cross-correlate an input (N, in_channels, L) with out_channels learned kernels and add a bias.

    The batch dimension may be absent. Each size is a number or a tuple of one. padding may also be "valid" (no padding)
    or "same" (the output is as large as the input).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: str | _size_1_t = 0,
        dilation: _size_1_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        sizes = (
            _single(kernel_size),
            _single(stride),
            padding if isinstance(padding, str) else _single(padding),
            _single(dilation),
        )
        super().__init__(
            in_channels, out_channels, *sizes, False, _single(0), groups, bias, padding_mode, device, dtype
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return _convolve(F.conv1d, self, input, weight, bias)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_ConvNd):
    """Cross-correlate an input (N, in_channels, H, W) with out_channels learned kernels and add a bias.

    The batch dimension may be absent. Each size is one number or two. padding may also be "valid" (no padding) or
    "same" (the output is as large as the input).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: str | _size_2_t = 0,
        dilation: _size_2_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        sizes = (
            _pair(kernel_size),
            _pair(stride),
            padding if isinstance(padding, str) else _pair(padding),
            _pair(dilation),
        )
        super().__init__(in_channels, out_channels, *sizes, False, _pair(0), groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return _convolve(F.conv2d, self, input, weight, bias)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_ConvNd):
    """Cross-correlate an input (N, in_channels, D, H, W) with out_channels learned kernels and add a bias.

    The batch dimension may be absent. Each size is one number or three. padding may also be "valid" (no padding) or
    "same" (the output is as large as the input).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: str | _size_3_t = 0,
        dilation: _size_3_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        sizes = (
            _triple(kernel_size),
            _triple(stride),
            padding if isinstance(padding, str) else _triple(padding),
            _triple(dilation),
        )
        super().__init__(
            in_channels, out_channels, *sizes, False, _triple(0), groups, bias, padding_mode, device, dtype
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return _convolve(F.conv3d, self, input, weight, bias)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeMixin(_ConvTransposeNd):
    """Deprecated internal name of the base of the transposed convolutions."""

    def __init__(self, *args, **kwargs):
        message = "`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs."
        warnings.warn(message, FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution of an input (N, in_channels, L) to an output with out_channels channels.

    It is the gradient of Conv1d with respect to its input. A strided convolution maps several input sizes to the same
    output size; output_padding, or output_size in the call, selects one of them.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        output_padding: _size_1_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_1_t = 1,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        sizes = _single(kernel_size), _single(stride), _single(padding), _single(dilation)
        super().__init__(
            in_channels, out_channels, *sizes, True, _single(output_padding), groups, bias, padding_mode, device, dtype
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        return _convolve_transposed(F.conv_transpose1d, self, input, output_size)


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution of an input (N, in_channels, H, W) to an output with out_channels channels.

    It is the gradient of Conv2d with respect to its input. A strided convolution maps several input sizes to the same
    output size; output_padding, or output_size in the call, selects one of them.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        output_padding: _size_2_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_2_t = 1,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        sizes = _pair(kernel_size), _pair(stride), _pair(padding), _pair(dilation)
        super().__init__(
            in_channels, out_channels, *sizes, True, _pair(output_padding), groups, bias, padding_mode, device, dtype
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        return _convolve_transposed(F.conv_transpose2d, self, input, output_size)


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution of an input (N, in_channels, D, H, W) to an output with out_channels channels.

    It is the gradient of Conv3d with respect to its input. A strided convolution maps several input sizes to the same
    output size; output_padding, or output_size in the call, selects one of them.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        output_padding: _size_3_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_3_t = 1,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        sizes = _triple(kernel_size), _triple(stride), _triple(padding), _triple(dilation)
        super().__init__(
            in_channels, out_channels, *sizes, True, _triple(output_padding), groups, bias, padding_mode, device, dtype
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        return _convolve_transposed(F.conv_transpose3d, self, input, output_size)


class _LazyConvXdMixin(LazyModuleMixin):
    """Mixin for a convolution created without in_channels and bias: the first input provides in_channels."""

    def reset_parameters(self) -> None:
        """Draw new initial values once the shapes are known; before that, do nothing."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args, **kwargs) -> None:
        """Take in_channels from the input and allocate the parameters."""
        if self.has_uninitialized_params():
            self.in_channels = self._get_in_channels(input)
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            first, second = (
                (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
            )
            self.weight.materialize((first, second // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        n = self._get_num_spatial_dims()
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )
        return input.shape[-n - 1]

    def _get_num_spatial_dims(self) -> int:
        raise NotImplementedError


def _start_lazy(layer, out_channels, bias, device, dtype):
    """Add uninitialized parameters to a layer that was created without in_channels and bias."""
    layer.weight = UninitializedParameter(device=device, dtype=dtype)
    layer.out_channels = out_channels
    if bias:
        layer.bias = UninitializedParameter(device=device, dtype=dtype)


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """A Conv1d that takes in_channels from its first input."""

    cls_to_become = Conv1d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        dilation: _size_1_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        _start_lazy(self, out_channels, bias, device, dtype)

    def _get_num_spatial_dims(self) -> int:
        return 1


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """A Conv2d that takes in_channels from its first input."""

    cls_to_become = Conv2d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        dilation: _size_2_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        _start_lazy(self, out_channels, bias, device, dtype)

    def _get_num_spatial_dims(self) -> int:
        return 2


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """A Conv3d that takes in_channels from its first input."""

    cls_to_become = Conv3d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        dilation: _size_3_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        _start_lazy(self, out_channels, bias, device, dtype)

    def _get_num_spatial_dims(self) -> int:
        return 3


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """A ConvTranspose1d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose1d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        output_padding: _size_1_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_1_t = 1,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        _start_lazy(self, out_channels, bias, device, dtype)

    def _get_num_spatial_dims(self) -> int:
        return 1


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """A ConvTranspose2d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose2d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        output_padding: _size_2_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int = 1,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        _start_lazy(self, out_channels, bias, device, dtype)

    def _get_num_spatial_dims(self) -> int:
        return 2


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """A ConvTranspose3d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose3d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        output_padding: _size_3_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_3_t = 1,
        padding_mode: _Mode = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        _start_lazy(self, out_channels, bias, device, dtype)

    def _get_num_spatial_dims(self) -> int:
        return 3
