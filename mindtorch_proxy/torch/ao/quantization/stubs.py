"""Modules that mark where tensors are quantized and dequantized."""

from torch import nn

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(nn.Module):
    """Mark where an input is quantized; until the model is converted, its input is only observed."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Mark where an output is dequantized."""


class QuantWrapper(nn.Module):
    """A module between a QuantStub and a DeQuantStub."""

    def __init__(self, module):
        super().__init__()
        config = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(config))
        self.add_module("dequant", DeQuantStub(config))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X):
        return self.dequant(self.module(self.quant(X)))
