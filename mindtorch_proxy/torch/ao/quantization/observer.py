"""Observers: modules that record the range of tensors and compute the scale and zero point for it."""

import functools
import warnings
from abc import ABC, abstractmethod

import torch
from torch import nn

_SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)
_RANGES = {torch.qint8: (-128, 127), torch.int8: (-128, 127), torch.quint8: (0, 255), torch.uint8: (0, 255)}
_RANGES |= {torch.qint32: (-(2**31), 2**31 - 1), torch.int32: (-(2**31), 2**31 - 1)}

_SPLIT = 16  # number of parts into which HistogramObserver splits a bin to rebin it
_LEFT_OUT = 1e-5  # fraction of all values that it excludes in one step of its search


class _PartialWrapper:
    """A class with some of its arguments bound, as a QConfig holds it.

    Arguments in callable_args are computed by functions whenever the class is called.
    """

    def __init__(self, p, callables=None):
        self.p, self.callable_args = p, callables or {}

    def __call__(self, *args, **kwargs):
        asked = {name: ask() for name, ask in self.callable_args.items() if name not in kwargs}
        return self.p(*args, **{**asked, **kwargs})

    def __repr__(self):
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs):
        """Return a wrapper with more bound arguments."""
        return _PartialWrapper(functools.partial(self.p, **kwargs), self.callable_args)

    def with_callable_args(self, **kwargs):
        """Return a wrapper with more arguments that functions compute at each call."""
        return _PartialWrapper(self.p, {**self.callable_args, **kwargs})


def _with_args(cls_or_self, **kwargs):
    """Return the class with these arguments bound."""
    return _PartialWrapper(functools.partial(cls_or_self, **kwargs))


def _with_callable_args(cls_or_self, **kwargs):
    """Return the class with arguments that functions compute at each call."""
    return _PartialWrapper(functools.partial(cls_or_self), kwargs)


def _as_many(module, state_dict, prefix, names):
    """Resize a module's buffers to the shapes in the state_dict that is about to be loaded.

    The number of channels is not known before the observer has seen data.
    """
    for name in names:
        if (value := state_dict.get(prefix + name)) is not None:
            getattr(module, name).resize_(value.shape)


class ObserverBase(ABC, nn.Module):
    """Base of the observers: forward records a tensor, calculate_qparams returns scale and zero point."""

    def __init__(self, dtype, is_dynamic=False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abstractmethod
    def forward(self, x):
        pass

    @abstractmethod
    def calculate_qparams(self, **kwargs):
        """Return the scale and zero point for the observed values."""
        pass

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)


