"""torch.distributed.breakpoint: start a debugger on one rank while the other ranks wait."""

import pdb
import sys
import traceback

from .distributed_c10d import barrier, get_rank

_passed: dict = {}  # call site -> number of times it was reached


class _ForkedPdb(pdb.Pdb):
    """A debugger that reads from the terminal, because workers are started without standard input."""

    def interaction(self, *args, **kwargs):
        before = sys.stdin
        try:
            with open("/dev/stdin") as sys.stdin:
                super().interaction(*args, **kwargs)
        finally:
            sys.stdin = before


def breakpoint(rank=0, skip=0, timeout_s=3600):
    """Start the debugger on ``rank`` while all other ranks wait in a barrier. All ranks must call it.

    skip: how many times to pass this line before the debugger starts.
    timeout_s: accepted for compatibility with PyTorch; the barrier uses the group's own timeout.
    """
    if skip > 0:
        place = tuple((f.filename, f.lineno) for f in traceback.extract_stack(limit=8)[:-1])
        count = _passed[place] = _passed.get(place, 0) + 1
        if count <= skip:
            return
    if get_rank() == rank:
        debugger = _ForkedPdb()
        debugger.message(
            f"\n!!! rank {rank} stops here: type 'up' for the frame that called torch.distributed.breakpoint\n"
        )
        debugger.set_trace()
    barrier()
