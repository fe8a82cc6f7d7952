"""Operators of masked tensors that are neither elementwise nor reductions: layouts, where, softmax, copies."""

import torch

from .core import (
    _SPARSE,
    FUNCTIONS,
    OPERATORS,
    MaskedTensor,
    _get_data,
    _masks_match,
    _maybe_get_mask,
    is_masked_tensor,
    on,
)

_aten = torch.ops.aten


def on_values(fn, data, args, kwargs):
    """Apply fn to the data, or to the values of sparse data."""
    if data.layout not in _SPARSE:
        return fn(data, *args, **kwargs)
    values = fn(data.values(), *args, **kwargs)
    if data.layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(data.indices(), values, data.size())
    return torch.sparse_csr_tensor(data.crow_indices(), data.col_indices(), values, data.size())


# ------------------------------------------------------------------------------------------------ layouts
_TO = {torch.strided: "to_dense", torch.sparse_coo: "to_sparse", torch.sparse_csr: "to_sparse_csr"}


class _ToLayout(torch.autograd.Function):
    """Convert data and mask to another layout; the gradient is converted back."""

    @staticmethod
    def forward(ctx, self, layout):
        ctx.layout = self.layout
        if self.layout is layout:
            return self
        data, mask = self.get_data(), getattr(self.get_mask(), _TO[layout])()
        if layout is torch.strided:
            return MaskedTensor(data.to_dense(), mask)
        mask = mask.coalesce() if layout is torch.sparse_coo else mask
        return MaskedTensor(data.sparse_mask(mask), mask)

    @staticmethod
    def backward(ctx, g):
        return _ToLayout.apply(g, ctx.layout), None


@on(FUNCTIONS, torch.Tensor.to_dense)
@on(OPERATORS, _aten._to_dense)
def _to_dense(fn, self):
    return _ToLayout.apply(self, torch.strided)


@on(FUNCTIONS, torch.Tensor.to_sparse)
@on(OPERATORS, _aten._to_sparse)
def _to_sparse(fn, self):
    return _ToLayout.apply(self, torch.sparse_coo)


@on(FUNCTIONS, torch.Tensor.to_sparse_csr)
@on(OPERATORS, _aten._to_sparse_csr)
def _to_sparse_csr(fn, self):
    if self.dim() != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {self.size()}")
    return _ToLayout.apply(self, torch.sparse_csr)


class _Contiguous(torch.autograd.Function):
    @staticmethod
    def forward(ctx, self):
        return (
            self if self.is_contiguous() else MaskedTensor(self.get_data().contiguous(), self.get_mask().contiguous())
        )

    @staticmethod
    def backward(ctx, g):
        return g


@on(FUNCTIONS, torch.Tensor.contiguous)
@on(OPERATORS, _aten.contiguous)
def _contiguous(fn, self):
    return _Contiguous.apply(self)


def _all_in(data):
    return MaskedTensor(data, torch.ones_like(data, dtype=torch.bool))


@on(OPERATORS, _aten._indices)
def _indices(fn, self):
    return _all_in(self.get_data().indices())


@on(OPERATORS, _aten._values)
def _values(fn, self):
    return _all_in(self.get_data().values())


# ------------------------------------------------------------------------------------------------ where
class _Where(torch.autograd.Function):
    """torch.where, in which the gradient of an operand is masked out where the other one was chosen."""

    @staticmethod
    def forward(ctx, condition, self, other):
        ctx.save_for_backward(condition)
        return _where(_aten.where, condition, self, other)

    @staticmethod
    def backward(ctx, g):
        (condition,) = ctx.saved_tensors
        out = MaskedTensor(g.get_data(), torch.zeros_like(g.get_mask()))
        return None, _where(_aten.where, condition, g, out), _where(_aten.where, condition, out, g)


@on(FUNCTIONS, torch.where, torch.Tensor.where)
def _where_function(fn, *args, **kwargs):
    if len(args) != 3 or kwargs:
        raise ValueError(f"__torch_function__, torch.where: len(args) must be 3 but got {len(args)}")
    condition, a, b = args if fn is torch.where else (args[1], args[0], args[2])
    return _Where.apply(condition, a, b)


@on(OPERATORS, _aten.where)
def _where(fn, condition, self, other):
    a, b = (t if is_masked_tensor(t) else _all_in(torch.as_tensor(t)) for t in (self, other))
    return MaskedTensor(fn(condition, a.get_data(), b.get_data()), fn(condition, a.get_mask(), b.get_mask()))


# ------------------------------------------------------------------------------------------------ softmax
@on(OPERATORS, _aten._softmax)
def _softmax(fn, self, dim, half_to_float):
    mask = self.get_mask()
    return MaskedTensor(torch.softmax(self.get_data().masked_fill(~mask, -torch.inf), dim), mask)


@on(OPERATORS, _aten._softmax_backward_data)
def _softmax_backward_data(fn, grad, output, dim, input_dtype):
    if not is_masked_tensor(grad) or not is_masked_tensor(output):
        raise ValueError(f"__torch_dispatch__, {fn}: grad and output must both be MaskedTensors")
    if not _masks_match(grad, output):
        raise ValueError(f"__torch_dispatch__, {fn}: expected the masks of grad and output to match")
    out = (~grad.get_mask()).logical_not()
    y = torch.where(out, output.get_data(), 0)
    product = torch.where(out, grad.get_data(), 0) * y
    return MaskedTensor(product - y * product.sum(dim, keepdim=True), grad.get_mask())


# ------------------------------------------------------------------------------------------------ copies
@on(OPERATORS, _aten.detach, _aten.clone, _aten.ones_like)
def _on_data(fn, self, **kwargs):
    return MaskedTensor(fn(_get_data(self), **kwargs), _maybe_get_mask(self))


@on(OPERATORS, _aten._to_copy)
def _to_copy(fn, self, **kwargs):
    return MaskedTensor(fn(self.get_data(), **kwargs), fn(self.get_mask(), **{**kwargs, "dtype": torch.bool}))


@on(OPERATORS, _aten.copy_)
def _copy_(fn, self, other):
    if not _masks_match(self, other):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    fn(_get_data(self), _get_data(other))
    return self


@on(OPERATORS, _aten.new_empty_strided)
def _new_empty_strided(fn, self, size, stride, **kwargs):
    data = self.get_data()
    for position, name, given in ((1, "size", size), (2, "stride", stride)):
        if tuple(given) != tuple(getattr(data, name)()):
            raise ValueError(f"__torch_dispatch__, {fn}: args[{position}] expected to be the same as data.{name}()")
    return MaskedTensor(fn(data, size, stride, **kwargs), self.get_mask())


@on(OPERATORS, _aten._local_scalar_dense)
def _local_scalar_dense(fn, self):
    if not self.get_mask():
        raise ValueError(f"__torch_dispatch__, {fn}: expected a mask tensor")
    return fn(self.get_data())


@on(OPERATORS, _aten.is_same_size)
def _is_same_size(fn, self, other):
    return _get_data(self).is_same_size(_get_data(other))
