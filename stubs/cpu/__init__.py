"""torch.cpu: the device interface of the CPU, which is always there and always synchronous."""

import contextlib
import functools
import platform
import types

from . import amp

__all__ = [
    "is_available",
    "is_initialized",
    "synchronize",
    "current_device",
    "current_stream",
    "stream",
    "set_device",
    "device_count",
    "Stream",
    "StreamContext",
    "Event",
    "get_capabilities",
]


@functools.cache
def get_capabilities():
    """The instruction sets that the processor has, by PyTorch's names."""
    try:
        with open("/proc/cpuinfo") as f:
            flags = set(next((line.split(":", 1)[1] for line in f if line.startswith(("flags", "Features"))), "").split())
    except OSError:
        flags = set()
    names = {
        "avx512_vnni": "avx512_vnni",
        "avx512_bf16": "avx512_bf16",
        "avx512_fp16": "avx512_fp16",
        "fma3": "fma",
        "sse4_1": "sse4_1",
        "sse4_2": "sse4_2",
        "amx_bf16": "amx_bf16",
        "amx_tile": "amx_tile",
        "amx_int8": "amx_int8",
        "amx_fp16": "amx_fp16",
    }
    names |= {n: n for n in "sse sse2 sse3 ssse3 avx avx2 avx512f avx512bw avx512dq avx512vl aes bmi1 bmi2 f16c popcnt".split()}
    return types.MappingProxyType({"architecture": platform.machine()} | {k: v in flags for k, v in names.items()})


def is_available():
    """Always True."""
    return True


def is_initialized():
    """Always True."""
    return True


def synchronize(device=None):
    """Nothing to wait for."""


def device_count():
    """Always 1."""
    return 1


def current_device():
    """Always "cpu"."""
    return "cpu"


def set_device(device):
    """There is one: nothing to choose."""


class Stream:
    """The CPU's only stream."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing: work on the CPU is done in order."""
        pass

    def record_event(self):
        """Nothing: work on the CPU is done in order."""
        pass

    def wait_event(self, event):
        """Nothing: work on the CPU is done in order."""
        pass


class Event:
    """A point in the CPU's stream, which is past at once."""

    def query(self):
        """True: work on the CPU is done when a call returns."""
        return True

    def record(self, stream=None):
        """Nothing: work on the CPU is done when a call returns."""
        pass

    def synchronize(self):
        """Nothing: work on the CPU is done when a call returns."""
        pass

    def wait(self, stream=None):
        """Nothing: work on the CPU is done when a call returns."""
        pass


_default_cpu_stream = _current_stream = Stream()


def current_stream(device=None):
    """The selected stream."""
    return _current_stream


class StreamContext(contextlib.AbstractContextManager):
    """Select a stream within a block."""

    def __init__(self, stream):
        self.stream, self.prev_stream = stream, _default_cpu_stream

    def __enter__(self):
        global _current_stream
        if self.stream is not None:
            self.prev_stream, _current_stream = _current_stream, self.stream

    def __exit__(self, *exc):
        global _current_stream
        if self.stream is not None:
            _current_stream = self.prev_stream


def stream(stream):
    """A context manager that selects the stream."""
    return StreamContext(stream)
