"""torch.backends.openmp."""


def is_available():
    """False: there is no OpenMP in PyTorch's sense (MindSpore has its own thread pool)."""
    return False
