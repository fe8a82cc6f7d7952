"""Modules that watch tensors go by and say with which scale and zero point they fit into integers."""

import functools
from abc import ABC, abstractmethod

import torch
from torch import nn

_SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)
_RANGES = {torch.qint8: (-128, 127), torch.int8: (-128, 127), torch.quint8: (0, 255), torch.uint8: (0, 255)}
_RANGES |= {torch.qint32: (-(2**31), 2**31 - 1), torch.int32: (-(2**31), 2**31 - 1)}


class _PartialWrapper:
    """A class with some arguments given: what a QConfig holds."""

    def __init__(self, p):
        self.p = p

    def __call__(self, *args, **kwargs):
        return self.p(*args, **kwargs)

    def __repr__(self):
        return repr(self.p)

    def with_args(self, **kwargs):
        """The same with more arguments."""
        return _PartialWrapper(functools.partial(self.p, **kwargs))


def _with_args(cls_or_self, **kwargs):
    """The class with these arguments."""
    return _PartialWrapper(functools.partial(cls_or_self, **kwargs))


class ObserverBase(ABC, nn.Module):
    """An observer: forward watches, calculate_qparams says scale and zero point."""

    def __init__(self, dtype, is_dynamic=False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abstractmethod
    def forward(self, x):
        pass

    @abstractmethod
    def calculate_qparams(self, **kwargs):
        """The scale and zero point for what was observed."""
        pass

    with_args = classmethod(_with_args)


class UniformQuantizationObserverBase(ObserverBase):
    """An observer for integers at equal distances."""

    def __init__(
        self,
        dtype=torch.quint8,
        qscheme=torch.per_tensor_affine,
        reduce_range=False,
        quant_min=None,
        quant_max=None,
        factory_kwargs=None,
        eps=torch.finfo(torch.float32).eps,
        is_dynamic=False,
        **kwargs,
    ):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", torch.tensor([eps], **(factory_kwargs or {})))
        if dtype not in _RANGES:
            raise AssertionError(f"Default Observer only works for {', '.join(map(str, _RANGES))} data type, got {dtype}")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            self.quant_min, self.quant_max = quant_min, quant_max
        else:
            low, high = _RANGES[dtype]
            self.quant_min, self.quant_max = (low // 2, (high + 1) // 2 - 1) if reduce_range and high < 2**15 else (low, high)

    def _calculate_qparams(self, min_val, max_val):
        """(scale, zero point) for values between two bounds, which are widened to hold 0."""
        if not _seen(min_val, max_val):
            return torch.tensor([1.0], device=min_val.device), torch.tensor([0], device=min_val.device)
        low, high = torch.clamp(min_val, max=0), torch.clamp(max_val, min=0)
        if self.qscheme in _SYMMETRIC:
            scale = torch.max(torch.maximum(-low, high) / (float(self.quant_max - self.quant_min) / 2), self.eps)
            unsigned = self.dtype in (torch.quint8, torch.uint8)
            middle = (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
            zero_point = torch.full_like(scale, middle if unsigned else 0, dtype=torch.int64)
        else:
            scale = torch.max((high - low) / float(self.quant_max - self.quant_min), self.eps)
            zero_point = torch.clamp(self.quant_min - torch.round(low / scale).to(torch.int), self.quant_min, self.quant_max)
        return scale, zero_point


def _seen(min_val, max_val):
    """Whether any value has gone by."""
    if min_val.numel() == 0 or max_val.numel() == 0 or bool((min_val == float("inf")).all()) and bool((max_val == float("-inf")).all()):
        return False
    if bool((min_val > max_val).any()):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


class MinMaxObserver(UniformQuantizationObserverBase):
    """The least and the greatest value of all that go by."""

    def __init__(
        self,
        dtype=torch.quint8,
        qscheme=torch.per_tensor_affine,
        reduce_range=False,
        quant_min=None,
        quant_max=None,
        factory_kwargs=None,
        eps=torch.finfo(torch.float32).eps,
        is_dynamic=False,
        **kwargs,
    ):
        if qscheme not in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            raise NotImplementedError("MinMaxObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine.")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.register_buffer("min_val", torch.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **(factory_kwargs or {})))

    def _merge(self, low, high):
        return torch.min(low, self.min_val), torch.max(high, self.max_val)

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().to(self.min_val.dtype)
        low, high = self._merge(*torch.aminmax(x))
        self.min_val.copy_(low)
        self.max_val.copy_(high)
        return x_orig

    def calculate_qparams(self):
        """(scale, zero point)"""
        return self._calculate_qparams(self.min_val, self.max_val)

    def reset_min_max_vals(self):
        """Forget what has been seen."""
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(float("-inf"))

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Averages of the least and the greatest values, in which the latest count averaging_constant."""

    def __init__(self, averaging_constant=0.01, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=False, **kwargs):
        self.averaging_constant = averaging_constant
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, **kwargs)
        self.averaging_constant = averaging_constant

    def _merge(self, low, high):
        if bool(torch.isinf(self.min_val)) and bool(torch.isinf(self.max_val)):
            return low, high
        c = self.averaging_constant
        return self.min_val + c * (low - self.min_val), self.max_val + c * (high - self.max_val)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """The least and the greatest value of each channel."""

    def __init__(self, ch_axis=0, dtype=torch.quint8, qscheme=torch.per_channel_affine, reduce_range=False, factory_kwargs=None, **kwargs):
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, factory_kwargs=factory_kwargs, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", torch.tensor([], **(factory_kwargs or {})))
        self.register_buffer("max_val", torch.tensor([], **(factory_kwargs or {})))

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().to(self.min_val.dtype).movedim(self.ch_axis, 0).flatten(1)
        low, high = torch.aminmax(x, dim=1)
        if self.min_val.numel():
            low, high = torch.min(low, self.min_val), torch.max(high, self.max_val)
        self.min_val.resize_(low.shape).copy_(low)
        self.max_val.resize_(high.shape).copy_(high)
        return x_orig

    def calculate_qparams(self):
        """(scales, zero points)"""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"


class PlaceholderObserver(ObserverBase):
    """Watches nothing: says a dtype."""

    def __init__(self, dtype=torch.float32, custom_op_name="", compute_dtype=None, quant_min=None, quant_max=None, qscheme=None, eps=None, is_dynamic=False):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps, self.custom_op = quant_min, quant_max, eps, custom_op_name
        if compute_dtype:
            is_dynamic = self.is_dynamic = True

    def forward(self, x):
        return x

    def calculate_qparams(self):
        """Nothing has been seen: an error."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")  # noqa: TRY002


class NoopObserver(ObserverBase):
    """Watches nothing."""

    def __init__(self, dtype=torch.float16, custom_op_name=""):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x):
        return x

    def calculate_qparams(self):
        """Nothing has been seen: an error."""
        raise Exception("calculate_qparams should not be called for NoopObserver")  # noqa: TRY002


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True)
