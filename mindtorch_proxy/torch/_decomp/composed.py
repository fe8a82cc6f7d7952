"""Decompositions of operators that write at indices, and of others that ONNX has no operator for."""

import math

import torch

from .decompositions import _computed, _reduced, _register, _stored, aten


KEPT: set = set()  # core operators: torch.export keeps them, and formats that lack them ask for the decomposition


def _for_others(*ops):
    KEPT.update(ops)
    return _register(*ops)


# ------------------------------------------------------------------------------------------------ writing at indices
def _at(dim, n, index):
    """Return the list of indices that selects an index along a dimension."""
    return [None] * (dim % n) + [index]


@_register(aten.index_copy.default)
def index_copy(self, dim, index, source):
    if self.dim() == 0:
        return source.reshape(()).clone()
    return aten.index_put.default(self, _at(dim, self.dim(), index), source)


@_register(aten.index_add.default)
def index_add(self, dim, index, source, *, alpha=1):
    source = source if alpha == 1 else source * alpha
    if self.dim() == 0:
        return self + source.sum()
    return aten.index_put.default(self, _at(dim, self.dim(), index), source, True)


@_register(aten.index_fill.int_Scalar)
def index_fill(self, dim, index, value):
    if self.dim() == 0:
        return torch.full_like(self, value)
    return aten.index_put.default(
        self, _at(dim, self.dim(), index), aten.scalar_tensor.default(value, dtype=self.dtype)
    )


@_register(aten.index_fill.int_Tensor)
def index_fill_tensor(self, dim, index, value):
    if self.dim() == 0:
        return value.to(self.dtype).clone()
    return aten.index_put.default(self, _at(dim, self.dim(), index), value.to(self.dtype))


@_register(aten.take.default)
def take(self, index):
    flat = self.reshape(-1)
    return flat.index_select(0, index.reshape(-1)).reshape(index.shape)


@_register(aten.trace.default)
def trace(self):
    return self.diagonal().sum()


@_for_others(aten.diagonal_scatter.default)
def diagonal_scatter(self, src, offset=0, dim1=0, dim2=1):
    places = torch.arange(self.numel(), device=self.device).reshape(self.shape).diagonal(offset, dim1, dim2)
    return aten.index_put.default(self.reshape(-1), [places], src).reshape(self.shape)


# ------------------------------------------------------------------------------------------------ elementwise
@_for_others(aten.copysign.Tensor)
def copysign(self, other):
    negative = (other < 0) | (other == 0) & (1 / other < 0)
    return torch.where(negative, -self.abs(), self.abs())


@_for_others(aten.copysign.Scalar)
def copysign_scalar(self, other):
    return -self.abs() if math.copysign(1, other) < 0 else self.abs()


@_for_others(aten.fmax.default)
def fmax(self, other):
    greater = torch.maximum(self, other)
    return torch.where(self.isnan(), other, torch.where(other.isnan(), self, greater))


@_for_others(aten.fmin.default)
def fmin(self, other):
    lesser = torch.minimum(self, other)
    return torch.where(self.isnan(), other, torch.where(other.isnan(), self, lesser))


@_for_others(aten.hypot.default)
def hypot(self, other):
    return (self * self + other * other).sqrt()


@_register(aten.hardshrink.default)
def hardshrink(self, lambd=0.5):
    return torch.where((self >= -lambd) & (self <= lambd), 0, self)


@_register(aten.softshrink.default)
def softshrink(self, lambd=0.5):
    return torch.where(self > lambd, self - lambd, torch.where(self < -lambd, self + lambd, self * 0))


@_register(aten.threshold.default)
def threshold(self, threshold, value):
    return torch.where(self <= threshold, value, self)


@_register(aten.sgn.default)
def sgn(self):
    return self.sign()


@_for_others(aten.ldexp.Tensor)
def ldexp(self, other):
    return self * torch.pow(2.0, other)


@_register(aten.special_entr.default)
def special_entr(self):
    inside = torch.where(self > 0, -self * self.log(), torch.where(self == 0, 0.0, -math.inf))
    return torch.where(self.isnan(), self, inside)


@_register(aten.special_xlog1py.default)
def special_xlog1py(self, other):
    return torch.where((self == 0) & ~other.isnan(), 0.0, self * other.log1p())


# ------------------------------------------------------------------------------------------------ reductions
@_register(aten.nansum.default)
def nansum(self, dim=None, keepdim=False, *, dtype=None):
    return torch.where(self.isnan(), 0, self).sum(dim, keepdim, dtype=dtype)


@_register(aten.count_nonzero.dim_IntList)
def count_nonzero(self, dim):
    return (self != 0).sum(dim)


@_register(aten.count_nonzero.default)
def count_nonzero_all(self, dim=None):
    return (self != 0).sum(dim)


