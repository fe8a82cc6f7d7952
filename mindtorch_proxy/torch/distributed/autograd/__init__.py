"""Gradients across remote procedure calls, which this build does not have."""

__all__ = ["context", "is_available"]


def is_available():
    """Whether this build has them: no."""
    return False


def _refuse(name):
    raise NotImplementedError(
        f"torch.distributed.autograd{name}: gradients across remote procedure calls are not supported (any dtype, "
        f"any device)"
    )


class context:
    """The gradients of one backward pass over several processes: not supported."""

    def __enter__(self):
        _refuse("")

    def __exit__(self, *exc):
        return None


class DistAutogradContext:
    """What a context knows. None can be made: NotImplementedError."""

    def __init__(self):
        _refuse(".DistAutogradContext")


def backward(context_id, roots, retain_graph=False):
    """Raises: there is no backward pass over several processes."""
    _refuse(".backward")


def get_gradients(context_id):
    """Raises: there is no context that would have gradients."""
    _refuse(".get_gradients")
