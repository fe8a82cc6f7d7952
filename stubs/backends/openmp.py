"""torch.backends.openmp."""


def is_available():
    """Return False, because kernels use MindSpore's thread pool instead of OpenMP."""
    return False