class UniformQuantizationObserverBase(ObserverBase):
    """Base of the observers for uniform quantization.

    An unsupported dtype raises AssertionError.
    """

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
            raise AssertionError(
                f"Default Observer only works for {', '.join(map(str, _RANGES))} data type, got {dtype}"
            )
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            self.quant_min, self.quant_max = (
                (quant_min // 2, quant_max // 2) if reduce_range else (quant_min, quant_max)
            )
        else:
            low, high = _RANGES[dtype]
            self.quant_min, self.quant_max = (
                (low // 2, (high + 1) // 2 - 1) if reduce_range and high < 2**15 else (low, high)
            )

    def _calculate_qparams(self, min_val, max_val):
        """Return (scale, zero point) for values between two bounds, which are widened to include 0.

        Without observed values, warn and return the defaults 1.0 and 0.
        """
        if not _seen(min_val, max_val):
            warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=2)
            return torch.tensor([1.0], device=min_val.device), torch.tensor([0], device=min_val.device)
        low, high = torch.clamp(min_val, max=0), torch.clamp(max_val, min=0)
        if self.qscheme in _SYMMETRIC:
            scale = torch.max(torch.maximum(-low, high) / (float(self.quant_max - self.quant_min) / 2), self.eps)
            unsigned = self.dtype in (torch.quint8, torch.uint8)
            middle = (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
            zero_point = torch.full_like(scale, middle if unsigned else 0, dtype=torch.int64)
        else:
            scale = torch.max((high - low) / float(self.quant_max - self.quant_min), self.eps)
            zero_point = torch.clamp(
                self.quant_min - torch.round(low / scale).to(torch.int), self.quant_min, self.quant_max
            )
        return scale, zero_point


def _seen(min_val, max_val):
    """Whether any value has been observed."""
    if (
        min_val.numel() == 0
        or max_val.numel() == 0
        or bool((min_val == float("inf")).all())
        and bool((max_val == float("-inf")).all())
    ):
        return False
    if bool((min_val > max_val).any()):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


class MinMaxObserver(UniformQuantizationObserverBase):
    """Record the minimum and maximum of all observed values."""

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
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine."
            )
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
        """Return (scale, zero point)."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def reset_min_max_vals(self):
        """Discard the recorded minimum and maximum."""
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(float("-inf"))

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Record moving averages of minimum and maximum; the newest tensor has weight averaging_constant."""

    def __init__(
        self, averaging_constant=0.01, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=False, **kwargs
    ):
        self.averaging_constant = averaging_constant
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, **kwargs)
        self.averaging_constant = averaging_constant

    def _merge(self, low, high):
        if bool(torch.isinf(self.min_val)) and bool(torch.isinf(self.max_val)):
            return low, high
        c = self.averaging_constant
        return self.min_val + c * (low - self.min_val), self.max_val + c * (high - self.max_val)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Record the minimum and maximum of each channel."""

    def __init__(
        self,
        ch_axis=0,
        dtype=torch.quint8,
        qscheme=torch.per_channel_affine,
        reduce_range=False,
        factory_kwargs=None,
        **kwargs,
    ):
        if qscheme not in (
            torch.per_channel_affine,
            torch.per_channel_symmetric,
            torch.per_channel_affine_float_qparams,
        ):
            raise NotImplementedError(
                f"{type(self).__name__}'s qscheme only support torch.per_channel_symmetric, torch.per_channel_affine "
                "and torch.per_channel_affine_float_qparams."
            )
        super().__init__(
            dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, factory_kwargs=factory_kwargs, **kwargs
        )
        self.ch_axis = ch_axis
        self.register_buffer("min_val", torch.tensor([], **(factory_kwargs or {})))
        self.register_buffer("max_val", torch.tensor([], **(factory_kwargs or {})))

    def _merge(self, low, high):
        return torch.min(low, self.min_val), torch.max(high, self.max_val)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        _as_many(self, state_dict, prefix, ("min_val", "max_val"))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def reset_min_max_vals(self):
        """Discard the recorded minima and maxima."""
        self.min_val, self.max_val = torch.rand(0), torch.rand(0)

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().to(self.min_val.dtype).movedim(self.ch_axis, 0).flatten(1)
        low, high = torch.aminmax(x, dim=1)
        if self.min_val.numel():
            low, high = self._merge(low, high)
        self.min_val.resize_(low.shape).copy_(low)
        self.max_val.resize_(high.shape).copy_(high)
        return x_orig

    def calculate_qparams(self):
        """Return (scales, zero points)."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Record moving averages of each channel's minimum and maximum.

    The newest tensor has weight averaging_constant. Dynamic quantization raises NotImplementedError.
    """

    def __init__(
        self,
        averaging_constant=0.01,
        ch_axis=0,
        dtype=torch.quint8,
        qscheme=torch.per_channel_affine,
        reduce_range=False,
        **kwargs,
    ):
        if kwargs.get("is_dynamic"):
            raise NotImplementedError("MovingAveragePerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, **kwargs)
        self.averaging_constant = averaging_constant

    def _merge(self, low, high):
        c = self.averaging_constant
        return self.min_val + c * (low - self.min_val), self.max_val + c * (high - self.max_val)


class FixedQParamsObserver(ObserverBase):
    """An observer with a given scale and zero point, which records nothing."""

    def __init__(
        self,
        scale,
        zero_point,
        dtype=torch.quint8,
        qscheme=torch.per_tensor_affine,
        quant_min=0,
        quant_max=255,
        is_dynamic=False,
        **kwargs,
    ):
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))

    def forward(self, X):
        return X

    def calculate_qparams(self):
        """Return the given (scale, zero point)."""
        return self.scale, self.zero_point


class HistogramObserver(UniformQuantizationObserverBase):
    """Record a histogram of all observed values, whose range grows as needed.

    The scale and zero point are searched to minimize the squared error on the histogram. Only per-tensor schemes and
    static quantization are supported; others raise NotImplementedError.
    """

    def __init__(
        self,
        bins=2048,
        dtype=torch.quint8,
        qscheme=torch.per_tensor_affine,
        reduce_range=False,
        factory_kwargs=None,
        is_dynamic=False,
        **kwargs,
    ):
        if qscheme not in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, factory_kwargs=factory_kwargs, **kwargs)
        self.bins, self.dst_nbins, self.upsample_rate = bins, 2 ** torch.iinfo(dtype).bits, _SPLIT
        self.register_buffer("histogram", torch.zeros(bins, **(factory_kwargs or {})))
        self.register_buffer("min_val", torch.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **(factory_kwargs or {})))

    def _is_empty(self):
        return bool(self.min_val == float("inf")) and bool(self.max_val == float("-inf"))

    def _keep(self, histogram, low, high):
        self.histogram.detach_().resize_(histogram.shape).copy_(histogram)
        self.min_val.copy_(low)
        self.max_val.copy_(high)

    def forward(self, x_orig):
        x = x_orig.detach()
        if x.numel() and bool(x.isinf().any()):
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            x = x[~x.isinf()]
        if x.numel() == 0:
            return x_orig
        low, high = torch.aminmax(x)
        if self._is_empty():
            self._keep(torch.histc(x, self.bins, min=low.item(), max=high.item()), low, high)
            return x_orig
        low, high = torch.min(low, self.min_val), torch.max(high, self.max_val)
        new = torch.histc(x, self.bins, min=low.item(), max=high.item())
        self._keep(self._spread(low, high) + new, low, high)
        return x_orig

    def _spread(self, low, high):
        """Return the recorded histogram rebinned to a wider range."""
        if bool(low == self.min_val) and bool(high == self.max_val):
            return self.histogram
        if bool(self.min_val == self.max_val):
            return torch.histc(self.min_val, self.bins, min=low.item(), max=high.item()) * self.histogram.sum()
        parts = self.bins * _SPLIT
        values = self.histogram.repeat_interleave(_SPLIT) / _SPLIT
        middles = torch.linspace(self.min_val.item(), self.max_val.item(), parts + 1)[:-1] + 0.5 * (
            (self.max_val - self.min_val) / parts
        )
        bounds = torch.linspace(low.item(), high.item(), self.bins + 1)
        place = (torch.bucketize(middles, bounds, right=True) - 1).clamp(0, self.bins - 1)
        return torch.bincount(place, weights=values, minlength=self.bins)

    def _error(self, first, last):
        """Return the squared quantization error for a range that consists of the bins from first to last.

        Values outside the range are rounded to its nearest bound.
        """
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        step = width * (last - first + 1) / self.dst_nbins
        if step == 0.0:
            return 0.0
        begin = (torch.arange(self.bins) - first) * width
        end = begin + width
        lower, upper = (
            torch.clamp(torch.div(edge, step, rounding_mode="floor"), 0, self.dst_nbins - 1) for edge in (begin, end)
        )
        density = self.histogram / width

        def norm(a, b):
            return density * ((b * b * b - a * a * a) / 3)

        half = torch.tensor(step / 2)
        whole = norm(begin - (lower + 0.5) * step, half) + (upper - lower - 1) * norm(-half, half)
        return (whole + norm(-half, end - (upper * step + step / 2))).sum().item()

    def _non_linear_param_search(self):
        """Search the best bounds.

        In each step, values are excluded on the side where this removes more bins, for as long as the error decreases.
        """
        counts = torch.cumsum(self.histogram, dim=0).tolist()
        total, width = self.histogram.sum().item(), (self.max_val - self.min_val) / self.bins
        alpha, beta, first, last, least = 0.0, 1.0, 0, self.bins - 1, float("inf")
        while alpha < beta:
            left, right = first, last
            while left < last and counts[left] < (alpha + _LEFT_OUT) * total:
                left += 1
            while right > first and counts[right] > (beta - _LEFT_OUT) * total:
                right -= 1
            if left - first > last - right:
                new, alpha = (left, last), alpha + _LEFT_OUT
            else:
                new, beta = (first, right), beta - _LEFT_OUT
            if new == (first, last):
                continue
            error = self._error(*new)
            if error > least:
                break
            least, (first, last) = error, new
        return self.min_val + width * first, self.min_val + width * (last + 1)

    def calculate_qparams(self):
        """Return (scale, zero point); without observed values, warn and return the defaults 1.0 and 0."""
        if self._is_empty():
            warnings.warn(
                "must run observer before calling calculate_qparams. Returning default scale and zero point",
                stacklevel=2,
            )
            return torch.tensor([1.0], device=self.min_val.device), torch.tensor([0], device=self.min_val.device)
        return self._calculate_qparams(*self._non_linear_param_search())

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"


class PlaceholderObserver(ObserverBase):
    """An observer that records nothing and only specifies a dtype."""

    def __init__(
        self,
        dtype=torch.float32,
        custom_op_name="",
        compute_dtype=None,
        quant_min=None,
        quant_max=None,
        qscheme=None,
        eps=None,
        is_dynamic=False,
    ):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps, self.custom_op = quant_min, quant_max, eps, custom_op_name
        if compute_dtype:
            is_dynamic = self.is_dynamic = True

    def forward(self, x):
        return x

    def calculate_qparams(self):
        """Raise an Exception, because nothing is recorded."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")  # noqa: TRY002


class NoopObserver(ObserverBase):
    """An observer that records nothing."""

    def __init__(self, dtype=torch.float16, custom_op_name=""):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x):
        return x

    def calculate_qparams(self):
        """Raise an Exception, because nothing is recorded."""
        raise Exception("calculate_qparams should not be called for NoopObserver")  # noqa: TRY002


class RecordingObserver(ObserverBase):
    """Record a copy of each observed tensor."""

    def __init__(self, dtype=torch.quint8):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val = []

    def forward(self, x):
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self):
        """Raise an Exception, because no range is recorded."""
        raise Exception("calculate_qparams should not be called for RecordingObserver")  # noqa: TRY002

    def get_tensor_value(self):
        """Return the recorded copies."""
        return self.tensor_val


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = default_weight_observer.with_args(quant_min=-127, quant_max=127, eps=2**-12)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric
)
per_channel_weight_observer_range_neg_127_to_127 = default_per_channel_weight_observer.with_args(
    quant_min=-127, quant_max=127, eps=2**-12
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255
)
