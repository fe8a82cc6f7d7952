"""Streams and events of torch.npu, based on MindSpore's."""

import atexit
import weakref

import torch

from ._device import devices, number

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]
_alive: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # by id: streams are equal if MindSpore's are


@atexit.register
def _let_go():
    """At the end of the process, let go of MindSpore's streams and events: they must not outlive its runtime."""
    for found in list(_alive.values()):
        found._let_go()


class Stream(torch.Stream):
    """A queue of work on an NPU. priority: 0, or -1 for high priority."""

    __module__ = "torch.npu"

    def __new__(cls, device=None, priority=0, **kwargs):
        devices()
        return object.__new__(cls)

    def __init__(self, device=None, priority=0, *, _stream=None):
        index = devices().start(number(device))
        self.device, self._stream = (
            torch.device("npu", index),
            devices().call("Stream", priority=priority) if _stream is None else _stream,
        )
        self._entered = []
        _alive[id(self)] = self

    def _let_go(self):
        self._stream = None

    @property
    def stream_id(self):
        return self._stream.id

    @property
    def device_index(self):
        return self.device.index

    device_type = 20  # PrivateUse1

    @property
    def npu_stream(self):
        """The id of the stream."""
        return self._stream.id

    def query(self):
        """Whether all work in this stream is done."""
        return devices().method(self._stream, "query")

    def synchronize(self):
        """Wait for the work in this stream."""
        devices().method(self._stream, "synchronize")

    def wait_event(self, event):
        """Make later work in this stream wait for an event."""
        devices().method(self._stream, "wait_event", event._event)

    def wait_stream(self, stream):
        """Make later work in this stream wait for the present work in another one."""
        devices().method(self._stream, "wait_stream", stream._stream)

    def record_event(self, event=None):
        """Record an event, by default a new one, in this stream and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        self._entered.append(current_stream())
        set_stream(self)
        return self

    def __exit__(self, *exc):
        set_stream(self._entered.pop())
        return False

    def __eq__(self, other):
        return isinstance(other, Stream) and self.stream_id == other.stream_id

    def __hash__(self):
        return hash(("npu", self.stream_id))

    def __repr__(self):
        return f"<torch_npu.npu.Stream device={self.device} npu_stream={self.stream_id:#x}>"


class Event(torch.Event):
    """A point in a stream; with enable_timing, the time between two events can be measured."""

    __module__ = "torch.npu"

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
        devices()
        return object.__new__(cls)

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise NotImplementedError("torch.npu.Event: events between processes are not supported")
        index = devices().start(None)
        self.device, self._event = (
            torch.device("npu", index),
            devices().call("Event", enable_timing=enable_timing, blocking=blocking),
        )
        self._timing, self._recorded = enable_timing, False
        _alive[id(self)] = self

    def _let_go(self):
        self._event, self._recorded = None, False

    def record(self, stream=None):
        """Record the event in a stream, by default the current one."""
        devices().method(self._event, "record", None if stream is None else stream._stream)
        self._recorded = True

    def wait(self, stream=None):
        """Make later work in a stream, by default the current one, wait for this event."""
        if self._recorded:
            devices().method(self._event, "wait", None if stream is None else stream._stream)

    def query(self):
        """Whether all work before this event is done."""
        return not self._recorded or devices().method(self._event, "query")

    def synchronize(self):
        """Wait for this event."""
        if self._recorded:
            devices().method(self._event, "synchronize")

    def elapsed_time(self, end_event):
        """Return the milliseconds from this event to another.

        ValueError unless both were created with enable_timing and recorded.
        """
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        end_event.synchronize()
        return devices().method(self._event, "elapsed_time", end_event._event)

    def __repr__(self):
        return f"<torch_npu.npu.Event device={self.device}>"


def current_stream(device=None):
    """Return the current stream, in which work runs."""
    devices().check(number(device))
    return Stream(_stream=devices().call("current_stream"))


def default_stream(device=None):
    """Return the default stream, in which work runs if no other is selected."""
    devices().check(number(device))
    return Stream(_stream=devices().call("default_stream"))


def set_stream(stream):
    """Select the current stream; None changes nothing."""
    if stream is not None:
        devices().call("set_cur_stream", stream._stream)


class StreamContext:
    """Select a stream within a block; None selects none."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *exc):
        if self.stream is not None:
            self.stream.__exit__(*exc)
        return False


def stream(stream):
    """Return a context manager that selects a stream."""
    return StreamContext(stream)
