"""Decompositions of operators into PyTorch's core operators, registered in torch._decomp's table."""

import math

import torch

from ._tables import register_decomposition

aten = torch.ops.aten


def _register(*ops):
    return register_decomposition(list(ops))


def _dims(dims, n):
    return [d % n if n else 0 for d in dims]


# ------------------------------------------------------------------------------------------------ views and copies
@_register(aten.t.default)
def t(self):
    return aten.permute.default(self, list(range(self.dim()))[::-1]) if self.dim() > 1 else self


@_register(aten.transpose.int)
def transpose(self, dim0, dim1):
    order = list(range(self.dim()))
    if not order:
        return self
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return aten.permute.default(self, order)


@_register(aten.detach.default, aten.lift.default)
def detach(self):
    return aten.alias.default(self)


@_register(aten.lift_fresh_copy.default)
def lift_fresh_copy(self):
    return aten.clone.default(self)


@_register(aten._unsafe_view.default)
def _unsafe_view(self, size):
    return aten.view.default(self, size)


@_register(aten._reshape_alias.default)
def _reshape_alias(self, size, stride):
    return aten.view.default(self, size)


@_register(aten.unbind.int)
def unbind(self, dim=0):
    return [aten.select.int(self, dim, i) for i in range(self.shape[dim])]


