"""torch.ao.quantization: observers, configurations, stubs. What makes quantized tensors says that it is not supported."""

from abc import ABC, abstractmethod
from collections import namedtuple

import torch
from torch import nn

from .observer import (
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    UniformQuantizationObserverBase,
    _PartialWrapper,  # noqa: F401
    _with_args,
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_weight_observer,
)


class FakeQuantizeBase(ABC, nn.Module):
    """A module that rounds in floating point as integers would; switched on and off by two buffers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.uint8))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.uint8))

    @abstractmethod
    def forward(self, x):
        pass

    @abstractmethod
    def calculate_qparams(self, **kwargs):
        pass

    def enable_fake_quant(self, enabled=True):
        """Round."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self):
        """Do not round."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled=True):
        """Watch."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self):
        """Do not watch."""
        self.enable_observer(False)

    with_args = classmethod(_with_args)


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """What makes the observers of results and of weights."""

    __slots__ = ()

    def __new__(cls, activation, weight):
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to override arguments to constructor"
            )
        return super().__new__(cls, activation, weight)


class QuantStub(nn.Module):
    """Where a model's inputs are to become integers; until it is converted, what passes is watched."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Where results are to become floating point again."""


class QuantWrapper(nn.Module):
    """A module between both stubs."""

    def __init__(self, module):
        super().__init__()
        config = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(config))
        self.add_module("dequant", DeQuantStub(config))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X):
        return self.dequant(self.module(self.quant(X)))


default_qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
default_per_channel_qconfig = QConfig(activation=default_observer, weight=default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(activation=default_dynamic_quant_observer, weight=default_weight_observer)


def _unsupported(name):
    def f(*args, **kwargs):
        raise NotImplementedError(f"torch.ao.quantization.{name}: quantized modules and tensors are not supported (any dtype, any device)")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "Raises: not supported."
    return f


prepare, prepare_qat, convert, quantize, quantize_dynamic, quantize_qat, fuse_modules, fuse_modules_qat = map(
    _unsupported, "prepare prepare_qat convert quantize quantize_dynamic quantize_qat fuse_modules fuse_modules_qat".split()
)

__all__ = [
    "DeQuantStub",
    "FakeQuantizeBase",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "QConfig",
    "QuantStub",
    "QuantWrapper",
    "UniformQuantizationObserverBase",
    "convert",
    "default_dynamic_qconfig",
    "default_dynamic_quant_observer",
    "default_observer",
    "default_per_channel_qconfig",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_qconfig",
    "default_weight_observer",
    "fuse_modules",
    "fuse_modules_qat",
    "prepare",
    "prepare_qat",
    "quantize",
    "quantize_dynamic",
    "quantize_qat",
]
