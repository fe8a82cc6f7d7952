"""torch._C._profiler: tracebacks of running code."""

import traceback

__all__ = ["CapturedTraceback", "gather_traceback", "symbolize_tracebacks"]


class CapturedTraceback:
    """The Python frames at the time of the call, the innermost first."""

    def __init__(self, frames):
        self._frames = frames


def gather_traceback(python, script, cpp):
    """Capture the running Python frames. script, cpp: for TorchScript and C++ frames, which are not captured here."""
    return CapturedTraceback(
        [(f.f_code.co_name, f.f_code.co_filename, n) for f, n in traceback.walk_stack(None)] if python else []
    )


def symbolize_tracebacks(to_symbolize):
    """Return each traceback as a list of {name, filename, line}, the innermost frame first."""
    return [[{"name": name, "filename": file, "line": line} for name, file, line in t._frames] for t in to_symbolize]
