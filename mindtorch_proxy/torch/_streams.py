"""torch.Stream and torch.Event: the CPU has one stream, in which work is done when a call returns, and no events."""

import torch

_NO_EVENTS = "cpu backend doesn't support events."


def _device(device):
    device = torch.device("cpu" if device is None else device)
    if device.type == "npu":
        raise NotImplementedError(f"streams and events of device {device} are not supported")
    if device.type not in ("cpu", "meta"):
        raise RuntimeError(f"PyTorch is not linked with support for {device.type} devices")
    return device


class Stream:
    """A queue of work on a device; as a context manager, it is the current stream."""

    __module__ = "torch"
    stream_id, device_index, device_type = 0, -1, 0

    def __init__(self, device=None, *, priority=0):
        self.device = _device(device)

    def query(self):
        """Whether all work of the stream is done; always True."""
        return True

    def synchronize(self):
        """Wait for the work in this stream; it is always done."""

    def wait_event(self, event):
        """Make later work wait for an event; there is nothing to wait for."""

    def wait_stream(self, stream):
        """Make later work wait for the present work of another stream; raises RuntimeError, as in PyTorch."""
        raise RuntimeError(_NO_EVENTS)

    def record_event(self, event=None):
        """Record an event in the stream; raises RuntimeError, as in PyTorch."""
        raise RuntimeError(_NO_EVENTS)

    def is_capturing(self):
        """Whether the stream captures a graph; always False."""
        return False

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def __eq__(self, other):
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self):
        return hash((Stream, self.device))

    def __repr__(self):
        return (
            f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"
        )


class Event:
    """A point in a stream."""

    __module__ = "torch"
    event_id = 0

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        self.device, self._timing = _device(device), enable_timing

    def record(self, stream=None):
        """Record the event in a stream, by default the current one; raises RuntimeError, as in PyTorch."""
        raise RuntimeError(_NO_EVENTS)

    def query(self):
        """Whether the work before the event is done; always True."""
        return True

    def synchronize(self):
        """Wait for the event; it is never recorded, so there is nothing to wait for."""

    def wait(self, stream=None):
        """Make a stream wait for this event; it is never recorded, so there is nothing to wait for."""

    def elapsed_time(self, end_event):
        """Return the milliseconds between this event and a later one; raises ValueError, as in PyTorch."""
        raise ValueError(
            "Both events must be recorded before calculating elapsed time."
            if self._timing and end_event._timing
            else "Both events must be created with argument 'enable_timing=True'."
        )

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id={self.event_id}"
