"""Convolutions."""

from .. import functional as F
from ..parameter import UninitializedParameter
from .lazy import LazyModuleMixin
from .linear import _reset_affine
from .module import Module
from .utils import _family, _ntuple, _optional_parameters, _reverse_repeat_tuple

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


class _ConvNd(Module):
    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels", "kernel_size"]

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, padding_mode, device=None, dtype=None
    ):
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
        # What F.pad takes, for padding modes other than zeros
        if isinstance(padding, str):
            totals = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel_size)]
            self._reversed_padding_repeated_twice = [side for t in reversed(totals) for side in (t // 2, t - t // 2)]
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(padding, 2)
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        _optional_parameters(self, {"device": device, "dtype": dtype}, weight=(*channels, *kernel_size), bias=(out_channels,) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new initial values."""
        _reset_affine(self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * len(self.kernel_size)
        return getattr(F, f"conv{self._n}d")(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self):
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
    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, padding_mode, device=None, dtype=None
    ):
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
            device=device,
            dtype=dtype,
        )

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        """The output padding that gives output_size."""
        if output_size is None:
            return self.output_padding
        n = num_spatial_dims
        lead = 2 if input.dim() == n + 2 else 1
        if len(output_size) == lead + n:
            output_size = output_size[lead:]
        if len(output_size) != n:
            raise ValueError(f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {lead + n} elements (got {len(output_size)})")
        dilation = dilation or (1,) * n
        low = [(input.size(d + lead) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1 for d in range(n)]
        high = [s + stride[d] - 1 for d, s in enumerate(low)]
        if not all(a <= s <= b for a, s, b in zip(low, output_size, high)):
            raise ValueError(f"requested an output size of {output_size}, but valid sizes range from {low} to {high} (for an input of {input.size()[2:]})")
        return [s - a for s, a in zip(output_size, low)]

    def forward(self, input, output_size=None):
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        n = self._n
        output_padding = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, n, self.dilation)
        return getattr(F, f"conv_transpose{n}d")(input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation)


class _Conv(_ConvNd):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros", device=None, dtype=None
    ):
        n = _ntuple(self._n)
        super().__init__(
            in_channels,
            out_channels,
            n(kernel_size),
            n(stride),
            padding if isinstance(padding, str) else n(padding),
            n(dilation),
            False,
            n(0),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )


class _ConvTranspose(_ConvTransposeNd):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        n = _ntuple(self._n)
        super().__init__(
            in_channels,
            out_channels,
            n(kernel_size),
            n(stride),
            n(padding),
            n(dilation),
            True,
            n(output_padding),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )


Conv1d, Conv2d, Conv3d = _family("Conv", _Conv, "Convolution over {} spatial dimensions.")
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = _family("ConvTranspose", _ConvTranspose, "Transposed convolution over {} spatial dimensions.")


class _LazyConvXdMixin(LazyModuleMixin):
    def _start_lazy(self, out_channels, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        """Draw new initial values, once the shapes are known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Take in_channels from the input."""
        if self.has_uninitialized_params():
            self.in_channels = self._get_in_channels(input)
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            first, second = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
            self.weight.materialize((first, second // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_in_channels(self, input):
        n = self._get_num_spatial_dims()
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of size: {input.shape}")
        return input.shape[-n - 1]

    def _get_num_spatial_dims(self):
        return self._n


class _LazyConv(_LazyConvXdMixin):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros", device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._start_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, padding_mode="zeros", device=None, dtype=None
    ):
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._start_lazy(out_channels, bias, device, dtype)


LazyConv1d, LazyConv2d, LazyConv3d = _family("LazyConv", _LazyConv, "A Conv{}d that learns in_channels from its first input.", (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = _family(
    "LazyConvTranspose",
    _LazyConvTranspose,
    "A ConvTranspose{}d that learns in_channels from its first input.",
    (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d),
)
