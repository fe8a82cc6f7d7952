"""Loops as functions."""

__all__ = ["while_loop"]


def while_loop(cond_fn, body_fn, carried_inputs):
    """body_fn applied to its own results as long as cond_fn holds."""
    while bool(cond_fn(*carried_inputs)):
        carried_inputs = body_fn(*carried_inputs)
    return tuple(carried_inputs)
