"""Coordinate tensors: shapes, indexing, concatenation, and reductions."""

from ...device import strided
from ..common import T, Tensor, dt, wrap_dim, wrap_dims
from .coo import CooTensor, make, on_coo, sub
from .gradients import to_all
from .tensors import SparseTensor, could_not_run


# ------------------------------------------------------------------------------------------------ shape
@on_coo("t")
@to_all
def t(self):
    k, n = self._i._shape[0], len(self._shape)
    if k > 2 or n > k:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {k} sparse and {n - k} dense "
            f"dimensions"
        )
    return self if n < 2 else transpose(self, 0, 1)


@on_coo("transpose", "swapaxes", "swapdims")
@to_all
def transpose(self, dim0, dim1):
    n, k = len(self._shape), self._i._shape[0]
    a, b = wrap_dim(dim0, n), wrap_dim(dim1, n)
    if a == b:
        return self
    if max(a, b) >= k:
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {k}, d0: {a}, d1: {b}"
        )
    order = list(range(n))
    order[a], order[b] = b, a
    return make(self._i[order[:k]], self._v, [self._shape[d] for d in order])


@on_coo("permute")
@to_all
def permute(self, *dims):
    dims = tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims
    n, k = len(self._shape), self._i._shape[0]
    if len(dims) != n:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(d, n) for d in dims]
    if len(set(order)) < n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if any(d >= k for d in order[:k]):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed."
            "Only transpositions within sparse and dense dimensions are supported."
        )
    values = self._v if k == n else self._v.permute(0, *(d - k + 1 for d in order[k:]))
    out = make(self._i[order[:k]], values, [self._shape[d] for d in order])
    out._c = self._c and dims[:1] == (0,)  # PyTorch checks only the first dimension, before wrapping
    return out


@on_coo("unsqueeze")
def unsqueeze(self, dim):
    n, k = len(self._shape), self._i._shape[0]
    dim = wrap_dim(dim, n + 1)
    shape = (*self._shape[:dim], 1, *self._shape[dim:])
    if dim > k:
        return make(self._i, self._v.unsqueeze(dim - k + 1), shape, self._c)
    zeros = T.zeros((1, self._i._shape[1]), dtype=dt.int64, device=self.device)
    return make(T.cat((self._i[:dim], zeros, self._i[dim:])), self._v, shape)


def _mapped(dims, indices, values, shape, coalesced):
    """Keep only the sparse dimensions `dims`; the result is a strided tensor if there are none."""
    if not dims:
        return values.sum(0, dtype=values.dtype) if values.dtype is not dt.bool_ else values.any(0)
    return make(indices[dims], values, shape, coalesced)


@on_coo("select")
def select(self, dim, index):
    n, k = len(self._shape), self._i._shape[0]
    if not n:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, n)
    size = self._shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self._shape)} at dimension {dim}"
        )
    index, shape = index % size, (*self._shape[:dim], *self._shape[dim + 1 :])
    if dim >= k:
        return make(self._i, self._v.select(dim - k + 1, index), shape, self._c)
    kept = (self._i[dim] == index).nonzero().squeeze(1)
    return _mapped([d for d in range(k) if d != dim], self._i[:, kept], self._v[kept], shape, self._c)


@on_coo("unbind")
def unbind(self, dim=0):
    if not self._shape:
        raise TypeError("iteration over a 0-d tensor")
    return tuple(select(self, dim, i) for i in range(self._shape[wrap_dim(dim, len(self._shape))]))


