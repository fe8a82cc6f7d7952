"""QConfig and its defaults: which observers a module's outputs and weights get."""

from collections import namedtuple

import torch
from torch import nn

from .fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_dynamic_fake_quant,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
)
from .observer import (
    HistogramObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PlaceholderObserver,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """The constructors of the observers for outputs (activation) and weights.

    An observer instance instead of a class raises ValueError.
    """

    __slots__ = ()

    def __new__(cls, activation, weight):
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) "
                "to override arguments to constructor"
            )
        return super().__new__(cls, activation, weight)


_float16 = PlaceholderObserver.with_args(dtype=torch.float16)
default_qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
default_debug_qconfig = QConfig(weight=default_weight_observer, activation=default_debug_observer)
default_per_channel_qconfig = QConfig(activation=default_observer, weight=default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(activation=default_dynamic_quant_observer, weight=default_weight_observer)
float16_dynamic_qconfig = QConfig(activation=_float16.with_args(is_dynamic=True), weight=_float16)
float16_static_qconfig = QConfig(activation=_float16, weight=_float16)
per_channel_dynamic_qconfig = QConfig(
    activation=default_dynamic_quant_observer, weight=default_per_channel_weight_observer
)
default_qat_qconfig = QConfig(activation=default_fake_quant, weight=default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(activation=default_dynamic_fake_quant, weight=default_weight_fake_quant)
default_weight_only_qconfig = QConfig(activation=nn.Identity, weight=default_weight_fake_quant)
default_activation_only_qconfig = QConfig(activation=default_fake_quant, weight=nn.Identity)
default_qat_qconfig_v2 = QConfig(activation=default_fused_act_fake_quant, weight=default_fused_wt_fake_quant)
_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


def _checked(backend, version, versions, function):
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {_BACKENDS}")
    if version not in versions:
        raise AssertionError(
            f"Version number: {version} in {function} is not supported. Version number must be "
            f"{' or '.join(map(str, versions))}"
        )
    return backend in ("fbgemm", "x86")  # they accumulate in 16 bits, so outputs use one bit less


def get_default_qconfig(backend="x86", version=0):
    """Return the default QConfig of a backend for post-training quantization.

    An unknown backend or version raises AssertionError.
    """
    reduce_range = _checked(backend, version, (0,), "get_default_qconfig")
    weight = default_weight_observer if backend == "qnnpack" else default_per_channel_weight_observer
    return QConfig(activation=HistogramObserver.with_args(reduce_range=reduce_range), weight=weight)


def get_default_qat_qconfig(backend="x86", version=1):
    """Return the default QConfig of a backend for quantization aware training.

    An unknown backend or version raises AssertionError.
    """
    narrow = _checked(backend, version, (0, 1), "get_default_qat_qconfig")
    options = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255}
    if backend != "onednn":
        options["reduce_range"] = narrow
    if version:
        kind, one, channels = (
            FusedMovingAvgObsFakeQuantize,
            default_fused_wt_fake_quant,
            default_fused_per_channel_wt_fake_quant,
        )
    else:
        kind, one, channels = FakeQuantize, default_weight_fake_quant, default_per_channel_weight_fake_quant
    return QConfig(activation=kind.with_args(**options), weight=one if backend == "qnnpack" else channels)


def activation_is_memoryless(qconfig):
    """Whether the activation observer keeps no history, so that a module's input is observed instead."""
    watched = qconfig.activation()
    watched = getattr(watched, "activation_post_process", watched)
    return getattr(watched, "averaging_constant", None) == 1 and not isinstance(watched, NoopObserver)