@_for_others(aten.var.correction)
def var(self, dim=None, *, correction=None, keepdim=False):
    dims = list(range(self.dim())) if not dim else list(dim)
    count = math.prod(self.shape[d] for d in dims)
    away = self - self.mean(dims, True)
    return (away * away).sum(dims, keepdim) / max(count - (1 if correction is None else correction), 0)


def _norm(self, p, dim, keepdim, dtype):
    return torch.linalg.vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


@_register(aten.norm.Scalar)
def norm(self, p=2):
    return _norm(self, p, None, False, None)


@_register(aten.norm.ScalarOpt_dim)
def norm_dim(self, p, dim, keepdim=False):
    return _norm(self, p, list(dim) or None, keepdim, None)


@_register(aten.norm.ScalarOpt_dtype)
def norm_dtype(self, p, *, dtype):
    return _norm(self, p, None, False, dtype)


@_register(aten.norm.ScalarOpt_dim_dtype)
def norm_dim_dtype(self, p, dim, keepdim, *, dtype):
    return _norm(self, p, list(dim) or None, keepdim, dtype)


@_for_others(aten.dist.default)
def dist(self, other, p=2):
    return torch.linalg.vector_norm(self - other, p)


@_register(aten._fused_rms_norm.default)
def _fused_rms_norm(input, normalized_shape, weight, eps):
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    wide = _computed(input)
    rstd = ((wide * wide).mean(dims, True) + (torch.finfo(wide.dtype).eps if eps is None else eps)).rsqrt()
    out = wide * rstd
    return _stored(out if weight is None else out * weight, input), rstd


def _shares(n, parts, like):
    """Return the matrix (parts, n) that takes n elements to the means of as many neighbouring windows."""
    rows = []
    for k in range(parts):
        first, last = k * n // parts, -((k + 1) * n // -parts)
        rows.append([1 / (last - first) if first <= i < last else 0.0 for i in range(n)])
    return torch.tensor(rows, dtype=like.dtype, device=like.device)


@_for_others(aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool3d.default)
def _adaptive_avg_pool(self, output_size):
    dims = len(output_size)
    if all(n == 1 for n in output_size):
        return self.mean(list(range(-dims, 0)), True)
    for d, parts in zip(range(-dims, 0), output_size):
        self = (self.movedim(d, -1) @ _shares(self.shape[d], parts, self).T).movedim(-1, d)
    return self.contiguous()


# ------------------------------------------------------------------------------------------------ losses
@_register(aten.binary_cross_entropy.default)
def binary_cross_entropy(self, target, weight=None, reduction=1):
    loss = (target - 1) * (-self).log1p().clamp(min=-100) - target * self.log().clamp(min=-100)
    return _reduced(loss if weight is None else loss * weight, reduction)


@_register(aten.binary_cross_entropy_with_logits.default)
def binary_cross_entropy_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    tail = torch.nn.functional.logsigmoid(self)
    if pos_weight is not None:
        loss = (1 - target) * self - (1 + (pos_weight - 1) * target) * tail
    else:
        loss = (1 - target) * self - tail
    return _reduced(loss if weight is None else loss * weight, reduction)


@_register(aten.soft_margin_loss.default)
def soft_margin_loss(self, target, reduction=1):
    return _reduced((-target * self).exp().log1p(), reduction)


# ------------------------------------------------------------------------------------------------ shapes
@_for_others(aten.squeeze.dims)
def squeeze(self, dim):
    gone = {d % max(self.dim(), 1) for d in dim}
    for d in sorted(gone, reverse=True):
        if self.dim() and self.shape[d] == 1:
            self = self.squeeze(d)
    return self


@_register(aten.channel_shuffle.default)
def channel_shuffle(self, groups):
    n, channels, *rest = self.shape
    return self.reshape(n, groups, channels // groups, *rest).transpose(1, 2).reshape(self.shape)


@_register(aten.rot90.default)
def rot90(self, k=1, dims=(0, 1)):
    k, (a, b) = k % 4, dims
    if k == 2:
        return self.flip(a, b)
    return self.flip(b).transpose(a, b) if k == 1 else self.flip(a).transpose(a, b) if k == 3 else self.clone()


def _triangle_indices(rows, columns, keep, dtype, device):
    places = keep(torch.ones(rows, columns, dtype=torch.bool, device=device)).nonzero()
    return places.t().to(dtype or torch.int64)


@_for_others(aten.tril_indices.default)
def tril_indices(row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=None):
    return _triangle_indices(row, col, lambda whole: whole.tril(offset), dtype, device)


@_for_others(aten.triu_indices.default)
def triu_indices(row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=None):
    return _triangle_indices(row, col, lambda whole: whole.triu(offset), dtype, device)


@_register(aten.isin.Tensor_Tensor)
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    return ~found if invert else found


@_register(aten.isin.Tensor_Scalar)
def isin_scalar(elements, test_element, *, assume_unique=False, invert=False):
    return elements != test_element if invert else elements == test_element
