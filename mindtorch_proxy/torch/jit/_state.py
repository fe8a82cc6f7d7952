"""torch.jit._state: what has been compiled, which is nothing, and whether compiling is wanted."""

import os

_script_classes: dict = {}


def _clear_class_state():
    _script_classes.clear()


class EnabledProxy:
    """Whether programs want functions compiled: PYTORCH_JIT at first."""

    def __init__(self):
        self.enabled = os.environ.get("PYTORCH_JIT", "1") != "0"

    def __bool__(self):
        return self.enabled


_enabled = EnabledProxy()


def enable():
    """Want functions compiled."""
    _enabled.enabled = True


def disable():
    """Do not."""
    _enabled.enabled = False
