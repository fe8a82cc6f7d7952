"""Distributed autograd over RPC, which is not supported."""

__all__ = ["context", "is_available"]


def is_available():
    """Whether distributed autograd is available, which is always False."""
    return False


def _refuse(name):
    raise NotImplementedError(
        f"torch.distributed.autograd{name}: gradients across remote procedure calls are not supported (any dtype, "
        f"any device)"
    )


class context:
    """The context of a distributed backward pass. Not supported."""

    def __enter__(self):
        _refuse("")

    def __exit__(self, *exc):
        return None


class DistAutogradContext:
    """A distributed autograd context. Creating one raises NotImplementedError."""

    def __init__(self):
        _refuse(".DistAutogradContext")


def backward(context_id, roots, retain_graph=False):
    """Raise NotImplementedError, because distributed backward is not supported."""
    _refuse(".backward")


def get_gradients(context_id):
    """Raise NotImplementedError, because there are no distributed autograd contexts."""
    _refuse(".get_gradients")
