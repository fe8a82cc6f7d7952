"""Gradients across remote procedure calls, which this build has none of."""

__all__ = ["is_available"]


def is_available():
    """Whether this build has them: no."""
    return False
