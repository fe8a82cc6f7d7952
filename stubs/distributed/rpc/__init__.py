"""Remote procedure calls: this build has none, as PyTorch's without tensorpipe."""

__all__ = ["is_available"]


def is_available():
    """Whether this build has remote procedure calls: no."""
    return False
