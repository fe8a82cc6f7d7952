"""Reports of which operators ran on which kind of kernel, how often and for how long."""

import threading
import time
from contextlib import contextmanager

from . import pyboost
from .backend import CHOICE, registered
from .call.dispatch import intercept
from .compiled import FOUND
from .samplers import COMPILED


def report():
    """Return the report of this process as a dict.

    Its keys: "device"; "choice", the value of MINDTORCH_KERNELS; "kernels", a list of {op, device, dtype, kind,
    primitive, calls, why, where, role}; "moves", the counts of copies and casts; "share", the part of the compute calls
    on MindSpore's primitives; "times", {operator: seconds} of what ran inside timed(); "compiled", the modules that run
    as compiled code: depthwise (backends/cpu/depthwise.c), halves (runtime/halves.c) and samplers
    (runtime/samplers.py).
    """
    kernels, moves = [], {}
    for device, b in registered():
        for i in b.plans:
            if i.calls:
                kernels.append(
                    {
                        "op": i.op.full,
                        "device": device,
                        "dtype": i.dtype.name,
                        "kind": i.kind,
                        "primitive": i.primitive,
                        "calls": i.calls,
                        "why": i.why,
                        "where": i.where and "{}:{}".format(*i.where),
                        "role": i.role,
                    }
                )
        for k, n in b.moves().items():
            moves[k] = moves.get(k, 0) + n
    return {
        "device": ",".join(sorted({k["device"] for k in kernels})),
        "choice": CHOICE,
        "kernels": sorted(kernels, key=lambda k: -k["calls"]),
        "moves": moves,
        "share": share(kernels),
        "compiled": sorted(FOUND | {"samplers"} if COMPILED else FOUND),
        "times": dict(sorted(_times.items(), key=lambda item: -item[1])),
    }


def share(kernels):
    """Return the part of the compute calls that ran on MindSpore's primitives.

    Composites count by the operators they call. Filling memory with a constant or a range, and drawing random numbers
    (PyTorch's own stream, which no kernel gives), compute nothing from tensors. Like copies and casts they are not
    counted here; their role says so.
    """
    n = {}
    for k in kernels:
        if k["role"] != "compute":
            continue
        n[k["kind"]] = n.get(k["kind"], 0) + k["calls"]
    on, off = n.get("pyboost", 0) + n.get("legacy", 0), n.get("numpy", 0)
    return on / (on + off) if on + off else 1.0


_times: dict = {}  # an operator's full name -> seconds in it, without those of the operators that it calls
_contexts: list = []  # the contexts that time_operators() has entered
_inside = threading.local()  # per thread, the seconds spent in operators that the running one has called


def _timed(name, args, proceed):
    pyboost.mindspore()  # so that its import is not counted as time of an operator
    outer, _inside.seconds = getattr(_inside, "seconds", 0.0), 0.0
    begun = time.perf_counter()
    try:
        return proceed(*args)
    finally:
        took = time.perf_counter() - begun
        full = proceed.op.full
        _times[full] = _times.get(full, 0.0) + took - _inside.seconds
        _inside.seconds = outer + took


@contextmanager
def timed():
    """Measure the time of each operator for report(), in this thread and inside the block.

    The calls do not take the direct path, so the block as a whole takes longer.
    """
    with intercept(_timed):
        yield


def time_operators():
    """Enter timed() for the rest of the process, in this thread."""
    _contexts.append(timed())
    _contexts[-1].__enter__()
