"""torch.npu: Ascend NPUs through MindSpore's runtime. Without an NPU, queries return False or 0, and uses raise."""

import torch
from mindtorch_proxy.runtime.generator import default_of as _default_of

from . import amp, memory, random, streams
from ._config import config, conv, is_jit_compile_false, matmul, set_compile_mode
from ._device import available, devices, number
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "config",
    "conv",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_autocast_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_autocast_enabled",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_jit_compile_false",
    "manual_seed",
    "manual_seed_all",
    "matmul",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "random",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_compile_mode",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "streams",
    "synchronize",
]


def __getattr__(name):
    if name == "default_generators":  # one NPU in a process, and one generator
        return (_default_of(torch.device("npu")),) * available()
    if name in torch._LEGACY_TENSORS:
        found = globals()[name] = torch._legacy_tensor(name, "npu")
        return found
    raise AttributeError(f"module 'torch.npu' has no attribute '{name}'")


def is_available():
    """Whether an NPU can be used. If there is no device node, this does not load anything."""
    return available() > 0


def device_count():
    """Return the number of usable NPUs."""
    return available()


def _is_compiled():
    return available() > 0


def _is_in_bad_fork():
    return available() > 0 and devices().forked()


def is_initialized():
    """Whether this process has initialized its NPU."""
    return available() > 0 and devices().started()


def init():
    """Initialize the NPU of this process."""
    devices().start(None)


_lazy_init = init


def current_device():
    """Return the index of the NPU that this process uses."""
    return devices().check(None)


def set_device(device):
    """Select the NPU of this process, before the first tensor is created on one.

    MindSpore uses one NPU per process; selecting another one afterwards raises NotImplementedError.
    """
    index = number(device)
    if index is not None:
        devices().select(index)


class device:
    """Select an NPU within a block; None and negative indices select none."""

    def __init__(self, device):
        self.idx, self.prev_idx = number(device), -1

    def __enter__(self):
        if self.idx is not None:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *exc):
        return False


class device_of(device):
    """Select the NPU of a tensor or storage within a block."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if getattr(obj, "is_npu", False) else -1)


def synchronize(device=None):
    """Wait for all work on the NPU; errors of kernels are raised here at the latest."""
    devices().check(number(device))
    devices().synchronize()


def get_device_name(device=None):
    """Return the name of the chip, followed by "(emulated)" on an emulated CANN."""
    devices().check(number(device))
    return devices().chip()


def get_device_capability(device=None):
    """Return None: NPUs have no compute capability."""
    devices().check(number(device))


def get_device_properties(device=None):
    """Return an object with `name` and `total_memory` in bytes."""
    index = devices().check(number(device))
    return devices().properties(index)


def is_autocast_enabled():
    """Whether autocast is on for the NPU."""
    return torch.is_autocast_enabled("npu")


def set_autocast_enabled(enabled):
    """Switch autocast on or off for the NPU."""
    torch.set_autocast_enabled("npu", enabled)


def get_autocast_dtype():
    """Return the dtype that autocast casts to on the NPU."""
    return torch.get_autocast_dtype("npu")


def set_autocast_dtype(dtype):
    """Set the dtype that autocast casts to on the NPU."""
    torch.set_autocast_dtype("npu", dtype)


def get_amp_supported_dtype():
    """Return the dtypes that autocast supports."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation=True):
    """Whether the chip supports bfloat16, which Ascend 910B and later do."""
    return available() > 0 and devices().has_bfloat16()
