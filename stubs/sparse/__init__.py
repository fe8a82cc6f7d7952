"""torch.sparse: sparse layouts have no operators here; what they would need says so."""

__all__ = ["addmm", "mm", "sum", "softmax", "log_softmax", "spsolve"]


def _unsupported(name):
    def f(input, *args, **kwargs):
        raise NotImplementedError(f"torch.sparse.{name}: sparse tensors are not supported (dtype {input.dtype}, device {input.device})")
    f.__name__ = f.__qualname__ = name
    f.__doc__ = "Raises: sparse tensors are not supported."
    return f


addmm, mm, sum, softmax, log_softmax, spsolve = map(_unsupported, __all__)


class check_sparse_tensor_invariants:
    """Whether sparse tensors are checked when made: there are none, so the setting is only kept."""
    _enabled = False

    def __init__(self, enable=True):
        self.state, self.saved = enable, None

    @staticmethod
    def is_enabled():
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable():
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable():
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self):
        self.saved, check_sparse_tensor_invariants._enabled = self._enabled, self.state

    def __exit__(self, *exc):
        check_sparse_tensor_invariants._enabled = self.saved
