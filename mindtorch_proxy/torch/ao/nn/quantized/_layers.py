"""Layers with quantized weights and outputs."""

import torch
from torch import nn
from torch.ao.nn import intrinsic as nni

from ._arithmetic import Scaled, checked, convolution, product, rounded

__all__ = [
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "DeQuantize",
    "Linear",
    "LinearReLU",
    "Quantize",
]


def quantized_weight(weight, observer):
    """Quantize a weight to torch.qint8 with the scale and zero point of an observer."""
    scale, zero_point = observer.calculate_qparams()
    if observer.qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return torch.quantize_per_tensor(weight.detach().float(), float(scale), int(zero_point), torch.qint8)
    return torch.quantize_per_channel(
        weight.detach().float(), scale.double(), zero_point.to(torch.int64), observer.ch_axis, torch.qint8
    )


class Quantize(nn.Module):
    """Quantize a floating point input."""

    def __init__(self, scale, zero_point, dtype, factory_kwargs=None):
        super().__init__()
        self.register_buffer("scale", torch.tensor([scale]))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.long))
        self.dtype = dtype

    def forward(self, X):
        return torch.quantize_per_tensor(X.detach(), float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        """Convert a QuantStub whose observer has seen data."""
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return Quantize(scale.float().item(), zero_point.long().item(), mod.activation_post_process.dtype)

    def extra_repr(self):
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(nn.Module):
    """Dequantize an input to floating point."""

    def forward(self, Xq):
        return Xq.dequantize()

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        """Convert a DeQuantStub."""
        return DeQuantize()


class _Layer(Scaled):
    """Base of the layers with a quantized weight, a bias, and a scale and zero point of the output."""

    _relu = False

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Convert a prepared floating point layer.

        A layer without an observer, or a weight observer with another dtype than torch.qint8, raises AssertionError.
        """
        if not hasattr(mod, "activation_post_process"):
            raise AssertionError(
                f"Input float module must have activation_post_process attached: {type(mod).__name__} was not prepared"
            )
        layer = mod[0] if isinstance(mod, nni._FusedModule) else mod
        observer = getattr(layer, "weight_fake_quant", None)
        if observer is None:
            observer = mod.qconfig.weight()
        observer(layer.weight)
        if observer.dtype != torch.qint8:
            raise AssertionError(f"Weight observer must have dtype torch.qint8, got {observer.dtype}")
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        new = cls(*cls._sizes(layer))
        new.set_weight_bias(
            quantized_weight(layer.weight, getattr(observer, "activation_post_process", observer)), layer.bias
        )
        new.scale, new.zero_point = float(scale), int(zero_point)
        return new


class LinearPackedParams(nn.Module):
    """The weight and bias of a Linear, in the form in which its state_dict stores them."""

    _version = 3

    def __init__(self, dtype=torch.qint8):
        super().__init__()
        self.dtype = dtype
        quantized = dtype is torch.qint8
        self.set_weight_bias(
            torch._empty_affine_quantized([1, 1], scale=1.0, zero_point=0, dtype=dtype)
            if quantized
            else torch.zeros([1, 1]),
            None,
        )

    def set_weight_bias(self, weight, bias):
        """Set the weight and the bias."""
        self._packed_params = weight, bias

    def _weight_bias(self):
        return self._packed_params

    def forward(self, x):
        return x

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"], destination[prefix + "_packed_params"] = self.dtype, self._weight_bias()

    def _load_from_state_dict(self, state_dict, prefix, *args):
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def __repr__(self):
        return repr(self._weight_bias())


class Linear(_Layer):
    """Quantized Linear: input and output are torch.quint8, the weight is torch.qint8.

    The weight has a single scale, or one scale for each row.
    """

    _version = 3
    _FLOAT_MODULE = nn.Linear

    def __init__(self, in_features, out_features, bias_=True, dtype=torch.qint8):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bias = torch.zeros(out_features) if bias_ else None
        if dtype is torch.qint8:
            weight = torch._make_per_tensor_quantized_tensor(
                torch.zeros(out_features, in_features, dtype=torch.int8), 1.0, 0
            )
        elif dtype is torch.float16:
            weight = torch.zeros(out_features, in_features)
        else:
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, bias)

    @staticmethod
    def _sizes(layer):
        return layer.in_features, layer.out_features

    def _weight_bias(self):
        return self._packed_params._weight_bias()

    def weight(self):
        """Return the quantized weight."""
        return self._weight_bias()[0]

    def bias(self):
        """Return the floating point bias, or None."""
        return self._weight_bias()[1]

    def set_weight_bias(self, w, b):
        """Set a quantized weight and a bias."""
        self._packed_params.set_weight_bias(w, b)

    def _get_name(self):
        return "QuantizedLinearReLU" if self._relu else "QuantizedLinear"

    def __repr__(self):
        return f"{self._get_name()}({self.extra_repr()})"

    def extra_repr(self):
        said = (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, "
            f"zero_point={self.zero_point}"
        )
        return f"{said}, qscheme={self.weight().qscheme()}"

    def forward(self, x):
        weight, bias = self._weight_bias()
        found = product(nn.functional.linear, checked(x, "quantized::linear"), weight, bias, [-1])
        return rounded(found, self.scale, self.zero_point, self._relu)


class LinearReLU(Linear):
    """Quantized Linear followed by ReLU."""

    _relu = True
    _FLOAT_MODULE = nni.LinearReLU


class _Conv(_Layer):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
    ):
        super().__init__()
        if padding_mode != "zeros":
            raise NotImplementedError(
                f"quantized convolution: padding_mode {padding_mode!r} (torch.quint8, cpu) is not supported"
            )
        shape = self._float(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        )  # a float layer, which provides the sizes and their names
        for name in "in_channels out_channels kernel_size stride padding dilation groups padding_mode".split():
            setattr(self, name, getattr(shape, name))
        weight = torch._make_per_tensor_quantized_tensor(torch.zeros(shape.weight.shape, dtype=torch.int8), 1.0, 0)
        self.set_weight_bias(weight, torch.zeros(out_channels) if bias else None)

    @staticmethod
    def _sizes(layer):
        names = "in_channels out_channels kernel_size stride padding dilation groups"
        return *(getattr(layer, n) for n in names.split()), layer.bias is not None, layer.padding_mode

    def set_weight_bias(self, w, b):
        """Set a quantized weight and a bias."""
        self._packed = w, b

    def _weight_bias(self):
        return self._packed

    def weight(self):
        """Return the quantized weight."""
        return self._packed[0]

    def bias(self):
        """Return the floating point bias, or None."""
        return self._packed[1]

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        destination[prefix + "weight"], destination[prefix + "bias"] = self._packed
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _get_name(self):
        return "Quantized" + type(self).__name__

    def extra_repr(self):
        said = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )
        for name, usual in (
            ("padding", (0,) * len(self.kernel_size)),
            ("dilation", (1,) * len(self.kernel_size)),
            ("groups", 1),
        ):
            said += f", {name}={getattr(self, name)}" * (getattr(self, name) != usual)
        return said + ", bias=False" * (self.bias() is None)

    def forward(self, input):
        sizes = self.stride, self.padding, self.dilation, self.groups
        return convolution(self._function, input, *self._packed, sizes, self.scale, self.zero_point, self._relu)


class _BatchNorm(nn.modules.batchnorm._BatchNorm):
    """Base of quantized batch normalization, which always uses the running statistics, also in training."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, True, True, device=device, dtype=dtype)
        self.register_buffer("scale", torch.tensor(1.0, device=device, dtype=dtype))
        self.register_buffer("zero_point", torch.tensor(0, device=device, dtype=dtype))

    def _get_name(self):
        return "Quantized" + type(self).__name__

    @classmethod
    def _like(cls, mod, scale, zero_point):
        new = cls(mod.num_features, mod.eps, mod.momentum)
        new.weight, new.bias, new.running_mean, new.running_var = (
            mod.weight,
            mod.bias,
            mod.running_mean,
            mod.running_var,
        )
        new.scale, new.zero_point = scale, zero_point
        return new

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Convert a BatchNorm with an observer."""
        return cls._like(mod, *mod.activation_post_process.calculate_qparams())

    @classmethod
    def from_reference(cls, bn, output_scale, output_zero_point):
        """Convert a BatchNorm, with the given scale and zero point of the output."""
        return cls._like(bn, output_scale, output_zero_point)

    def forward(self, input):
        if checked(input, f"quantized::batch_norm{self._dimensions}d").dim() != self._dimensions + 2:
            raise RuntimeError(f"Expecting the input tensor of rank {self._dimensions + 2}.")
        order = {2: torch.channels_last, 3: torch.channels_last_3d}[self._dimensions]  # as PyTorch's kernels return it
        found = nn.functional.batch_norm(
            input.dequantize(),
            self.running_mean,
            self.running_var,
            self.weight.detach(),
            self.bias.detach(),
            False,
            0,
            self.eps,
        )
        return torch.quantize_per_tensor(
            found.contiguous(memory_format=order), float(self.scale), int(self.zero_point), torch.quint8
        )


class BatchNorm2d(_BatchNorm):
    """Quantized BatchNorm2d: input and output are torch.quint8."""

    _dimensions = 2


class BatchNorm3d(_BatchNorm):
    """Quantized BatchNorm3d: input and output are torch.quint8."""

    _dimensions = 3


class Conv1d(_Conv):
    """Quantized Conv1d: input and output are torch.quint8, the weight is torch.qint8."""

    _float, _function = nn.Conv1d, staticmethod(nn.functional.conv1d)
    _FLOAT_MODULE = nn.Conv1d


class Conv2d(_Conv):
    """Quantized Conv2d: input and output are torch.quint8, the weight is torch.qint8."""

    _float, _function = nn.Conv2d, staticmethod(nn.functional.conv2d)
    _FLOAT_MODULE = nn.Conv2d


class Conv3d(_Conv):
    """Quantized Conv3d: input and output are torch.quint8, the weight is torch.qint8."""

    _float, _function = nn.Conv3d, staticmethod(nn.functional.conv3d)
    _FLOAT_MODULE = nn.Conv3d


class ConvReLU1d(Conv1d):
    """Quantized Conv1d followed by ReLU."""

    _relu = True
    _FLOAT_MODULE = nni.ConvReLU1d


class ConvReLU2d(Conv2d):
    """Quantized Conv2d followed by ReLU."""

    _relu = True
    _FLOAT_MODULE = nni.ConvReLU2d


class ConvReLU3d(Conv3d):
    """Quantized Conv3d followed by ReLU."""

    _relu = True
    _FLOAT_MODULE = nni.ConvReLU3d
