"""Warnings given once per process, as PyTorch's C++ does, or every time after torch.set_warn_always(True)."""

import os
import sys
import warnings

_RUNTIME = os.path.dirname(__file__) + os.sep


class _Warnings:
    always = False
    given: set = set()  # keys of the warnings given so far


WARNINGS = _Warnings()


def of_runtime(filename):
    """Whether a file belongs to the runtime, or is a function that it generated."""
    return filename.startswith(_RUNTIME) or "#" in filename and filename[0] == "<"


def warn_once(text, key=None):
    """Warn at the program's line unless a warning with this key, by default the text, was given before."""
    key = text if key is None else key
    if not WARNINGS.always:
        if key in WARNINGS.given:
            return
        WARNINGS.given.add(key)
    warn(text, 3)


def warn(text, level=2):
    """Warn at the program's line. level: the stack level at which the search for it begins."""
    frame = sys._getframe(level - 1)
    while frame.f_back is not None and of_runtime(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)
