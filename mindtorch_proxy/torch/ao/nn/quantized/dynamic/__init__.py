"""torch.ao.nn.quantized.dynamic: modules with quantized weights and floating point outputs."""

import torch
from torch import nn
from torch.ao.nn import intrinsic as nni

from .. import _layers
from .._arithmetic import product

__all__ = ["Linear"]


class Linear(_layers.Linear):
    """Dynamically quantized Linear, whose weight is torch.qint8 or float16.

    With a torch.qint8 weight, the input is quantized to seven bits of its own range at each call, and the result has
    the dtype of the input. With a float16 weight, the product is computed in float32.
    """

    _version = 4

    def __init__(self, in_features, out_features, bias_=True, dtype=torch.qint8):
        super().__init__(in_features, out_features, bias_, dtype)
        self.version = self._version

    def _get_name(self):
        return "DynamicQuantizedLinearReLU" if self._relu else "DynamicQuantizedLinear"

    def extra_repr(self):
        said = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        return said + f", qscheme={self.weight().qscheme()}" if self._packed_params.dtype is torch.qint8 else said

    def forward(self, x):
        weight, bias = self._weight_bias()
        if not weight.is_quantized:
            found = nn.functional.linear(x, weight.to(torch.float16).float(), bias)
        else:
            steps = torch.quantize_per_tensor_dynamic(x.detach().float(), torch.quint8, reduce_range=True)
            found = product(nn.functional.linear, steps, weight, bias, [-1]).to(x.dtype)
        return nn.functional.relu(found) if self._relu else found

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Convert a floating point layer, using its qconfig or the default one.

        A weight dtype other than torch.qint8 and float16 raises AssertionError.
        """
        from torch.ao.quantization.qconfig import default_dynamic_qconfig

        layer = mod[0] if isinstance(mod, nni._FusedModule) else mod
        config = getattr(mod, "qconfig", None)
        observer = (config if config is not None and config.weight is not None else default_dynamic_qconfig).weight()
        if observer.dtype not in (torch.qint8, torch.float16):
            raise AssertionError(
                f"The only supported dtypes for dynamic quantized linear are qint8 and float16 got: {observer.dtype}"
            )
        observer(layer.weight)
        new = cls(layer.in_features, layer.out_features, dtype=observer.dtype)
        quantized = observer.dtype is torch.qint8
        new.set_weight_bias(
            _layers.quantized_weight(layer.weight, observer) if quantized else layer.weight.detach().float(), layer.bias
        )
        return new


class LinearReLU(Linear):
    """Dynamically quantized Linear followed by ReLU."""

    _relu = True
    _FLOAT_MODULE = nni.LinearReLU
