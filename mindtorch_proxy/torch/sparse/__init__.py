"""torch.sparse: functions of sparse tensors, and the switch that controls checks of their indices."""

import functools

import torch
from mindtorch_proxy.runtime import ops as _ops  # noqa: F401  (fills the registry)
from mindtorch_proxy.runtime.registry import function as _function

__all__ = ["addmm", "check_sparse_tensor_invariants", "mm", "sum", "softmax", "log_softmax", "as_sparse_gradcheck"]

addmm, mm, softmax, log_softmax, spdiags, spsolve, sampled_addmm = (
    _function("_C._sparse", name)
    for name in (
        "_sparse_addmm",
        "_sparse_mm",
        "_sparse_softmax",
        "_sparse_log_softmax",
        "_spdiags",
        "_spsolve",
        "sparse_sampled_addmm",
    )
)


def sum(input, dim=None, dtype=None):
    """Return the sum over all elements or over `dim`; it is sparse if a sparse dimension remains."""
    return torch._sparse_sum(input, dtype=dtype) if dim is None else torch._sparse_sum(input, dim, dtype=dtype)


class check_sparse_tensor_invariants:
    """Whether the indices of new sparse tensors are checked against their size.

    It can be used as a context manager, as a decorator, or through enable() and disable().
    """

    def __init__(self, enable=True):
        self.state, self.saved = enable, None

    @staticmethod
    def is_enabled():
        """Whether new sparse tensors are checked."""
        return torch._C._check_sparse_tensor_invariants()

    @staticmethod
    def enable():
        """Check the indices of new sparse tensors from now on."""
        torch._C._set_check_sparse_tensor_invariants(True)

    @staticmethod
    def disable():
        """Do not check the indices of new sparse tensors from now on."""
        torch._C._set_check_sparse_tensor_invariants(False)

    def __enter__(self):
        if self.saved is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for "
                "context nesting."
            )
        self.saved = self.is_enabled()
        torch._C._set_check_sparse_tensor_invariants(self.state)

    def __exit__(self, *exc):
        torch._C._set_check_sparse_tensor_invariants(self.saved)
        self.saved = None

    def __call__(self, func):
        import functools

        @functools.wraps(func)
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return func(*args, **kwargs)

        return checked


class _LegacyMeta(type):
    """Metaclass of torch.sparse.FloatTensor and similar classes, whose isinstance checks dtype and layout.

    Instances are tensors on the CPU with the layout torch.sparse_coo.
    """

    def __instancecheck__(cls, x):
        return (
            isinstance(x, torch.Tensor)
            and x.layout is torch.sparse_coo
            and x.dtype is cls.dtype
            and x.device.type == "cpu"
        )

    def __call__(cls, *args, device=None):
        if len(args) == 1 and isinstance(args[0], (list, tuple)) and not isinstance(args[0], torch.Size):
            raise TypeError(
                "torch.sparse.SparseTensor(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or "
                "construct a strided tensor and convert it to sparse via to_sparse."
            )
        return torch.sparse_coo_tensor((0,), dtype=cls.dtype).new(*args, device=device)


for _name, _dtype in (
    ("BFloat16", torch.bfloat16),
    ("Byte", torch.uint8),
    ("Char", torch.int8),
    ("Double", torch.float64),
    ("Float", torch.float32),
    ("Half", torch.float16),
    ("Int", torch.int32),
    ("Long", torch.int64),
    ("Short", torch.int16),
):
    globals()[_name + "Tensor"] = _LegacyMeta(
        _name + "Tensor",
        (),
        {"dtype": _dtype, "layout": torch.sparse_coo, "is_cuda": False, "__module__": "torch.sparse"},
    )


def as_sparse_gradcheck(gradcheck):
    """Extend a gradcheck to functions that take or return sparse tensors, by passing strided tensors to it.

    With ``masked=True``, gradients are taken only at specified elements; otherwise inputs are checked at all elements.
    """

    @functools.wraps(gradcheck)
    def sparse_gradcheck(func, inputs, **kwargs):
        masked = kwargs.get("masked", False)
        inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
        sparse = [isinstance(x, torch.Tensor) and x.layout is not torch.strided for x in inputs]

        def back(value, like):
            """Convert strided values back to a sparse tensor, differentiably."""
            if masked:
                return value.sparse_mask(like.coalesce() if like.layout is torch.sparse_coo else like)
            if like.layout is torch.sparse_coo:
                return value.to_sparse(like.sparse_dim())
            block = like.values().shape[1:3] if like.layout in (torch.sparse_bsr, torch.sparse_bsc) else None
            return value.to_sparse(layout=like.layout, blocksize=block, dense_dim=like.dense_dim())

        def strided(*values):
            given = [back(v, x) if s else v for v, x, s in zip(values, inputs, sparse)]
            out = func(*given)
            dense = lambda t: (
                t.to_dense(masked_grad=masked) if isinstance(t, torch.Tensor) and t.layout is not torch.strided else t
            )
            return tuple(map(dense, out)) if isinstance(out, (tuple, list)) else dense(out)

        values = tuple(
            x.detach().to_dense().requires_grad_(x.requires_grad) if s else x for x, s in zip(inputs, sparse)
        )
        return gradcheck(strided, values, **kwargs)

    return sparse_gradcheck


from .semi_structured import (  # noqa: E402  (it makes classes of tensors, which need torch)
    SparseSemiStructuredTensor,
    SparseSemiStructuredTensorCUSPARSELT,
    SparseSemiStructuredTensorCUTLASS,
    to_sparse_semi_structured,
)
