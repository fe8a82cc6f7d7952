"""torch.ao.nn.qat: layers with fake-quantized weights, for quantization aware training."""

from torch import nn

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]


class _Rounded:
    """A floating point layer whose forward fake-quantizes its weight.

    A missing qconfig raises AssertionError.
    """

    def __init__(self, *args, qconfig=None, **kwargs):
        super().__init__(*args, **kwargs)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig, self.weight_fake_quant = qconfig, qconfig.weight()

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Return the same layer with the fake quantization of its qconfig."""
        layer = mod[0] if isinstance(mod, nn.Sequential) else mod
        new = cls(*cls._sizes(layer), qconfig=mod.qconfig)
        new.weight, new.bias = layer.weight, layer.bias
        return new

    def to_float(self):
        """Return the floating point layer."""
        new = self._float(*self._sizes(self))
        new.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            new.bias = nn.Parameter(self.bias.detach())
        return new


class Linear(_Rounded, nn.Linear):
    """Linear with a fake-quantized weight."""

    _float = _FLOAT_MODULE = nn.Linear

    @staticmethod
    def _sizes(layer):
        return layer.in_features, layer.out_features, layer.bias is not None

    def forward(self, input):
        return nn.functional.linear(input, self.weight_fake_quant(self.weight), self.bias)


class _RoundedConv(_Rounded):
    @staticmethod
    def _sizes(layer):
        names = "in_channels out_channels kernel_size stride padding dilation groups"
        return *(getattr(layer, n) for n in names.split()), layer.bias is not None, layer.padding_mode

    def forward(self, input):
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)


class Conv1d(_RoundedConv, nn.Conv1d):
    """Conv1d with a fake-quantized weight."""

    _float = _FLOAT_MODULE = nn.Conv1d


class Conv2d(_RoundedConv, nn.Conv2d):
    """Conv2d with a fake-quantized weight."""

    _float = _FLOAT_MODULE = nn.Conv2d


class Conv3d(_RoundedConv, nn.Conv3d):
    """Conv3d with a fake-quantized weight."""

    _float = _FLOAT_MODULE = nn.Conv3d
