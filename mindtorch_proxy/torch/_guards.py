"""torch._guards: which fake mode is active."""

from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_leaves


def active_fake_mode():
    """The innermost FakeTensorMode that is on, or None."""
    return next(
        (mode for mode in reversed(_get_current_dispatch_mode_stack()) if isinstance(mode, FakeTensorMode)), None
    )


def detect_fake_mode(inputs=None):
    """The FakeTensorMode that is on, or that of the fake tensors among the inputs, or None.

    AssertionError if there are several.
    """
    found = [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, FakeTensorMode)]
    found += [x.fake_mode for x in tree_leaves(inputs) if isinstance(x, FakeTensor)]
    if any(mode is not found[0] for mode in found):
        raise AssertionError("fake mode from active fake mode doesn't match mode from fake tensor input")
    return found[0] if found else None
