"""Shortens tracebacks to the program's frames and one frame of this package.

Standard library only. Nothing here runs until an error is raised.
"""

import os
import re

from .finder import HERE

ROOTS = tuple(
    folder + os.sep
    for folder in (HERE, *(os.path.join(os.path.dirname(HERE), name) for name in ("runtime", "backends", "stubs")))
)
WRITTEN = re.compile(r"<[\w.]+ #\d+>")  # file names of generated functions


def ours(trace):
    """Whether a frame of a traceback belongs to this package."""
    name = trace.tb_frame.f_code.co_filename
    return name.startswith(ROOTS) or WRITTEN.fullmatch(name) is not None


def shorten(error):
    """Remove this package's frames from an error's traceback, except one if the error was raised in this package.

    The frame that is kept is that of an operator's generated function if there is one.
    """
    if os.environ.get("MINDTORCH_TRACEBACK") == "full":
        return
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    last = len(frames)  # becomes the start of our innermost frames, in which the error was raised
    while last and ours(frames[last - 1]):
        last -= 1
    inside = frames[last:]
    shown = next((t for t in inside if t.tb_frame.f_code.co_filename[0] == "<"), inside[0] if inside else None)
    kept = [t for t in frames[:last] if not ours(t)] + ([shown] if shown is not None else [])
    for this, following in zip(kept, [*kept[1:], None]):
        this.tb_next = following
    error.__traceback__ = kept[0] if kept else None
