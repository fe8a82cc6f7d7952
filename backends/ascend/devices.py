"""The NPUs of this machine: whether any is usable, and which one this process uses.

Must not launch a kernel to find out: a failing one breaks later operators.
"""

import ctypes
import functools
import os
import re
import types

from ...runtime import device, launches, pyboost

# for tests: count() skips the check of device nodes
EMULATED = os.environ.get("MINDTORCH_NPU", "").lower() == "emulated"
_state: dict = {"index": None, "process": None}


@functools.cache
def count():
    """Return the number of usable NPUs; without a device node this does not load MindSpore."""
    if not EMULATED and not _device_nodes():
        return 0
    hal = pyboost.mindspore().hal
    return hal.device_count("Ascend") if hal.is_available("Ascend") else 0


def _device_nodes():
    try:
        return [n for n in os.listdir("/dev") if n.startswith("davinci") and n[7:].isdigit()]
    except OSError:
        return []


def index():
    """Return the index of the NPU that this process uses or will use."""
    return _state["index"] or 0


def started():
    """Whether this process has initialized its NPU."""
    return _state["process"] is not None


def check(number):
    """Return the index of the requested NPU, or raise the error that PyTorch users expect."""
    n = count()
    number = index() if number is None else number
    if not n:
        raise RuntimeError("No NPU devices are available: MindSpore finds no Ascend NPU on this machine")
    if not 0 <= number < n:
        raise RuntimeError(f"invalid device ordinal: npu:{number} of {n} NPUs")
    if started() and _state["process"] != os.getpid():
        raise RuntimeError(
            "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, "
            "you must use the 'spawn' start method"
        )
    if started() and number != index():
        raise NotImplementedError(
            f"device npu:{number}: MindSpore drives one NPU in a process, here npu:{index()}; "
            "choose it by torch.npu.set_device() before the first tensor, and start a process for each NPU"
        )
    return number


def select(number):
    """Choose the NPU of this process; after initialization no other can be chosen."""
    _state["index"] = check(number)


def propose(number):
    """Choose an NPU for this process unless one has been chosen or is in use; numbers go round."""
    if _state["index"] is None and not started():
        select(number % count())


def start(number):
    """Initialize the NPU, if that has not been done, and return its index."""
    number = check(number)
    if not started():
        if number:
            pyboost.set_device_id(number)
        _state["index"], _state["process"] = number, os.getpid()
        os.register_at_fork(after_in_child=device.forget)  # so that a child process checks again and gets the error
    return number


@functools.cache
def chip():
    """Return the name of the chip as CANN reports it."""
    return pyboost.mindspore().hal.get_device_name(index(), "Ascend") + (" (emulated)" if EMULATED else "")


def synchronize():
    """Wait for all launched kernels; their errors are raised here at the latest."""
    call("synchronize")
    _raise_what_failed()


@functools.cache
def _runtime():
    """Return CANN's runtime, which MindSpore has loaded."""
    found = ctypes.CDLL("libascendcl.so")
    found.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return found


@launches.reporting
def _raise_what_failed():
    """Raise CANN's error where a kernel of this process has failed; MindSpore's own wait only logs it."""
    if code := _runtime().aclrtSynchronizeDevice():
        text = (_runtime().aclGetRecentErrMsg() or b"no message").decode(errors="replace")
        raise RuntimeError(f"aclrtSynchronizeDevice failed with {code}: {text}")


def hal():
    """Return mindspore.hal, which describes devices."""
    return pyboost.mindspore().hal


@launches.reporting
def call(name, *args, **kwargs):
    """Call a function of mindspore.runtime (memory, streams, events) on the NPU.

    The NPU is initialized first if necessary.
    """
    start(None)
    with pyboost.on("Ascend") as ms:
        return getattr(ms.runtime, name)(*args, **kwargs)


@launches.reporting
def method(thing, name, *args):
    """Call a method of a stream or an event."""
    with pyboost.on("Ascend"):
        return getattr(thing, name)(*args)


def forked():
    """Whether this process was forked from one that had initialized the NPU, which it cannot use."""
    return started() and _state["process"] != os.getpid()


def properties(number):
    """Return the name and memory size of an NPU."""
    found = hal().get_device_properties(number, "Ascend")
    text = str(found)
    total = int(text.partition("total_memory=")[2].partition("MB")[0]) << 20
    return types.SimpleNamespace(name=chip(), total_memory=total, major=None, minor=None, multi_processor_count=None)


def has_bfloat16():
    """Whether the chip has bfloat16: 910B1 to 910B4 and later do; 910 (whose name may be 910B), 310 and 310P do not."""
    return re.match(r"Ascend(910B\d|910_93|910C|950)", chip()) is not None


def saturates():
    """Whether an overflow gives the largest number and not infinity: on 910A, 310P and 310B, without bfloat16 too."""
    return not has_bfloat16()


def allow_hf32_in_convolutions(value):
    """Set whether CANN may compute float32 convolutions in HF32; return False where it has been set before."""
    with pyboost.on("Ascend") as ms:
        try:
            ms.device_context.ascend.op_precision.conv_allow_hf32(value)
        except RuntimeError:  # "can not be set repeatedly"
            return False
    return True
