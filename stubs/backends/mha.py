"""torch.backends.mha: whether the fast path of TransformerEncoder is allowed."""

_is_fastpath_enabled = True


def get_fastpath_enabled():
    """Whether the fast path is allowed."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value):
    """Allow or forbid the fast path."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