@on_coo("__getitem__")
def indexed(self, index):
    """Return self[index], for an index of integers, None, Ellipsis and full slices.

    Sparse tensors support no other indexing.
    """
    index = index if isinstance(index, tuple) else (index,)
    given = sum(i is not None and i is not Ellipsis and not isinstance(i, bool) for i in index)
    if given > len(self._shape):
        raise IndexError(f"too many indices for tensor of dimension {len(self._shape)}")
    out, d = self, 0
    for i in index:
        if i is Ellipsis:
            d += len(self._shape) - given
        elif i is None:
            out, d = unsqueeze(out, d) if isinstance(out, SparseTensor) else out.unsqueeze(d), d + 1
        elif isinstance(i, bool):
            raise could_not_run("fill_.Scalar", self)
        elif isinstance(i, slice):
            if not isinstance(out, SparseTensor):  # integers have selected values, which are strided
                out = out[(slice(None),) * d + (i,)]
            elif i.indices(out._shape[d]) != (0, out._shape[d], 1):
                raise could_not_run("as_strided", self)
            d += 1
        elif isinstance(i, Tensor) and (i._shape or i.dtype.category > dt.INT) or not hasattr(i, "__index__"):
            raise could_not_run("index.Tensor", self)
        else:
            i, size = int(i), out._shape[d]
            if not -size <= i < size:
                raise IndexError(f"index {i} is out of bounds for dimension {d} with size {size}")
            out = out.select(d, i)
    if out is self:
        self._no_memory()
    return out


@on_coo("narrow_copy")
def narrow_copy(self, dim, start, length):
    n, k = len(self._shape), self._i._shape[0]
    if not 0 <= dim < n:
        raise RuntimeError(f"Dimension {dim} out of range. Expecting 0 <= dim < {n}.")
    if length < 0 or start < 0 or start + length > self._shape[dim]:
        raise RuntimeError(
            f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {self._shape[dim]})."
        )
    shape = (*self._shape[:dim], length, *self._shape[dim + 1 :])
    if dim >= k:
        return make(self._i, self._v.narrow(dim - k + 1, start, length).clone(), shape)
    kept = ((self._i[dim] >= start) & (self._i[dim] < start + length)).nonzero().squeeze(1)
    indices = self._i[:, kept]
    indices[dim] -= start
    out = make(indices, self._v[kept], shape)
    out._c = False
    return out


@on_coo("index_select")
def index_select(self, dim, index):
    n, k = len(self._shape), self._i._shape[0]
    dim = wrap_dim(dim, n)
    if len(index._shape) != 1 or index._layout is not strided or index.dtype is not dt.int64:
        raise IndexError("index_select() argument index must be 1-D strided (non-sparse) long-tensor.")
    size = self._shape[dim]
    for i in index.tolist():
        if not -size <= i < size:
            raise IndexError(
                f"index_select(): index contains {i} that is out of range for tensor of size {list(self._shape)} at "
                f"dimension {dim}"
            )
    index = T.where(index < 0, index + size, index)
    shape = (*self._shape[:dim], index._shape[0], *self._shape[dim + 1 :])
    if dim >= k:
        return make(self._i, self._v.index_select(dim - k + 1, index), shape, self._c)
    wanted, order = index.sort(stable=True)
    column = self._i[dim].contiguous()
    at, which = expanded(T.searchsorted(wanted, column), T.searchsorted(wanted, column, right=True))
    indices = self._i[:, which]
    indices[dim] = order[at]
    return make(indices, self._v[which], shape)


def expanded(start, end):
    """Return the positions start[j] to end[j] for each j, concatenated, and the j that each of them belongs to."""
    count = end - start
    which = T.arange(count._shape[0], device=count.device).repeat_interleave(count)
    within = T.arange(which._shape[0], device=count.device) - (count.cumsum(0) - count)[which]
    return start[which] + within, which


@on_coo("cat", "concat", "concatenate")
def cat(tensors, dim=0):
    first = tensors[0]
    for n, t in enumerate(tensors):
        if not isinstance(t, CooTensor):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {n}.")
    dim = wrap_dim(dim, len(first._shape))
    k = first._i._shape[0]
    rest = lambda shape: (*shape[:dim], *shape[dim + 1 :])  # noqa: E731
    for n, t in enumerate(tensors):
        if len(t._shape) != len(first._shape) or rest(t._shape) != rest(first._shape):
            shapes = (
                f"{list(first._shape)} (except in the concatenating dimension), but found shape: "
                f"{list(t._shape)} at position {n}"
            )
            raise RuntimeError(f"All tensors must have the same shape: {shapes}.")
        if t._i._shape[0] != k:
            dims = (
                f"{k}, {len(first._shape) - k}, but tensor at position {n} has {t._i._shape[0]}, "
                f"{len(t._shape) - t._i._shape[0]}"
            )
            raise RuntimeError(f"All tensors must have the same sparse_dim and dense_dim: {dims}.")
    total = sum(t._shape[dim] for t in tensors)
    shape, indices, values, before = (*first._shape[:dim], total, *first._shape[dim + 1 :]), [], [], 0
    for t in tensors:
        i, v, size = t._i, t._v, t._shape[dim]
        if dim < k:
            i = i.clone()
            i[dim] += before
        else:
            d = dim - k + 1
            pad = lambda n, v=v, d=d: T.zeros((*v._shape[:d], n, *v._shape[d + 1 :]), dtype=v.dtype, device=v.device)  # noqa: E731
            v = T.cat((pad(before), v, pad(total - before - size)), d)
        before += size
        indices.append(i)
        values.append(v)
    return make(T.cat(indices, 1), T.cat(values), shape)


