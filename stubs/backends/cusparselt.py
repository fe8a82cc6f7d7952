"""torch.backends.cusparselt."""


def is_available():
    """Return False, because there is no cuSPARSELt."""
    return False


def version():
    """Return None, because there is no cuSPARSELt."""
    return None


get_max_alg_id = version
