"""What ran on which kind of kernel, and how often."""

import atexit
import json
import os

from .backend import registered


def report():
    """{"device", "kernels": [{op, device, dtype, kind, primitive, calls, why}], "moves": {...}, "share": part of compute calls on primitives}."""
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
                        "role": i.role,
                    }
                )
        for k, n in b.moves().items():
            moves[k] = moves.get(k, 0) + n
    return {
        "device": ",".join(sorted({k["device"] for k in kernels})),
        "kernels": sorted(kernels, key=lambda k: -k["calls"]),
        "moves": moves,
        "share": share(kernels),
    }


def share(kernels):
    """The part of the compute calls that ran on MindSpore's primitives.

    Composites count by the operators they call. Filling memory with a constant or a range and drawing random numbers (PyTorch's own stream,
    which no kernel gives) compute nothing from tensors: like copies and casts they stand aside, under their role.
    """
    n = {}
    for k in kernels:
        if k["role"] != "compute":
            continue
        n[k["kind"]] = n.get(k["kind"], 0) + k["calls"]
    on, off = n.get("pyboost", 0) + n.get("legacy", 0), n.get("numpy", 0)
    return on / (on + off) if on + off else 1.0


def write_at_exit(path):
    def write():
        with open(path.replace("%p", str(os.getpid())), "w") as f:
            json.dump(report(), f)

    atexit.register(write)


if os.environ.get("MINDTORCH_REPORT"):
    write_at_exit(os.environ["MINDTORCH_REPORT"])
