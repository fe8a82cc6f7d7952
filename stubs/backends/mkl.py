"""torch.backends.mkl."""


def is_available():
    """Return False, because there is no MKL."""
    return False
