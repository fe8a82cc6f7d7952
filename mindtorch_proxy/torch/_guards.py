"""torch._guards: functions that find the active FakeTensorMode."""

from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_leaves


def active_fake_mode():
    """Return the innermost active FakeTensorMode, or None."""
    return next(
        (mode for mode in reversed(_get_current_dispatch_mode_stack()) if isinstance(mode, FakeTensorMode)), None
    )


def detect_fake_mode(inputs=None):
    """Return the active FakeTensorMode, else that of the fake tensors among the inputs, else None.

    Raise AssertionError if there are different ones.
    """
    found = [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, FakeTensorMode)]
    found += [x.fake_mode for x in tree_leaves(inputs) if isinstance(x, FakeTensor)]
    if any(mode is not found[0] for mode in found):
        raise AssertionError("fake mode from active fake mode doesn't match mode from fake tensor input")
    return found[0] if found else None
