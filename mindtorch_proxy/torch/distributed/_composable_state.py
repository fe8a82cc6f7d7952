"""The state that a composable API keeps for a module."""

import weakref

__all__ = []


class _State:
    """State of one API, for the module or the group of modules that it was applied to."""


_states = weakref.WeakKeyDictionary()  # module: weak reference to its state


def _insert_module_state(module, state):
    """Store a weak reference to a module's state. A module can have only one."""
    if module in _states:
        raise AssertionError(f"Inserting {module} more than once.")
    _states[module] = weakref.ref(state)


def _get_module_state(module):
    """Return a module's state, or None. An argument that is itself a _State is returned as is."""
    if isinstance(module, _State):
        return module
    reference = _states.get(module)
    if reference is None:
        return None
    state = reference()
    if state is None:
        raise AssertionError("State has already been garbage collected")
    return state
