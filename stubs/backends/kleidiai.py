"""torch.backends.kleidiai."""


def is_available():
    """False: there is no KleidiAI."""
    return False
