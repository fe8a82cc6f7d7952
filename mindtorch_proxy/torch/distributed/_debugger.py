"""torch.distributed.breakpoint: a debugger on one rank while the others wait."""

import pdb
import sys
import traceback

from .distributed_c10d import barrier, get_rank

_passed: dict = {}  # the place of a call -> how often it was passed


class _ForkedPdb(pdb.Pdb):
    """Reads from the terminal, which workers are started without."""

    def interaction(self, *args, **kwargs):
        before = sys.stdin
        try:
            with open("/dev/stdin") as sys.stdin:
                super().interaction(*args, **kwargs)
        finally:
            sys.stdin = before


def breakpoint(rank=0, skip=0, timeout_s=3600):
    """Stop in the debugger on ``rank``; all other ranks wait in a barrier until it goes on. All ranks call it.

    skip: how often the same line is passed before it stops. timeout_s: of PyTorch's barrier; here the group's own
    time-out holds.
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
