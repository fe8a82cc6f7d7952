"""Fake quantization: modules that round floating point values as quantization would, for training."""

from abc import ABC, abstractmethod

import torch
from torch import nn

from .observer import (
    _SYMMETRIC,
    FixedQParamsObserver,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _as_many,
    _with_args,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)

_PER_CHANNEL = (torch.per_channel_affine, torch.per_channel_symmetric, torch.per_channel_affine_float_qparams)


class FakeQuantizeBase(ABC, nn.Module):
    """Base of the fake quantization modules.

    Fake quantization and observation are switched on and off by buffers.
    """

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
        """Switch fake quantization on, or off with enabled=False."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self):
        """Switch fake quantization off."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled=True):
        """Switch the observer on, or off with enabled=False."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self):
        """Switch the observer off."""
        self.enable_observer(False)

    with_args = classmethod(_with_args)


class FakeQuantize(FakeQuantizeBase):
    """Fake-quantize with the scale and zero point of an observer.

    A quant_min above quant_max, or a range that does not fit the dtype, raises AssertionError.
    """

    def __init__(
        self, observer=MovingAverageMinMaxObserver, quant_min=None, quant_max=None, is_dynamic=False, **observer_kwargs
    ):
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            info = torch.iinfo(
                observer.p.keywords.get("dtype", torch.quint8)
                if hasattr(observer, "p")
                else observer_kwargs.get("dtype", torch.quint8)
            )
            if info.min > quant_min:
                raise AssertionError("quant_min out of bound")
            if quant_max > info.max:
                raise AssertionError("quant_max out of bound")
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        self.activation_post_process = watched = observer(**observer_kwargs, is_dynamic=is_dynamic)
        self.quant_min, self.quant_max, self.is_dynamic = watched.quant_min, watched.quant_max, watched.is_dynamic
        self.dtype, self.qscheme, self.ch_axis = watched.dtype, watched.qscheme, getattr(watched, "ch_axis", -1)
        self.is_per_channel = self.qscheme in _PER_CHANNEL
        self.register_buffer("scale", torch.tensor([1.0]))
        self.register_buffer(
            "zero_point",
            torch.tensor(
                [0], dtype=torch.float if self.qscheme is torch.per_channel_affine_float_qparams else torch.int
            ),
        )

    def calculate_qparams(self):
        """Return (scale, zero point) of the observer."""
        return self.activation_post_process.calculate_qparams()

    def _observe(self, X):
        self.activation_post_process(X.detach())
        return self.calculate_qparams()

    def forward(self, X):
        if self.observer_enabled[0] == 1:
            for kept, new in zip((self.scale, self.zero_point), self._observe(X), strict=True):
                kept.resize_(new.shape).copy_(new)
        if self.fake_quant_enabled[0] != 1:
            return X
        low, high = self.activation_post_process.quant_min, self.activation_post_process.quant_max
        if self.is_per_channel:
            return torch.fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, low, high)
        return torch.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, low, high)

    def extra_repr(self):
        watched = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={watched.quant_min}, quant_max={watched.quant_max}, dtype={self.dtype}, "
            f"qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict, prefix, *args):
        _as_many(self, state_dict, prefix, ("scale", "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, *args)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Fake-quantize with a fixed scale and zero point; the observer must be a FixedQParamsObserver."""

    def __init__(self, observer):
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(f"{self.__class__.__name__}'s observer must be a {FixedQParamsObserver.__name__}")
        self._observer_ctr = observer
        self.scale, self.zero_point = self.activation_post_process.scale, self.activation_post_process.zero_point

    def calculate_qparams(self):
        """Return the fixed (scale, zero point)."""
        return self.scale, self.zero_point

    def extra_repr(self):
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, "
            f"quant_min={self.activation_post_process.quant_min}, quant_max={self.activation_post_process.quant_max}, "
            f"qscheme={self.qscheme}"
        )


def _choose(low, high, quant_min, quant_max, symmetric):
    """Return (scale, zero point) as PyTorch's fused kernels choose them.

    They are computed in double precision, with the zero point from the bound that has the smaller rounding error.
    """
    low, high = torch.clamp(low, max=0).double(), torch.clamp(high, min=0).double()
    both = (low < 0) & (high > 0) & symmetric
    half = (quant_max - quant_min) // 2
    widest = torch.maximum((low / -(half + 1)).abs(), (high / half).abs())
    low, high = torch.where(both, -(half + 1) * widest, low), torch.where(both, half * widest, high)
    scale = (high - low) / (quant_max - quant_min)
    scale = torch.where((scale.float() == 0) | (1 / scale).isinf(), torch.full_like(scale, 0.1), scale)
    from_low, from_high = quant_min - low / scale, quant_max - high / scale
    nearer = abs(quant_min) + (low / scale).abs() < abs(quant_max) + (high / scale).abs()
    zero = torch.where(
        both, torch.full_like(scale, (quant_min + quant_max) / 2), torch.where(nearer, from_low, from_high)
    )
    return scale.float().reshape(-1), zero.clamp(quant_min, quant_max).round().int().reshape(-1)


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """FakeQuantize with moving averages, and the scale and zero point of PyTorch's fused kernel."""

    def __init__(self, observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **observer_kwargs):
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        if not isinstance(
            self.activation_post_process, (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        ):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver")
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.long))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.long))
        self.is_symmetric_quant = self.qscheme in _SYMMETRIC

    def _observe(self, X):
        watched = self.activation_post_process
        watched(X.detach())
        return _choose(watched.min_val, watched.max_val, watched.quant_min, watched.quant_max, self.is_symmetric_quant)

    def forward(self, X):
        found = super().forward(X)
        return X.view_as(X) if found is X else found

    def extra_repr(self):
        watched = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, quant_min={watched.quant_min}, "
            f"quant_max={watched.quant_max}, qscheme={self.qscheme}, reduce_range={watched.reduce_range}"
        )


_activation = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255, "dtype": torch.quint8}
_weight = {
    "observer": MovingAverageMinMaxObserver,
    "quant_min": -128,
    "quant_max": 127,
    "dtype": torch.qint8,
    "qscheme": torch.per_tensor_symmetric,
}
_channels = {**_weight, "observer": MovingAveragePerChannelMinMaxObserver, "qscheme": torch.per_channel_symmetric}
default_fake_quant = FakeQuantize.with_args(**_activation, qscheme=torch.per_tensor_affine, reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(**_weight, reduce_range=False)
default_dynamic_fake_quant = FakeQuantize.with_args(**_activation, is_dynamic=True, averaging_constant=1)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(**_channels, reduce_range=False, ch_axis=0)
default_histogram_fake_quant = FakeQuantize.with_args(
    **{**_activation, "observer": HistogramObserver}, qscheme=torch.per_tensor_affine, reduce_range=True
)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_activation)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_weight)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_channels)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)


def _switch(name):
    def f(mod):
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{name}() of a module that has it: for ``model.apply``."
    return f


enable_fake_quant, disable_fake_quant, enable_observer, disable_observer = map(
    _switch, ("enable_fake_quant", "disable_fake_quant", "enable_observer", "disable_observer")
)
