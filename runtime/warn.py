"""Warnings that a process gets once, as PyTorch's C++ gives them, or each time where torch.set_warn_always() asks for
it.
"""

import os
import sys
import warnings

_RUNTIME = os.path.dirname(__file__) + os.sep


class _Warnings:
    always = False
    given: set = set()  # the keys of those that were given, while not always


WARNINGS = _Warnings()


def of_runtime(filename):
    """Whether code is the runtime's, or was written by it."""
    return filename.startswith(_RUNTIME) or "#" in filename and filename[0] == "<"


def warn_once(text, key=None):
    """Warn at the program's line, if nothing of this key (the text, where none is said) was told before."""
    key = text if key is None else key
    if not WARNINGS.always:
        if key in WARNINGS.given:
            return
        WARNINGS.given.add(key)
    warn(text, 3)


def warn(text, level=2):
    """Warn at the program's line. level: of the frame that it is looked for from."""
    frame = sys._getframe(level - 1)
    while frame.f_back is not None and of_runtime(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)
