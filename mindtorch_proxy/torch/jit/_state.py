"""torch.jit._state: what has been compiled, which is nothing."""

_script_classes: dict = {}


def _clear_class_state():
    _script_classes.clear()
