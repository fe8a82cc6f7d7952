"""MaskedTensor: a wrapper of data and a mask of the same shape and layout.

The mask is True for the elements that count.
"""

import warnings

import torch

from .. import _sparse

FUNCTIONS: dict = {}  # public functions: function -> handler(function, *args, **kwargs)
OPERATORS: dict = {}  # handlers below autograd, keyed by overload packet
_SPARSE = (torch.sparse_coo, torch.sparse_csr)
_DTYPES = (torch.float16, torch.float32, torch.float64, torch.bool, torch.int8, torch.int16, torch.int32, torch.int64)
_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. "
    "Please open a Github issue for features requests and see our documentation on the torch.masked module for "
    "further information about the project."
)


def on(table, *names):
    """Decorator that registers a handler for functions in a table: @on(OPERATORS, torch.ops.aten.cat)."""

    def deco(f):
        table.update(dict.fromkeys(names, f))
        return f

    return deco


def is_masked_tensor(obj, /):
    """Whether the object is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def _get_data(a):
    return a.get_data() if is_masked_tensor(a) else a


def _maybe_get_mask(a):
    return a.get_mask() if is_masked_tensor(a) else None


def _parts(t):
    """Return the strided tensors that a sparse tensor consists of, values last."""
    return (
        (t.indices(), t.values()) if t.layout is torch.sparse_coo else (t.crow_indices(), t.col_indices(), t.values())
    )


def _tensors_match(a, b, exact=True, rtol=1e-05, atol=1e-08):
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    b = b.to(a.dtype)
    if a.layout in _SPARSE:
        return all(_tensors_match(x, y, exact) for x, y in zip(_parts(a), _parts(b)))
    return a.dim() == b.dim() and bool(torch.eq(a, b).all() if exact else torch.allclose(a, b, rtol=rtol, atol=atol))


def _masks_match(a, b):
    return not (is_masked_tensor(a) and is_masked_tensor(b)) or _tensors_match(a.get_mask(), b.get_mask())


def mapped(value, f):
    """Apply f to each masked tensor in nested arguments."""
    if is_masked_tensor(value):
        return f(value)
    if isinstance(value, dict):
        return {k: mapped(v, f) for k, v in value.items()}
    return type(value)(mapped(v, f) for v in value) if type(value) in (list, tuple) else value


class MaskedTensor(torch.Tensor):
    """A tensor with a mask; masked out elements do not take part in reductions."""

    @staticmethod
    def __new__(cls, data, mask, requires_grad=False):
        for name, t in (("data", data), ("mask", mask)):
            if is_masked_tensor(t) or not torch.is_tensor(t):
                raise TypeError(f"{name} must be a Tensor")
        warnings.warn(_PROTOTYPE, UserWarning, stacklevel=2)
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, "
                "you can use data.detach().clone()",
                UserWarning,
                stacklevel=2,
            )
        kwargs = (
            {}
            if data.layout in _SPARSE
            else {"strides": data.clone().stride() if data.layout is torch.strided else None}
        )
        return torch.Tensor._make_wrapper_subclass(
            cls, data.size(), dtype=data.dtype, device=data.device, requires_grad=requires_grad, **kwargs
        )

    def __init__(self, data, mask, requires_grad=False):
        if data.layout != mask.layout:
            raise TypeError("data and mask must have the same layout.")
        if data.layout is torch.sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()
        if data.layout in _SPARSE and data._nnz() != mask._nnz():
            data = _sparse.where(mask, data, torch.tensor(0))
        self._set_data_mask(data.clone(), mask.clone())

    def _set_data_mask(self, data, mask):
        self._masked_data, self._masked_mask = data, mask
        if type(data) is not type(mask):
            raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
        if data.layout not in (torch.strided, *_SPARSE):
            raise TypeError(f"data layout of {data.layout} is not supported.")
        if data.layout is torch.sparse_coo and not _tensors_match(data.indices(), mask.indices()):
            raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
        if data.layout is torch.sparse_csr and not all(map(_tensors_match, _parts(data)[:2], _parts(mask)[:2])):
            raise ValueError("data and mask are both sparse CSR tensors but do not share either crow or col indices.")
        if mask.dtype is not torch.bool:
            raise TypeError("mask must have dtype bool.")
        if data.dtype not in _DTYPES:
            raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")

    @staticmethod
    def _from_values(data, mask):
        return _Wrap.apply(data, mask)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        handler = FUNCTIONS.get(func)
        return (
            super().__torch_function__(func, types, args, kwargs or {})
            if handler is None
            else handler(func, *args, **(kwargs or {}))
        )

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        handler = OPERATORS.get(func.overloadpacket)
        if handler is not None:
            return handler(func.overloadpacket, *args, **(kwargs or {}))
        warnings.warn(f"{func.overloadpacket} is not implemented in __torch_dispatch__ for MaskedTensor.", stacklevel=2)
        return NotImplemented

    def __lt__(self, other):
        return MaskedTensor(self.get_data() < _get_data(other), self.get_mask())

    def to_tensor(self, value):
        """Return the data as a plain tensor, with masked out elements set to `value`."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    def get_data(self):
        """Return the data as a plain tensor without applying the mask; gradients flow to this tensor."""
        return _GetData.apply(self)

    def get_mask(self):
        """Return the mask."""
        return self._masked_mask

    @property
    def layout(self):
        return self._masked_data.layout

    def is_sparse_coo(self):
        """Whether the data have the layout torch.sparse_coo."""
        return self.layout is torch.sparse_coo

    def is_sparse_csr(self):
        """Whether the data have the layout torch.sparse_csr."""
        return self.layout is torch.sparse_csr

    @property
    def is_sparse(self):
        return self.layout in _SPARSE

    def is_contiguous(self, memory_format=torch.contiguous_format):
        """Whether the data are contiguous; sparse data raise ValueError."""
        if self.is_sparse:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        return self._masked_data.is_contiguous(memory_format=memory_format)

    def __repr__(self):
        if not self.dim():
            return (
                f"MaskedTensor({_spoken(self._masked_data) if self._masked_mask.item() else '--'}, "
                f"{self._masked_mask.item()})"
            )
        data, mask = (t.to_dense() if self.is_sparse else t for t in (self._masked_data, self._masked_mask))
        return f"MaskedTensor(\n{_indented(_lines(data, mask))}\n)"


def _spoken(element):
    value = element.item()
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _indented(text):
    return "\n".join("  " + line for line in text.split("\n"))


def _lines(data, mask):
    """Format the elements one row per line, with -- for masked out elements."""
    if data.dim() > 1:
        return "[\n" + ",\n".join(_indented(_lines(d, m)) for d, m in zip(data, mask)) + "\n]"
    elements = [_spoken(d) for d in data]
    width = max((len(e) if m else 8 for e, m in zip(elements, mask)), default=0)
    return "[" + ", ".join(e if m else "--".rjust(width) for e, m in zip(elements, mask)) + "]"


class _Wrap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, data, mask):
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx, g):
        return g, None


class _GetData(torch.autograd.Function):
    @staticmethod
    def forward(ctx, masked):
        ctx.mask = masked.get_mask()
        return masked._masked_data.detach()

    @staticmethod
    def backward(ctx, g):
        return g if is_masked_tensor(g) else MaskedTensor(g, ctx.mask)


class Combine(torch.autograd.Function):
    """The data of a masked tensor with masked out elements filled; the gradient gets the same mask."""

    @staticmethod
    def forward(ctx, data, mask, fill):
        ctx.save_for_backward(mask)
        return fill(data, mask)

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return MaskedTensor._from_values(_get_data(g), mask), None, None
