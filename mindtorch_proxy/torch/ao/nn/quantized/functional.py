"""torch.ao.nn.quantized.functional: quantized Linear and convolutions as functions."""

import torch
from torch.nn import functional as F
from torch.nn.modules.utils import _pair, _single, _triple

from ._arithmetic import checked, convolution, product, rounded

__all__ = ["conv1d", "conv2d", "conv3d", "linear"]


def linear(input, weight, bias=None, scale=None, zero_point=None):
    """Compute a quantized Linear: the input is torch.quint8, the weight is torch.qint8.

    The result has the scale and zero point of the input, unless others are given. Another input dtype raises
    NotImplementedError.
    """
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    return rounded(product(F.linear, checked(input, "quantized::linear"), weight, bias, [-1]), scale, zero_point)


def _conv(name, function, sizes, shape):
    def conv(
        input,
        weight,
        bias,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        scale=1.0,
        zero_point=0,
        dtype=torch.quint8,
    ):
        if padding_mode != "zeros":
            raise NotImplementedError("Only zero-padding is supported!")
        if input.dtype != torch.quint8:
            raise NotImplementedError("Only torch.quint8 is supported for activation tensor!")
        if weight.dtype != torch.qint8:
            raise NotImplementedError("Only torch.qint8 is supported for weight tensor!")
        if input.ndim != 1 + shape.count(","):
            raise ValueError(f"Input shape must be `({shape})`!")
        return convolution(
            function, input, weight, bias, (sizes(stride), sizes(padding), sizes(dilation), groups), scale, zero_point
        )

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"""{name} of integers: the input torch.quint8 of shape ({shape}), the weight torch.qint8, the bias
    of floating point or None.

    Raises:
        NotImplementedError: other dtypes, another padding than zeros.
        ValueError: an input of another number of dimensions.
    """
    return conv


conv1d = _conv("conv1d", F.conv1d, _single, "N, C, L")
conv2d = _conv("conv2d", F.conv2d, _pair, "N, C, H, W")
conv3d = _conv("conv3d", F.conv3d, _triple, "N, C, D, H, W")
