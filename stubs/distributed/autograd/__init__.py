"""Gradients across remote procedure calls, which this build does not have."""

__all__ = ["context", "is_available"]


def is_available():
    """Whether this build has them: no."""
    return False


class context:
    """The gradients of one backward pass over several processes: not supported."""

    def __enter__(self):
        raise NotImplementedError("torch.distributed.autograd: gradients across remote procedure calls are not supported (any dtype, any device)")

    def __exit__(self, *exc):
        return None
