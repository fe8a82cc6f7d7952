"""Marks of stability."""


def compatibility(is_backward_compatible):
    """A decorator that changes nothing."""
    return lambda fn: fn
