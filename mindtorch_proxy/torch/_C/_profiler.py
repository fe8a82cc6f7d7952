"""torch._C._profiler: where calls come from."""

import traceback

__all__ = ["CapturedTraceback", "gather_traceback", "symbolize_tracebacks"]


class CapturedTraceback:
    """The frames of Python of a moment, the innermost first; their lines are read when they are asked for."""

    def __init__(self, frames):
        self._frames = frames


def gather_traceback(python, script, cpp):
    """The frames that are running. script, cpp: those of TorchScript and C++ too, of which there are none here."""
    return CapturedTraceback(
        [(f.f_code.co_name, f.f_code.co_filename, n) for f, n in traceback.walk_stack(None)] if python else []
    )


def symbolize_tracebacks(to_symbolize):
    """Each traceback as a list of {name, filename, line}, the innermost frame first."""
    return [[{"name": name, "filename": file, "line": line} for name, file, line in t._frames] for t in to_symbolize]
