"""torch.backends.cusparselt."""


def is_available():
    """False: there is no cuSPARSELt."""
    return False


def version():
    """None: there is no cuSPARSELt."""
    return None


get_max_alg_id = version
