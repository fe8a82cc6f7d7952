"""torch.sparse: what there is for the layout torch.sparse_coo."""

import torch

__all__ = ["addmm", "mm", "sum", "softmax", "log_softmax", "spsolve"]


def mm(mat1, mat2, reduce=None):
    """A sparse matrix times a dense one."""
    if reduce is not None:
        raise NotImplementedError(f"torch.sparse.mm: reduce={reduce!r} takes matrices of layout torch.sparse_csr, which is not supported")
    return torch.mm(mat1, mat2)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta * mat + alpha * mat1 @ mat2, where mat1 may be sparse."""
    return torch.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input, dim=None, dtype=None):
    """The sum over all elements, or over dimensions: sparse where a sparse dimension remains."""
    return torch.sum(input, dim, dtype=dtype) if dim is not None else torch.sum(input, dtype=dtype)


def _unsupported(name):
    def f(input, *args, **kwargs):
        raise NotImplementedError(f"torch.sparse.{name} is not supported (layout {input.layout}, dtype {input.dtype}, device {input.device})")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "Raises: not supported."
    return f


softmax, log_softmax, spsolve = map(_unsupported, ("softmax", "log_softmax", "spsolve"))


class check_sparse_tensor_invariants:
    """Whether a sparse tensor's indices are compared with its size when it is made: a context, a decorator, a setting."""

    def __init__(self, enable=True):
        self.state = enable

    @staticmethod
    def is_enabled():
        return torch._C._check_sparse_tensor_invariants()

    @staticmethod
    def enable():
        torch._C._set_check_sparse_tensor_invariants(True)

    @staticmethod
    def disable():
        torch._C._set_check_sparse_tensor_invariants(False)

    def __enter__(self):
        self.saved = self.is_enabled()
        torch._C._set_check_sparse_tensor_invariants(self.state)

    def __exit__(self, *exc):
        torch._C._set_check_sparse_tensor_invariants(self.saved)

    def __call__(self, func):
        import functools

        @functools.wraps(func)
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return func(*args, **kwargs)

        return checked
