"""Kernels of an accelerator run while the host goes on: the decision, what waits for them, and errors that come late.

On a machine with an accelerator MindSpore starts kernels from a thread of its own and returns at once, unless
ASCEND_LAUNCH_BLOCKING=1. It decides once in a process, before the first kernel, for all its devices. Kernels of the CPU
have their memory read and written by NumPy, so each of them is waited for.
"""

import os
import re

from .backend import AcceleratorError, OutOfMemoryError

LATER = (
    ". Kernels are launched without waiting for them, so an earlier operator may be the cause, and what has been "
    "computed since cannot be relied on; with ASCEND_LAUNCH_BLOCKING=1 the error is raised where it belongs"
)
ENDED = ". This process cannot use the device any more and must end"
# the last is what a later operator says of a tensor whose allocation failed; MindSpore 2.10 may raise it in place of
# the allocation's own error
NO_MEMORY = re.compile("llocate memory failed|out of device memory|EL0004|207001|device memory is null")
LOST = re.compile(r"device is lost|\b507\d{3}\b")  # CANN's numbers of errors that end the device's context
_waits = True


def decide(ms):
    """Choose, before the first kernel of the process, whether launches wait: a machine without accelerator waits."""
    global _waits
    _waits = ms.get_context("device_target") == "CPU" or os.environ.get("ASCEND_LAUNCH_BLOCKING", "0") not in ("", "0")
    if _waits:
        ms.runtime.launch_blocking()


def wait():
    """Whether each launch waits for its kernel; true before MindSpore is loaded."""
    return _waits


def error_of(e, operator="", where="", hint=""):
    """Return PyTorch's error for one that MindSpore raised for a device, at a call of an operator or anywhere else.

    hint: what is known of the operator on this device, which follows MindSpore's text.
    Where launches do not wait, the operator need not be the cause, and the text says so.
    """
    if isinstance(e, AcceleratorError | OutOfMemoryError):  # this function's, from a primitive inside the operator
        e = e.__cause__ or e
    text = next((line for line in str(e).splitlines() if line.strip()), "")
    kind = OutOfMemoryError if NO_MEMORY.search(text) else AcceleratorError
    if wait():
        text = f"{operator} failed {where}: {text}" if operator else text
    else:
        text += (f" (seen at {operator} {where})" if operator else "") + LATER
    return kind(text + hint + (ENDED if LOST.search(text) else ""))


def reporting(call):
    """Return a function that calls `call` and raises MindSpore's errors of a device as PyTorch's."""

    def run(*args, **kwargs):
        try:
            return call(*args, **kwargs)
        except RuntimeError as e:
            raise error_of(e) from e

    return run


def waiting(call):
    """Return a function that calls a kernel and waits until the tensors that it returns are launched.

    A kernel of the CPU has then written them.
    """

    def run(*args):
        result = call(*args)
        for t in result if result.__class__ in (tuple, list) else (result,):
            if hasattr(t, "_data_ptr"):  # MindSpore's
                t._data_ptr()
        return result

    return run
