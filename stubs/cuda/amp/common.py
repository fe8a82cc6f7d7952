"""torch.cuda.amp.common: whether automatic mixed precision on CUDA is unavailable."""

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available():
    """Return True, because there is no CUDA."""
    return True
