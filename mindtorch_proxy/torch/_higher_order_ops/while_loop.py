"""while_loop: a loop whose condition and body are functions."""

__all__ = ["while_loop"]


def while_loop(cond_fn, body_fn, carried_inputs):
    """Apply body_fn to its own results as long as cond_fn holds for them; return the last ones as a tuple."""
    while bool(cond_fn(*carried_inputs)):
        carried_inputs = body_fn(*carried_inputs)
    return tuple(carried_inputs)
