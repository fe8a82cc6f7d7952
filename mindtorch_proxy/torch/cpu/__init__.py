"""torch.cpu: the device interface of the CPU, which is always available and synchronous."""

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


# {PyTorch's name of an instruction set: its name in /proc/cpuinfo}
_ON_X86 = {name: name for name in """aes amx_bf16 amx_fp16 amx_int8 amx_tile avx avx2 avx512_4fmaps avx512_4vnniw
    avx512_bf16 avx512_bitalg avx512_fp16 avx512_vbmi2 avx512_vnni avx512_vp2intersect avx512_vpopcntdq avx_vnni
    avx_vnni_int8 avx_vnni_int16 avx_ne_convert bmi2 clflush clflushopt clwb f16c fma4 popcnt sse sse2 sse4_1 sse4_2
    sse4a ssse3""".split()}  # fmt: skip
_ON_X86 |= {f"avx512_{name}": f"avx512{name}" for name in "f cd dq bw vl ifma vbmi".split()}
_ON_X86 |= {"bmi": "bmi1", "fma3": "fma", "lzcnt": "abm", "sha": "sha_ni", "sse3": "pni"}
_ON_ARM = {name: name for name in "aes bf16 i8mm pmull sha1 sha2 crc32 atomics sve sve2 sme sme2".split()}
_ON_ARM |= {
    "neon": "asimd",
    "dot": "asimddp",
    "fp16_arith": "asimdhp",
    "fhm": "asimdfhm",
    "rdm": "asimdrdm",
    "sve_bf16": "svebf16",
}


@functools.cache
def get_capabilities():
    """Return the architecture, and for each instruction set, by PyTorch's name, whether the processor has it."""
    try:
        with open("/proc/cpuinfo") as f:
            flags = set(
                next((line.split(":", 1)[1] for line in f if line.startswith(("flags", "Features"))), "").split()
            )
    except OSError:
        flags = set()
    names = _ON_ARM if platform.machine() in ("aarch64", "arm64") else _ON_X86
    return types.MappingProxyType({"architecture": platform.machine()} | {k: v in flags for k, v in names.items()})


def _asks(name, capability):
    def asked():
        return get_capabilities().get(capability, False)

    asked.__name__ = asked.__qualname__ = name
    asked.__doc__ = f"Whether the processor has {capability}."
    return asked


_is_avx2_supported = _asks("_is_avx2_supported", "avx2")
_is_avx512_supported = _asks("_is_avx512_supported", "avx512_f")
_is_avx512_bf16_supported = _asks("_is_avx512_bf16_supported", "avx512_bf16")
_is_vnni_supported = _asks("_is_vnni_supported", "avx512_vnni")
_is_amx_tile_supported = _asks("_is_amx_tile_supported", "amx_tile")
_is_amx_fp16_supported = _asks("_is_amx_fp16_supported", "amx_fp16")


def is_available():
    """Return True."""
    return True


def is_initialized():
    """Return True."""
    return True


def synchronize(device=None):
    """Do nothing: work on the CPU is done when a call returns."""


def device_count():
    """Return 1."""
    return 1


def current_device():
    """Return "cpu"."""
    return "cpu"


def set_device(device):
    """Do nothing: there is only one CPU device."""


class Stream:
    """The CPU's only stream."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Do nothing: work on the CPU is done in order."""
        pass

    def record_event(self):
        """Do nothing: work on the CPU is done in order."""
        pass

    def wait_event(self, event):
        """Do nothing: work on the CPU is done in order."""
        pass


class Event:
    """A point in the CPU's stream; the work before it is always done."""

    def query(self):
        """Return True: work on the CPU is done when a call returns."""
        return True

    def record(self, stream=None):
        """Do nothing: work on the CPU is done when a call returns."""
        pass

    def synchronize(self):
        """Do nothing: work on the CPU is done when a call returns."""
        pass

    def wait(self, stream=None):
        """Do nothing: work on the CPU is done when a call returns."""
        pass


_default_cpu_stream = _current_stream = Stream()


def current_stream(device=None):
    """Return the selected stream."""
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
    """Return a context manager that selects the stream."""
    return StreamContext(stream)
