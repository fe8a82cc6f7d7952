"""torch.jit._state: the setting whether compilation is enabled. Nothing is ever compiled."""

import os

_script_classes: dict = {}


def _clear_class_state():
    _script_classes.clear()


class EnabledProxy:
    """Whether programs want functions to be compiled; the initial value comes from PYTORCH_JIT."""

    def __init__(self):
        self.enabled = os.environ.get("PYTORCH_JIT", "1") != "0"

    def __bool__(self):
        return self.enabled


_enabled = EnabledProxy()


def enable():
    """Enable the compilation of functions."""
    _enabled.enabled = True


def disable():
    """Disable the compilation of functions."""
    _enabled.enabled = False
