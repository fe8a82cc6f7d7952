"""Decorators that mark backward compatibility."""


def compatibility(is_backward_compatible):
    """Return a decorator that changes nothing."""
    return lambda fn: fn
