"""torch.monitor: logs events and statistics of a program, which handlers receive."""

import datetime
import enum
import math
import threading
import time

STAT_EVENT = "torch.monitor.Stat"
data_value_t = str | float | int | bool


class Aggregation(enum.Enum):
    """What a Stat computes from the values of a window."""

    VALUE = 1
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6

    def __repr__(self):
        return f"<Aggregation.{self.name}: {self.value}>"

    __str__ = lambda self: f"Aggregation.{self.name}"


VALUE, MEAN, COUNT, SUM, MAX, MIN = Aggregation
_COMPUTE = {
    VALUE: lambda values: values[-1] if values else 0.0,
    MEAN: lambda values: math.fsum(values) / len(values) if values else 0.0,
    COUNT: lambda values: float(len(values)),
    SUM: lambda values: math.fsum(values),
    MAX: lambda values: max(values, default=0.0),
    MIN: lambda values: min(values, default=0.0),
}


class Event:
    """An event: a name, a time and a dict of plain values."""

    def __init__(self, name, timestamp, data):
        if not isinstance(name, str) or not isinstance(timestamp, datetime.datetime) or not isinstance(data, dict):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n    1. "
                "torch._C._monitor.Event("
                "name: str, timestamp: datetime.datetime, data: collections.abc.Mapping[str, data_value_t])"
            )
        self.name, self.timestamp, self.data = name, timestamp, data


class EventHandlerHandle:
    """The handle of a registered handler, for unregister_event_handler."""

    def __init__(self, handler):
        self._handler = handler


_handlers, _lock = [], threading.Lock()


def register_event_handler(callback):
    """Register a function to be called with every logged event; return a handle."""
    handle = EventHandlerHandle(callback)
    with _lock:
        _handlers.append(handle)
    return handle


def unregister_event_handler(handler):
    """Stop calling the handler with this handle."""
    with _lock:
        if handler in _handlers:
            _handlers.remove(handler)


def log_event(event):
    """Pass an event to all handlers, in this thread."""
    for handle in tuple(_handlers):
        handle._handler(event)


class Stat:
    """Aggregates of values over windows of time.

    Each full window is logged as an event named ``torch.monitor.Stat``.
    """

    def __init__(self, name, aggregations, window_size, max_samples=2**63 - 1):
        self._name, self._aggregations, self._samples = name, tuple(dict.fromkeys(aggregations)), max_samples
        self._seconds = window_size.total_seconds()
        self._window, self._values, self._last, self._lock = (
            self._now(),
            [],
            {a: 0.0 for a in self._aggregations},
            threading.Lock(),
        )
        self._closed = False  # max_samples was reached: further values of this window are ignored

    def _now(self):
        return int(time.time() / self._seconds) if self._seconds else 0

    @property
    def name(self):
        """The name of the statistic."""
        return self._name

    @property
    def count(self):
        """The number of values in the current window."""
        with self._lock:
            self._log_past()
            return len(self._values)

    def add(self, v):
        """Add a value."""
        with self._lock:
            self._log_past()
            if self._closed:
                return
            self._values.append(float(v))
            if len(self._values) >= self._samples:
                self._log()
                self._closed = True

    def get(self):
        """Return the aggregates of the last logged window; empty without aggregations."""
        with self._lock:
            self._log_past()
            return dict(self._last)

    def _log_past(self):
        window = self._now()
        if window != self._window:
            if self._values:
                self._log()
            self._window, self._closed = window, False

    def _log(self):
        self._last = {a: _COMPUTE[a](self._values) for a in self._aggregations}
        self._values = []
        log_event(
            Event(
                STAT_EVENT,
                datetime.datetime.now(),
                {f"{self._name}.{a.name.lower()}": v for a, v in self._last.items()},
            )
        )


class TensorboardEventHandler:
    """A handler that writes logged statistics as scalars with a TensorBoard SummaryWriter."""

    def __init__(self, writer):
        self._writer = writer

    def __call__(self, event):
        if event.name == STAT_EVENT:
            for k, v in event.data.items():
                self._writer.add_scalar(k, v, walltime=event.timestamp.timestamp())