@on_coo("stack")
def stack(tensors, dim=0):
    for n, t in enumerate(tensors):
        if t._shape != tensors[0]._shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0]._shape)} at entry 0 and "
                f"{list(t._shape)} at entry {n}"
            )
    dim = wrap_dim(dim, len(tensors[0]._shape) + 1)
    return cat([t.unsqueeze(dim) for t in tensors], dim)


@on_coo("vstack", "row_stack")
def vstack(tensors):
    return cat([t.unsqueeze(0) if len(t._shape) == 1 else t for t in tensors], 0)


@on_coo("hstack")
def hstack(tensors):
    return cat(tensors, 0 if len(tensors[0]._shape) == 1 else 1)


@on_coo("view_as_real")
def view_as_real(self):
    return make(self._i, T.view_as_real(self._v), (*self._shape, 2), self._c)


@on_coo("view_as_complex")
def view_as_complex(self):
    return make(self._i, T.view_as_complex(self._v), self._shape[:-1], self._c)


@on_coo("_real", "real")
def real(self):
    return select(view_as_real(self), -1, 0) if self.dtype.is_complex else self


@on_coo("imag")
def imag(self):
    if not self.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return select(view_as_real(self), -1, 1)


# ------------------------------------------------------------------------------------------------ reductions
def _gone(self, dim):
    if isinstance(dim, int):
        dim = (dim,)
    n = len(self._shape)
    if dim is None or not dim:
        return tuple(range(n))
    return wrap_dims(dim, n)


@on_coo("sum")
@to_all
def sum_(self, dim=None, keepdim=False, *, dtype=None):
    dtype = dtype or (dt.int64 if self.dtype.category <= dt.INT else self.dtype)
    out = sparse_sum(self, dim, dtype=dtype)
    if keepdim:
        for d in _gone(self, dim):
            out = out.unsqueeze(d)
    return out


@on_coo("_sparse_sum")
def sparse_sum(self, dim=None, *, dtype=None):
    """torch.sparse.sum: sum over all elements or over dimensions. Sparse if a sparse dimension remains."""
    k, gone = self._i._shape[0], _gone(self, dim)
    values = self._v if dtype is None else self._v.to(dtype)
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return values.sum(dtype=dtype)
    inner = [d - k + 1 for d in gone if d >= k]
    if inner:
        values = values.sum(inner, dtype=values.dtype)
    rows = [d for d in range(k) if d not in gone]
    if not rows:
        return values.sum(0, dtype=dtype)
    out = make(
        self._i[rows], values, [s for d, s in enumerate(self._shape) if d not in gone], self._c and len(rows) == k
    )
    return out.coalesce()


@on_coo("norm", "native_norm")
def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    if dtype is not None and p in ("fro", None):
        raise ValueError("dtype argument is not supported in frobenius norm")
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    given = dim if isinstance(dim, (tuple, list)) else () if dim is None else (dim,)
    if given and (len(given) > len(self._shape) or len(_gone(self, dim)) < len(self._shape)):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
            "dimensions of the input"
        )
    if self.dtype.category < dt.FLOAT:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {dt.scalar_name(self.dtype)} instead."
        )
    return self.coalesce()._v.flatten().norm(2 if p in ("fro", None) else p)


@on_coo("dist")
def dist(self, other, p=2):
    return norm(sub(self, other), p)


@on_coo("any")
def any_(self, dim=None, keepdim=False):
    if dim is not None:
        raise could_not_run("any.dim", self)
    return self._v.any()
