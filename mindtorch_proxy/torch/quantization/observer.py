"""torch.quantization.observer: the older name of torch.ao.quantization.observer."""

from torch.ao.quantization.observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    NoopObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    RecordingObserver,
    _PartialWrapper,
    _with_args,
    _with_callable_args,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_histogram_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_weight_observer,
)  # noqa: F401
