"""torch.backends.kleidiai."""


def is_available():
    """Return False, because there is no KleidiAI."""
    return False
