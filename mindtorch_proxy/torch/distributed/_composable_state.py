"""What an API that was applied to a module in place remembers of it."""

import weakref

__all__ = []


class _State:
    """What one API knows of a module, or of several that it was applied to together."""


_states = weakref.WeakKeyDictionary()  # module: weak reference to its state


def _insert_module_state(module, state):
    """Remember, weakly, the state of a module; once."""
    if module in _states:
        raise AssertionError(f"Inserting {module} more than once.")
    _states[module] = weakref.ref(state)


def _get_module_state(module):
    """The state of a module: itself, where it is one, that which was inserted, or None."""
    if isinstance(module, _State):
        return module
    reference = _states.get(module)
    if reference is None:
        return None
    state = reference()
    if state is None:
        raise AssertionError("State has already been garbage collected")
    return state
