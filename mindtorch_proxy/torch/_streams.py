"""torch.Stream and torch.Event: the CPU has one stream, whose work is done when a call returns, and no events."""

import torch

_NO_EVENTS = "cpu backend doesn't support events."


def _device(device):
    device = torch.device("cpu" if device is None else device)
    if device.type not in ("cpu", "meta"):
        raise NotImplementedError(f"streams and events of device {device} are not supported")
    return device


class Stream:
    """A queue of work on a device; as a context manager the one that work goes to."""

    __module__ = "torch"
    stream_id, device_index, device_type = 0, -1, 0

    def __init__(self, device=None, *, priority=0):
        self.device = _device(device)

    def query(self):
        """Whether all work of the stream is done."""
        return True

    def synchronize(self):
        """Wait for the work in this stream: it is done."""

    def wait_event(self, event):
        """Let work wait for an event: it is past."""

    def wait_stream(self, stream):
        """Let later work of this stream wait for what another stream has now."""
        raise RuntimeError(_NO_EVENTS)

    def record_event(self, event=None):
        """Mark the stream's present place; returns the event."""
        raise RuntimeError(_NO_EVENTS)

    def is_capturing(self):
        """Whether the stream records a graph: never."""
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
        """Mark the present place of a stream, the current one unless given."""
        raise RuntimeError(_NO_EVENTS)

    def query(self):
        """Whether everything before the mark is done."""
        return True

    def synchronize(self):
        """Wait for what was recorded: nothing can be."""

    def wait(self, stream=None):
        """Let a stream wait for this event: nothing was recorded."""

    def elapsed_time(self, end_event):
        """The milliseconds between this mark and a later one."""
        raise ValueError(
            "Both events must be recorded before calculating elapsed time."
            if self._timing and end_event._timing
            else "Both events must be created with argument 'enable_timing=True'."
        )

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id={self.event_id}"
