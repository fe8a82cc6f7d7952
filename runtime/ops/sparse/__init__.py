"""Sparse tensors: coordinates (torch.sparse_coo) and the compressed layouts (CSR, CSC, BSR, BSC).

A sparse tensor consists of strided tensors of indices and values in one class (tensors.py). Its operators are composed
of operators on those.
"""

from . import construct, convert, functions, products, refusals  # noqa: F401  (declarations, and the tables of both layouts)
from .construct import sparse_compressed_tensor, sparse_coo_tensor, validate_compressed, validate_coo
from .coo import gather_gradient, make, rows_gradient
from .tensors import COO, INVARIANTS, SparseTensor


def parts(t):
    """Return (indices, plain indices or None, further arguments that create a tensor of this layout)."""
    return (t._i, None, (t._c,)) if t._layout is COO else (t._lines, t._plain, ())


def validate(t):
    """Raise PyTorch's errors for a tensor whose indices do not match its size."""
    a, b, _ = parts(t)
    if b is None:
        validate_coo(a, t._v, t._shape)
    else:
        validate_compressed(a, b, t._v, t._shape, t._layout)


__all__ = ["INVARIANTS", "SparseTensor", "gather_gradient", "make", "parts", "rows_gradient"]
__all__ += ["sparse_compressed_tensor", "sparse_coo_tensor", "validate", "validate_compressed", "validate_coo"]
