"""Tracebacks that show the program's frames and one of ours.

Standard library only; nothing here runs until an error is raised.
"""

import os
import re

from .finder import HERE

ROOTS = tuple(
    folder + os.sep
    for folder in (HERE, *(os.path.join(os.path.dirname(HERE), name) for name in ("runtime", "backends", "stubs")))
)
WRITTEN = re.compile(r"<[\w.]+ #\d+>")  # functions that are written for an operator


def ours(trace):
    """Whether a frame of a traceback is of this package."""
    name = trace.tb_frame.f_code.co_filename
    return name.startswith(ROOTS) or WRITTEN.fullmatch(name) is not None


def shorten(error):
    """Leave out our frames of an error's traceback but one, where it was raised in ours: an operator's function if
    there is one.
    """
    if os.environ.get("MINDTORCH_TRACEBACK") == "full":
        return
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    last = len(frames)  # where our last frames begin, those in which it was raised
    while last and ours(frames[last - 1]):
        last -= 1
    inside = frames[last:]
    shown = next((t for t in inside if t.tb_frame.f_code.co_filename[0] == "<"), inside[0] if inside else None)
    kept = [t for t in frames[:last] if not ours(t)] + ([shown] if shown is not None else [])
    for this, following in zip(kept, [*kept[1:], None]):
        this.tb_next = following
    error.__traceback__ = kept[0] if kept else None
