"""The NPUs of this machine: whether one is usable, which one this process drives.

Never found out by trying an operator, which poisons its neighbours.
"""

import functools
import os
import types

from ...runtime import device, pyboost

EMULATED = os.environ.get("MINDTORCH_NPU", "").lower() == "emulated"  # for tests: MindSpore's own probe alone decides
_state: dict = {"index": None, "process": None}


@functools.cache
def count():
    """How many NPUs are usable; where there is no device node, MindSpore is not loaded to ask."""
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
    """The NPU that this process drives, or will."""
    return _state["index"] or 0


def started():
    """Whether this process has taken its NPU."""
    return _state["process"] is not None


def check(number):
    """The NPU that is meant, or the error that PyTorch users know."""
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
    """Choose the NPU of this process; afterwards it is the only one."""
    _state["index"] = check(number)


def start(number):
    """Take the NPU, if that has not been done."""
    number = check(number)
    if not started():
        if number:
            pyboost.set_device_id(number)
        _state["index"], _state["process"] = number, os.getpid()
        os.register_at_fork(after_in_child=device.forget)  # a child asks anew, and is told
    return number


@functools.cache
def chip():
    """The name of the chip, as CANN gives it."""
    return pyboost.mindspore().hal.get_device_name(index(), "Ascend") + (" (emulated)" if EMULATED else "")


def synchronize():
    """Wait for everything that was launched; errors of kernels come here at the latest."""
    call("synchronize")


def hal():
    """MindSpore's description of devices."""
    return pyboost.mindspore().hal


def call(name, *args, **kwargs):
    """A function of MindSpore's runtime module (memory, streams, events) on the NPU, which is taken if it was not
    yet.
    """
    start(None)
    with pyboost.on("Ascend") as ms:
        return getattr(ms.runtime, name)(*args, **kwargs)


def method(thing, name, *args):
    """A method of a stream or an event."""
    with pyboost.on("Ascend"):
        return getattr(thing, name)(*args)


def forked():
    """Whether this process inherited an NPU that it cannot use."""
    return started() and _state["process"] != os.getpid()


def properties(number):
    """Name and memory of an NPU."""
    found = hal().get_device_properties(number, "Ascend")
    text = str(found)
    total = int(text.partition("total_memory=")[2].partition("MB")[0]) << 20
    return types.SimpleNamespace(name=chip(), total_memory=total, major=None, minor=None, multi_processor_count=None)


def has_bfloat16():
    """Ascend 910B and later have bfloat16; 910, 910A, 310 and 310P have not."""
    return chip().startswith(("Ascend910B", "Ascend910_93", "Ascend910C", "Ascend950")) and not chip().startswith(
        "Ascend910B "
    )