@_register(aten.split.Tensor)
def split(self, split_size, dim=0):
    n = self.shape[dim]
    if split_size == 0:
        return [aten.alias.default(self)]
    count = int(max((n + split_size - 1) // split_size, 1))
    sizes = [split_size] * (count - 1) + [n - split_size * (count - 1)]
    return list(aten.split_with_sizes.default(self, sizes, dim))


@_register(aten.stack.default)
def stack(tensors, dim=0):
    return aten.cat.default([aten.unsqueeze.default(x, dim) for x in tensors], dim)


@_register(aten.copy.default)
def copy(self, src, non_blocking=False):
    value = aten._to_copy.default(src, dtype=self.dtype) if src.dtype is not self.dtype else src
    return aten.expand.default(value, list(self.shape)) if value.shape != self.shape else aten.clone.default(value)


@_register(aten.narrow_copy.default)
def narrow_copy(self, dim, start, length):
    return aten.clone.default(aten.slice.Tensor(self, dim, start, start + length))


@_register(aten.roll.default)
def roll(self, shifts, dims=()):
    shifts = [shifts] if not isinstance(shifts, (list, tuple)) else shifts
    dims = [dims] if not isinstance(dims, (list, tuple)) else dims
    if not dims:
        flat = aten.view.default(aten.clone.default(self, memory_format=torch.contiguous_format), [-1])
        return aten.view.default(roll(flat, shifts, [0]), list(self.shape))
    for shift, dim in zip(shifts, dims):
        n = self.shape[dim]
        at = (n - shift) % n
        parts = [aten.slice.Tensor(self, dim, at, 2**63 - 1), aten.slice.Tensor(self, dim, 0, at)]
        self = aten.cat.default(parts, dim)
    return self


@_register(aten.diag_embed.default)
def diag_embed(self, offset=0, dim1=-2, dim2=-1):
    n = self.shape[-1] + abs(offset)
    out = aten.full.default([*self.shape[:-1], n, n], 0, dtype=self.dtype, device=self.device)
    out = aten.diagonal_scatter.default(out, self, offset, -2, -1)
    return aten.permute.default(out, _moved(out.dim(), dim1, dim2))


def _moved(n, dim1, dim2):
    places = _dims((dim1, dim2), n)
    rest = iter(range(n - 2))
    return [n - 2 if i == places[0] else n - 1 if i == places[1] else next(rest) for i in range(n)]


# ------------------------------------------------------------------------------------------------ new tensors
def _made(value):
    def full(size, *, dtype=None, layout=None, device=None, pin_memory=None):
        return aten.full.default(size, value, dtype=dtype or torch.get_default_dtype(), device=device, pin_memory=False)

    return full


_register(aten.zeros.default)(_made(0))
_register(aten.ones.default)(_made(1))


def _made_like(value):
    def full_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
        return aten.full_like.default(self, value, dtype=dtype, device=device, pin_memory=False)

    return full_like


_register(aten.zeros_like.default)(_made_like(0))
_register(aten.ones_like.default)(_made_like(1))


def _made_new(value):
    def new(self, size, *, dtype=None, layout=None, device=None, pin_memory=None):
        return aten.full.default(size, value, dtype=dtype or self.dtype, device=device or self.device, pin_memory=False)

    return new


_register(aten.new_zeros.default)(_made_new(0))
_register(aten.new_ones.default)(_made_new(1))


@_register(aten.new_full.default)
def new_full(self, size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None):
    return aten.full.default(
        size, fill_value, dtype=dtype or self.dtype, device=device or self.device, pin_memory=False
    )


@_register(aten.new_empty.default)
def new_empty(self, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return aten.empty.memory_format(size, dtype=dtype or self.dtype, device=device or self.device, pin_memory=False)


@_register(aten.empty_like.default)
def empty_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return aten.empty.memory_format(
        list(self.shape), dtype=dtype or self.dtype, device=device or self.device, pin_memory=False
    )


@_register(aten.fill.Scalar)
def fill(self, value):
    return aten.full_like.default(self, value)


@_register(aten.fill.Tensor)
def fill_tensor(self, value):
    return aten.copy.default(self, value)


@_register(aten.zero.default)
def zero(self):
    return aten.full_like.default(self, 0)


@_register(aten.eye.default)
def eye(n, *, dtype=None, layout=None, device=None, pin_memory=None):
    return eye_m(n, n, dtype=dtype, device=device)


@_register(aten.eye.m)
def eye_m(n, m, *, dtype=None, layout=None, device=None, pin_memory=None):
    rows, columns = (aten.arange.default(k, dtype=torch.int64, device=device) for k in (n, m))
    same = aten.eq.Tensor(aten.unsqueeze.default(rows, -1), columns)
    return aten._to_copy.default(same, dtype=dtype or torch.get_default_dtype())


def _triangle(self, diagonal, relation):
    rows, columns = (aten.arange.default(self.shape[d], dtype=torch.int64, device=self.device) for d in (-2, -1))
    distance = aten.sub.Tensor(columns, aten.unsqueeze.default(rows, -1))
    zero = aten.full.default([], 0, dtype=self.dtype, device=self.device)
    return aten.where.self(relation(distance, diagonal), self, zero)


@_register(aten.triu.default)
def triu(self, diagonal=0):
    return _triangle(self, diagonal, aten.ge.Scalar)


@_register(aten.tril.default)
def tril(self, diagonal=0):
    return _triangle(self, diagonal, aten.le.Scalar)


# ------------------------------------------------------------------------------------------------ elementwise
@_register(aten.silu.default)
def silu(self):
    x = _computed(self)
    return _stored(aten.mul.Tensor(x, aten.sigmoid.default(x)), self)


def _computed(x):
    """Return a tensor of a half type as float32."""
    return aten._to_copy.default(x, dtype=torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


def _stored(x, like):
    return aten._to_copy.default(x, dtype=like.dtype) if x.dtype is not like.dtype else x


@_register(aten.mish.default)
def mish(self):
    return aten.mul.Tensor(self, aten.tanh.default(softplus(self)))


@_register(aten.softplus.default)
def softplus(self, beta=1, threshold=20):
    x = self if beta == 1 else aten.mul.Tensor(self, beta)
    soft = aten.log1p.default(aten.exp.default(x))
    soft = soft if beta == 1 else aten.div.Tensor(soft, beta)
    return aten.where.self(aten.gt.Scalar(x, threshold), self, soft)


@_register(aten.hardsigmoid.default)
def hardsigmoid(self):
    return aten.div.Tensor(aten.clamp.default(aten.add.Tensor(self, 3), 0, 6), 6)


@_register(aten.hardswish.default)
def hardswish(self):
    return aten.div.Tensor(aten.mul.Tensor(self, aten.clamp.default(aten.add.Tensor(self, 3), 0, 6)), 6)


@_register(aten.log_sigmoid_forward.default)
def log_sigmoid_forward(self):
    zero = aten.full_like.default(self, 0)
    z = aten.exp.default(aten.neg.default(aten.abs.default(self)))
    return aten.sub.Tensor(aten.minimum.default(zero, self), aten.log1p.default(z)), z


@_register(aten.glu.default)
def glu(self, dim=-1):
    half = self.shape[dim] // 2
    a, b = (aten.slice.Tensor(self, dim, k * half, (k + 1) * half) for k in (0, 1))
    return aten.mul.Tensor(a, aten.sigmoid.default(b))


@_register(aten.rsub.Tensor)
def rsub(self, other, alpha=1):
    return aten.sub.Tensor(other, self, alpha=alpha) if alpha != 1 else aten.sub.Tensor(other, self)


@_register(aten.rsub.Scalar)
def rsub_scalar(self, other, alpha=1):
    x = aten.neg.default(self if alpha == 1 else aten.mul.Tensor(self, alpha))
    return aten.add.Tensor(x, other)


@_register(aten.addcmul.default)
def addcmul(self, tensor1, tensor2, *, value=1):
    product = aten.mul.Tensor(tensor1, tensor2)
    return aten.add.Tensor(self, product if value == 1 else aten.mul.Tensor(product, value))


@_register(aten.addcdiv.default)
def addcdiv(self, tensor1, tensor2, *, value=1):
    quotient = aten.div.Tensor(tensor1, tensor2)
    return aten.add.Tensor(self, quotient if value == 1 else aten.mul.Tensor(quotient, value))


@_register(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(self, end, weight):
    return aten.add.Tensor(self, aten.mul.Tensor(aten.sub.Tensor(end, self), weight))


@_register(aten.frac.default)
def frac(self):
    return aten.sub.Tensor(self, aten.trunc.default(self))


@_register(aten.square.default)
def square(self):
    return aten.pow.Tensor_Scalar(self, 2)


@_register(aten.exp2.default)
def exp2(self):
    return aten.exp.default(aten.mul.Tensor(self, math.log(2)))


@_register(aten.deg2rad.default)
def deg2rad(self):
    return aten.mul.Tensor(self, math.pi / 180)


@_register(aten.rad2deg.default)
def rad2deg(self):
    return aten.mul.Tensor(self, 180 / math.pi)


@_register(aten.floor_divide.default, aten.floor_divide.Scalar)
def floor_divide(self, other):
    return aten.div.Tensor_mode(self, other, rounding_mode="floor")


@_register(aten.masked_fill.Scalar)
def masked_fill(self, mask, value):
    number = aten.full.default([], value, dtype=self.dtype, device=self.device)
    return aten.where.self(mask, number, self)


@_register(aten.masked_fill.Tensor)
def masked_fill_tensor(self, mask, value):
    return aten.where.self(mask, _stored(value, self), self)


@_register(aten.clamp_min.default)
def clamp_min(self, min):
    return aten.clamp.default(self, min)


@_register(aten.clamp_max.default)
def clamp_max(self, max):
    return aten.clamp.default(self, None, max)


@_register(aten.logical_xor.default)
def logical_xor(self, other):
    return aten.ne.Tensor(_truth(self), _truth(other))


def _truth(x):
    return x if x.dtype is torch.bool else aten.ne.Scalar(x, 0)


@_register(aten.isposinf.default)
def isposinf(self):
    return aten.eq.Scalar(self, math.inf)


@_register(aten.isneginf.default)
def isneginf(self):
    return aten.eq.Scalar(self, -math.inf)


@_register(aten.nan_to_num.default)
def nan_to_num(self, nan=None, posinf=None, neginf=None):
    if not self.dtype.is_floating_point:
        return aten.clone.default(self)
    top = torch.finfo(self.dtype)
    values = (nan or 0.0, top.max if posinf is None else posinf, top.min if neginf is None else neginf)
    tests = (aten.isnan.default, isposinf, isneginf)
    out = self
    for test, value in zip(tests, values):
        out = masked_fill(out, test(self), value)
    return out


@_register(aten.logaddexp.default)
def logaddexp(self, other):
    top = aten.maximum.default(self, other)
    gap = aten.neg.default(aten.abs.default(aten.sub.Tensor(self, other)))
    return aten.add.Tensor(top, aten.log1p.default(aten.exp.default(gap)))


@_register(aten.special_xlogy.default, aten.xlogy.Tensor)
def xlogy(self, other):
    product = aten.mul.Tensor(self, aten.log.default(other))
    return masked_fill(product, aten.eq.Scalar(self, 0), 0.0)


# ------------------------------------------------------------------------------------------------ reductions, products
@_register(aten.logsumexp.default)
def logsumexp(self, dim, keepdim=False):
    top = aten.amax.default(self, dim, True)
    top = masked_fill(top, aten.eq.Scalar(aten.abs.default(top), math.inf), 0.0)
    total = aten.log.default(aten.sum.dim_IntList(aten.exp.default(aten.sub.Tensor(self, top)), dim, True))
    out = aten.add.Tensor(total, top)
    return out if keepdim else aten.squeeze.dims(out, dim)


@_register(aten.std.correction)
def std(self, dim=None, *, correction=None, keepdim=False):
    return aten.sqrt.default(aten.var.correction(self, dim, correction=correction, keepdim=keepdim))


@_register(aten.var_mean.correction)
def var_mean(self, dim=None, *, correction=None, keepdim=False):
    dims = list(range(self.dim())) if dim is None else dim
    return aten.var.correction(self, dim, correction=correction, keepdim=keepdim), aten.mean.dim(self, dims, keepdim)


@_register(aten.std_mean.correction)
def std_mean(self, dim=None, *, correction=None, keepdim=False):
    dims = list(range(self.dim())) if dim is None else dim
    return std(self, dim, correction=correction, keepdim=keepdim), aten.mean.dim(self, dims, keepdim)


@_register(aten.aminmax.default)
def aminmax(self, *, dim=None, keepdim=False):
    dims = [] if dim is None else [dim]
    return aten.amin.default(self, dims, keepdim), aten.amax.default(self, dims, keepdim)


@_register(aten.all.default)
def all_(self):
    return aten.logical_not.default(aten.any.default(aten.logical_not.default(self)))


@_register(aten.all.dim)
def all_dim(self, dim, keepdim=False):
    return aten.logical_not.default(aten.any.dim(aten.logical_not.default(self), dim, keepdim))


@_register(aten.linalg_vector_norm.default)
def linalg_vector_norm(self, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = aten._to_copy.default(self, dtype=dtype) if dtype is not None else self
    dims = list(range(x.dim())) if dim is None else list(dim)
    size = aten.abs.default(x)
    if ord in (math.inf, -math.inf):
        return (aten.amax if ord > 0 else aten.amin).default(size, dims, keepdim)
    if ord == 0:
        return aten.sum.dim_IntList(_stored(aten.ne.Scalar(x, 0), x), dims, keepdim)
    total = aten.sum.dim_IntList(aten.pow.Tensor_Scalar(size, ord), dims, keepdim)
    return aten.pow.Tensor_Scalar(total, 1.0 / ord)


@_register(aten.baddbmm.default)
def baddbmm(self, batch1, batch2, *, beta=1, alpha=1):
    product = aten.bmm.default(batch1, batch2)
    product = product if alpha == 1 else aten.mul.Tensor(product, alpha)
    if beta == 0:
        return product
    return aten.add.Tensor(self if beta == 1 else aten.mul.Tensor(self, beta), product)


@_register(aten.addmv.default)
def addmv(self, mat, vec, *, beta=1, alpha=1):
    product = mv(mat, vec)
    product = product if alpha == 1 else aten.mul.Tensor(product, alpha)
    return aten.add.Tensor(self if beta == 1 else aten.mul.Tensor(self, beta), product)


@_register(aten.mv.default)
def mv(self, vec):
    return aten.squeeze.dims(aten.mm.default(self, aten.unsqueeze.default(vec, 1)), [1])


@_register(aten.dot.default)
def dot(self, tensor):
    return aten.sum.dim_IntList(aten.mul.Tensor(self, tensor), [0])


@_register(aten._safe_softmax.default)
def _safe_softmax(self, dim, dtype=None):
    out = aten._softmax.default(aten._to_copy.default(self, dtype=dtype) if dtype is not None else self, dim, False)
    empty = all_dim(aten.eq.Scalar(self, -math.inf), dim, True)
    return masked_fill(out, empty, 0.0)


# ------------------------------------------------------------------------------------------------ losses
def _reduced(loss, reduction):
    """Return a loss, its mean or its sum, by PyTorch's numbers 0, 1, 2."""
    return loss if reduction == 0 else aten.mean.default(loss) if reduction == 1 else aten.sum.default(loss)


@_register(aten.mse_loss.default)
def mse_loss(self, target, reduction=1):
    return _reduced(aten.pow.Tensor_Scalar(aten.sub.Tensor(self, target), 2), reduction)


@_register(aten.smooth_l1_loss.default)
def smooth_l1_loss(self, target, reduction=1, beta=1.0):
    gap = aten.abs.default(aten.sub.Tensor(self, target))
    if beta == 0:
        return _reduced(gap, reduction)
    near = aten.div.Tensor(aten.mul.Tensor(aten.pow.Tensor_Scalar(gap, 2), 0.5), beta)
    return _reduced(aten.where.self(aten.lt.Scalar(gap, beta), near, aten.sub.Tensor(gap, 0.5 * beta)), reduction)


@_register(aten.huber_loss.default)
def huber_loss(self, target, reduction=1, delta=1.0):
    gap = aten.abs.default(aten.sub.Tensor(self, target))
    near = aten.mul.Tensor(aten.pow.Tensor_Scalar(gap, 2), 0.5)
    far = aten.mul.Tensor(aten.sub.Tensor(gap, 0.5 * delta), delta)
    return _reduced(aten.where.self(aten.le.Scalar(gap, delta), near, far), reduction)
