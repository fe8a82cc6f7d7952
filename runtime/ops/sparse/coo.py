"""Sparse COO tensors: their parts, coalescing, and operators on coordinates."""

import math

from ...call.geometry import broadcast_shapes
from ...context import CONTEXT
from ...device import Size, strided
from ...tensor import contiguous_strides, wrap
from ..common import T, Tensor, dt, wrap_dim
from ..creation import FUNCTIONS
from ..valued import Table
from .gradients import product, same_elements, to_all, within
from .tensors import COO, SparseTensor, could_not_run, refused, rules, written

TABLE = Table()
on_coo = TABLE.on


class CooTensor(SparseTensor, raw=True):
    """A tensor of layout torch.sparse_coo.

    `_i` holds one index in each column. `_c` says whether the tensor is coalesced: unique indices in order.
    """

    __module__, __qualname__ = "torch", "Tensor"
    TABLE = TABLE
    INDICES = ("_i",)
    _is_sparse, _layout = True, COO

    @staticmethod
    def _by_rule(func, name, args, kwargs):
        inplace = name not in rules() and name[-1] == "_"
        o, rule = rules().get(name[:-1] if inplace else name, (None, ""))
        if not rule or not args or not isinstance(args[0], SparseTensor) or rule == "compressed":
            raise refused(func, args, kwargs)
        self = args[0]
        if kwargs.get("decimals"):
            raise could_not_run("round.decimals", self)
        if rule.endswith("coalesced") and not self._c:
            if inplace:
                raise RuntimeError(f"{o.name}_ requires coalesced input")
            self = self.coalesce()
        for other in args[1:]:
            if isinstance(other, Tensor):
                _only_a_number(o.name, other)
        values = func(self._v, *args[1:], **kwargs)
        return self if values is self._v else self._with(values)

    def _with(self, values):
        indices = self._i if self._i.device is values.device else self._i.to(values.device)
        t = make(indices, values, self._shape)
        t._c = self._c
        return t

    def _become(self, name, result):
        if name != "zeros":
            return written(self, result)
        if CONTEXT.grad and self.requires_grad:
            raise RuntimeError(
                "zeros(): functions with out=... arguments don't support automatic differentiation, "
                "but one of the arguments requires grad."
            )
        self._take(nothing(result._shape, len(result._shape), self.dtype, self.device))
        return self._requiring_grad() if result._requires_grad else self

    def resize_as_(self, the_template, *, memory_format=None):
        return TABLE["resize_as_sparse_"](self, the_template)

    def new(self, *args, device=None):
        """Create a tensor of this layout by the legacy constructor: from a size, or from indices and values."""
        if args and isinstance(args[0], Tensor):
            if args[0].dtype is not dt.int64 and len(args) > 1:
                raise RuntimeError(f"expected scalar type Long but found {dt.scalar_name(args[0].dtype)}")
            return FUNCTIONS["sparse_coo_tensor"](*args, dtype=self.dtype, device=device or self.device)
        if args and isinstance(args[0], (list, tuple)) and not isinstance(args[0], Size):
            raise TypeError(
                "SparseTensor.new(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or construct a "
                "strided tensor and convert it to sparse via to_sparse."
            )
        size = tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args or (0,)
        return nothing(size, len(size), self.dtype, device or self.device)

    def stride(self, dim=None):
        zeros = (0,) * len(self._shape)
        return zeros if dim is None else zeros[wrap_dim(dim, len(zeros))]

    def is_contiguous(self, memory_format=None):
        return False

    def item(self):
        if len(self._shape) and self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self.to_dense().item()

    def _gradient(self, g):
        if self._c:
            return self._with(g)
        if self._in_order():  # over the same memory, so that writes to the gradient persist
            return make(self._i, g, self._shape, True)
        # values at the same index have one gradient
        flat, where = T.unique(flat_index(self._i, self._shape[: self._i._shape[0]]), return_inverse=True)
        values = T.zeros((flat._shape[0], *g._shape[1:]), dtype=g.dtype, device=g.device).index_put((where,), g)
        return make(T.stack(T.unravel_index(flat, self._shape[: self._i._shape[0]])), values, self._shape, True)

    def _in_order(self):
        """Whether the indices are unique and in order."""
        if self._c:
            return True
        flat = flat_index(self._i, self._shape[: self._i._shape[0]])
        return bool((flat[1:] > flat[:-1]).all())

    def _holds(self, other):
        """Whether all specified elements of `other`, of the same shape, are specified here, too."""
        return other._layout is COO and bool(
            T.isin(*(flat_index(t._i, self._shape[: t._i._shape[0]]) for t in (other, self))).all()
        )

    def _at_indices(self, other):
        if (
            other._layout is COO and T.equal(self._i, other._i) and self._in_order()
        ):  # shares memory, so that writes to the values of `other` are seen here
            return other._v
        return values_at(other.to_dense(), self._i)

    @property
    def nbytes(self):
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, "
            "add the nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, "
            "multiply numel() by element_size()"
        )

    def resize_(self, *size, memory_format=None):
        raise could_not_run("resize_", self)

    def t_(self):
        return self._take(TABLE["t"](self))

    def transpose_(self, dim0, dim1):
        return self._take(TABLE["transpose"](self, dim0, dim1))

    swapaxes_ = swapdims_ = transpose_

    def squeeze_(self, *dims):
        raise could_not_run("as_strided_", self)

    unsqueeze_ = as_strided_ = squeeze_

    def __getitem__(self, index):
        return TABLE["__getitem__"](self, index)

    def __iter__(self):
        return iter(TABLE["unbind"](self))


def _only_a_number(name, other):
    """Raise PyTorch's errors of a quotient of a sparse tensor whose divisor is no number."""
    if "div" not in name:
        return
    kind = "Sparse floor division" if "floor" in name else "Sparse division"
    if isinstance(other, SparseTensor) and not other._shape:
        raise RuntimeError(f"{kind} requires a scalar or zero-dim dense tensor divisor (got a sparse divisor)")
    if other._shape:
        raise RuntimeError(
            f"{kind} requires a scalar or zero-dim dense tensor divisor (got shape {list(other._shape)} for divisor)"
        )


def values_at(dense, indices):
    """Return the values of a strided tensor at the columns of `indices`, also if there is no sparse dimension."""
    return dense[tuple(indices)] if indices._shape[0] else dense.expand((indices._shape[1], *dense._shape))


def make(indices, values, shape, coalesced=False):
    """Return a coordinate tensor over these indices and values."""
    t = wrap(None, tuple(shape), values.dtype, values.device)
    t.__class__ = CooTensor
    t._i, t._v, t._c = indices, values, bool(coalesced or indices._shape[1] < 2)
    return t


def nothing(shape, sparse_dim, dtype, device):
    """Return a coordinate tensor without any values."""
    return make(
        T.zeros((sparse_dim, 0), dtype=dt.int64, device=device),
        T.zeros((0, *shape[sparse_dim:]), dtype=dtype, device=device),
        shape,
        True,
    )


def flat_index(indices, shape):
    """Return the flat index of each index in a tensor of this shape."""
    strides = FUNCTIONS["tensor"](contiguous_strides(shape), dtype=dt.int64, device=indices.device)
    return (indices * strides.unsqueeze(1)).sum(0)


CooTensor.__name__ = "Tensor"  # PyTorch has one class for all layouts


# ------------------------------------------------------------------------------------------------ parts
def _coalesced(name, get):
    def f(self):
        if not self._c:
            raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
        return get(self)

    return f


@on_coo("coalesce")
@same_elements
def coalesce(self):
    """Sort the indices and add up values of the same index."""
    if self._c:
        return self
    n = self._i._shape[0]
    flat, where = T.unique(flat_index(self._i, self._shape[:n]), return_inverse=True)
    v = self._v if self.dtype is not dt.bool_ else self._v.to(dt.uint8)
    values = T.zeros((flat._shape[0], *v._shape[1:]), dtype=v.dtype, device=v.device).index_add(0, where, v)
    indices = T.stack(T.unravel_index(flat, self._shape[:n])) if n else self._i[:, :1]
    return make(indices, values.to(self.dtype), self._shape, True)


TABLE.update(
    indices=_coalesced("indices", lambda self: self._i),
    values=_coalesced("values", lambda self: self._v),
    is_coalesced=lambda self: self._c,
    sparse_dim=lambda self: self._i._shape[0],
    dense_dim=lambda self: len(self._shape) - self._i._shape[0],
    _dimI=lambda self: self._i._shape[0],
    _dimV=lambda self: len(self._shape) - self._i._shape[0],
    _indices=lambda self: self._i,
    _values=lambda self: self._v.detach() if self._v.requires_grad else self._v,
    _nnz=lambda self: self._i._shape[1],
)


@on_coo("_coalesced_")
def coalesced_(self, coalesced):
    self._c = coalesced
    return self


# ------------------------------------------------------------------------------------------------ arithmetic
@on_coo("add")
@to_all
def add(self, other, *, alpha=1):
    if not isinstance(other, SparseTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not isinstance(self, SparseTensor):
        return _dense_plus(self, other, alpha)
    if self._shape != other._shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(self._shape)} != {list(other._shape)}"
        )
    a, b = self._i._shape[0], other._i._shape[0]
    if a != b and not (self._nnz() and other._nnz()):  # PyTorch does not check the sparse dimensions of an empty tensor
        common = dt.promote_types(self.dtype, other.dtype)
        return (self.clone() if not other._nnz() else other * alpha if alpha != 1 else other.clone()).to(common)
    if a != b:
        dims = f"'self' has {a} sparse dimensions while 'other' has {b} sparse dimensions"
        raise RuntimeError(f"add: expected 'self' and 'other' to have same density, but {dims}")
    common = dt.promote_types(self.dtype, other.dtype)
    v = (other._v if alpha == 1 else other._v * alpha).to(common)
    if common is dt.bool_:
        raise NotImplementedError("\"cadd_sparse\" not implemented for 'Bool'")
    if T.equal(self._i, other._i):  # PyTorch merges both in one pass, so equal indices stay as they are
        both = make(self._i, self._v.to(common) + v, self._shape)
        both._c = self._c and other._c
        return both
    both = make(T.cat((self._i, other._i), 1), T.cat((self._v.to(common), v)), self._shape)
    if self._c and other._c:
        return both.coalesce()
    if all(t._c or rises(t) for t in (self, other)):  # PyTorch merges tensors whose indices are in order
        both = both.coalesce()
        both._c = both._i._shape[1] < 2
    return both


def rises(t):
    """Whether the indices are unique and in order, although the tensor is not marked as coalesced."""
    keys = flat_index(t._i, t._shape[: t._i._shape[0]])
    return bool((keys.diff() > 0).all())


def _dense_plus(self, other, alpha):
    shape = getattr(self, "_shape", ())
    if shape != other._shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(shape)} while other has size "
            f"{list(other._shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    v, common = other._v if alpha == 1 else other._v * alpha, dt.promote_types(self.dtype, other.dtype)
    if not other._i._shape[0]:
        return self.to(common) + v.to(common).sum(0)
    return self.to(common).index_put(tuple(other._i), v.to(common), True)


@on_coo("sub", "subtract")
@to_all
def sub(self, other, *, alpha=1):
    return add(self, other, alpha=-alpha)


@on_coo("rsub")
def rsub(self, other, *, alpha=1):
    if isinstance(other, Tensor):
        raise could_not_run("rsub.Tensor", self if isinstance(self, SparseTensor) else other)
    return _dense_plus(other, self, -alpha)


@on_coo("add_")
def add_(self, other, *, alpha=1):
    if isinstance(self, SparseTensor):
        result = add(self, other, alpha=alpha)
    else:
        if self._shape != other._shape:
            return _dense_plus(self, other, alpha)  # raises the error
        result = make(other._i, other._v if alpha == 1 else other._v * alpha, other._shape)
    if not dt.can_cast(dt.promote_types(self.dtype, result.dtype), self.dtype):
        names = dt.scalar_name(dt.promote_types(self.dtype, result.dtype)), dt.scalar_name(self.dtype)
        raise RuntimeError("Can't convert result type {} to output {} in add operation".format(*names))
    if isinstance(self, SparseTensor):
        return self._take(result.to(self.dtype))
    return (
        self.index_put_(tuple(other._i), result._v.to(self.dtype), True)
        if other._i._shape[0]
        else self.add_(result._v.sum(0))
    )


@on_coo("sub_", "subtract_")
def sub_(self, other, *, alpha=1):
    return add_(self, other, alpha=-alpha)


@product
def mul(self, other):
    if not isinstance(self, SparseTensor):
        self, other = other, self
    if not isinstance(other, Tensor):
        return self._with(self._v * other)
    # values are 1-d here, so they would not promote like 0-d tensors
    if not self._shape and not other._shape and self.dtype is not other.dtype:
        common = dt.promote_types(self.dtype, other.dtype)
        self, other = self.to(common), other.to(common)
    if not isinstance(other, SparseTensor):
        return self._with(self._v * other) if not other._shape else _times_dense(self, other)
    if not other._shape or not self._shape:
        swapped = other._shape or not self._shape and self._nnz() == 1 != other._nnz()
        a, number = (other, self) if swapped else (self, other)
        return a._with(a._v * number.to_dense())
    k = self._i._shape[0]
    if self._shape == other._shape and not (self._nnz() and other._nnz()):
        return nothing(self._shape, k, dt.promote_types(self.dtype, other.dtype), self.device)
    if len(self._shape) != len(other._shape) or k != other._i._shape[0] or self._shape[:k] != other._shape[:k]:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, "
            "number of sparse dimensions, and shape of sparse dimensions"
        )
    # One of them may hold an index more than once, because products are distributive. If both do, PyTorch keeps the
    # smaller one.
    swapped = not other._c and (self._c or self._nnz() >= other._nnz())
    a, b = (other, self.coalesce()) if swapped else (self, other.coalesce())
    flat, keys = flat_index(a._i, a._shape[:k]), flat_index(b._i, a._shape[:k])
    at = T.searchsorted(keys, flat)
    found = keys[at.clamp(max=keys._shape[0] - 1)] == flat if keys._shape[0] else T.zeros_like(flat, dtype=dt.bool_)
    at, kept = at[found], found.nonzero().squeeze(1)
    values = a._v[kept] * b._v[at]
    return make(a._i[:, kept], values, (*self._shape[:k], *values._shape[1:]), a._c)


on_coo("mul", "multiply")(within(mul))


def _times_dense(self, other):
    shape = tuple(broadcast_shapes(self._shape, other._shape))
    if shape != self._shape:
        self = broadcast(self, shape)
    factors = values_at(other.expand(shape), self._i)
    return self._with(self._v * factors)


@on_coo("_sparse_broadcast_to")
def broadcast(self, size):
    """Broadcast to a larger size, with the values repeated along new sparse positions."""
    s, size = self, tuple(size)
    k, new = s._i._shape[0], len(size) - len(s._shape)
    values, indices = s._v, s._i
    if new:
        indices = T.cat((T.zeros((new, indices._shape[1]), dtype=dt.int64, device=s.device), indices))
        k += new
    old = (1,) * new + s._shape
    for d in reversed([d for d in range(k) if old[d] != size[d]]):
        n, nnz = size[d], indices._shape[1]
        indices = indices.repeat(1, n)
        indices[d] = T.arange(n, device=s.device).repeat_interleave(nnz)
        values = values.repeat(n, *(1,) * (len(values._shape) - 1))
    values = values.expand(values._shape[0], *size[k:])
    return make(indices, values, size).coalesce()


@on_coo("mul_", "multiply_")
def mul_(self, other):
    before = self._with(self._v)  # kept by the node of the product
    before.__dict__.update(self.__dict__)
    result = mul(before, other)
    if not isinstance(self, SparseTensor):
        return self.copy_(result.to_dense())
    if not dt.can_cast(result.dtype, self.dtype):
        raise RuntimeError(
            f"dtype of values ({dt.scalar_name(result.dtype)}) must match dtype of sparse tensor "
            f"({dt.scalar_name(self.dtype)})"
        )
    return self._take(result.to(self.dtype))


@on_coo("inner")
def inner(self, other):
    if self._shape and other._shape:
        raise could_not_run("as_strided", self if isinstance(self, SparseTensor) else other)
    return mul(self, other)


@on_coo("ldexp")
def ldexp(self, other):
    return mul(self, T.pow(2.0, other))


@on_coo("ldexp_")
def ldexp_(self, other):
    return mul_(self, T.pow(2.0, other))


@on_coo("pow")
def power(self, exponent):
    if not isinstance(self, SparseTensor) or isinstance(exponent, Tensor):
        t = self if isinstance(self, SparseTensor) else exponent
        raise could_not_run("pow.Tensor_Tensor" if isinstance(self, Tensor) else "pow.Scalar", t)
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    self = self.coalesce()
    return self._fits(self._with(self._v**exponent))


@on_coo("float_power")
def float_power(self, exponent):
    return power(
        self.to(dt.complex128 if self.dtype.is_complex or isinstance(exponent, complex) else dt.float64), exponent
    )


@on_coo("div", "divide")
@to_all
def div(self, other, *, rounding_mode=None):
    if not isinstance(self, SparseTensor):
        _only_a_number("div", other)
    if isinstance(other, Tensor):
        _only_a_number("div", other)
    if rounding_mode is not None:
        self = self.coalesce()
    return self._with(T.div(self._v, other, rounding_mode=rounding_mode))


@on_coo("div_", "divide_")
def div_(self, other, *, rounding_mode=None):
    return self._take(self._fits(div(self, other, rounding_mode=rounding_mode)))


@on_coo("floor_divide_")
def floor_divide_(self, other):
    return self._take(self._fits(T.floor_divide(self, other)))


# ------------------------------------------------------------------------------------------------ memory
@on_coo("zeros_like", "empty_like")
def zeros_like(
    self, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False
):
    if layout not in (None, COO):
        like = T.empty(self._shape, dtype=dtype or self.dtype, layout=layout, device=device or self.device)
        return T.zeros_like(like, memory_format=memory_format, requires_grad=requires_grad)
    if memory_format is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    out = nothing(self._shape, self._i._shape[0], dtype or self.dtype, device or self.device)
    return out._requiring_grad() if requires_grad else out


@on_coo("new_zeros", "new_empty")
def new_zeros(self, *size, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    return T.zeros(
        size, dtype=dtype or self.dtype, layout=layout or COO, device=device or self.device, requires_grad=requires_grad
    )


@on_coo("copy_")
def copy_(self, src, non_blocking=False):
    if not isinstance(src, Tensor):
        src = FUNCTIONS["tensor"](src)
    if not isinstance(src, CooTensor) or not isinstance(self, CooTensor):
        types = f"Found self type = {self.type()} and src type = {src.type()}"
        raise RuntimeError(f"copy_() between dense and sparse Tensors is not implemented! {types}")
    if self._nnz():
        _check_growing(self, src._shape, src.sparse_dim(), src.dense_dim())
    return self._take(src.clone().to(dtype=self.dtype, device=self.device))


@on_coo("zero_")
def zero_(self):
    return self._take(zeros_like(self))


@on_coo("type")
def type_(self, dtype=None, non_blocking=False):
    if dtype is None:
        return self._v.type().replace("torch.", "torch.sparse.")
    return self._with(self._v.type(dtype.replace("torch.sparse.", "torch.") if isinstance(dtype, str) else dtype))


@on_coo("is_same_size")
def is_same_size(self, other):
    return self._shape == other._shape


def _check_dims(size, sparse_dim, dense_dim):
    if len(size) != sparse_dim + dense_dim:
        dims = f"len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: {dims}")


def _check_growing(self, size, sparse_dim, dense_dim):
    """Raise PyTorch's errors for another size of a tensor with values, which may only grow."""
    k = self._i._shape[0]
    dense = len(self._shape) - k
    where = (
        "on a non-empty sparse tensor is not supported.\nYou could try the following options:\n1. "
        "If you need an empty sparse tensor of this size, "
    )
    where += (
        "call `x = torch.sparse_coo_tensor(size)`.\n2. If you need to resize this tensor, "
        "keep the number of dimensions and let none of them shrink."
    )
    for kind, old, new in (("sparse", k, sparse_dim), ("dense", dense, dense_dim)):
        if old != new:
            raise RuntimeError(f"changing the number of {kind} dimensions (from {old} to {new}) {where}")
    for kind, part in (("sparse", slice(0, k)), ("dense", slice(k, None))):
        old, new = self._shape[part], size[part]
        if any(a > b for a, b in zip(old, new)):
            raise RuntimeError(f"shrinking the size of {kind} dimensions (from {list(old)} to {list(new)}) {where}")


@on_coo("sparse_resize_")
def sparse_resize_(self, size, sparse_dim, dense_dim):
    """Change the size; a tensor with values may only grow."""
    size, nnz = tuple(size), self._nnz()
    _check_dims(size, sparse_dim, dense_dim)
    if not nnz:
        return sparse_resize_and_clear_(self, size, sparse_dim, dense_dim)
    _check_growing(self, size, sparse_dim, dense_dim)
    shape = (nnz, *size[sparse_dim:])
    values = self._v.reshape(-1)  # values stay in their memory order, as in resize_()
    fill = T.zeros((math.prod(shape) - values._shape[0],), dtype=values.dtype, device=values.device)
    return self._take(make(self._i, T.cat((values, fill)).reshape(shape), size, self._c))


@on_coo("resize_as_sparse_")
def resize_as_sparse_(self, template):
    if template._layout is strided:
        return sparse_resize_(self, template._shape, 0, len(template._shape))
    k = template.sparse_dim()
    return (
        self if template._shape == self._shape else sparse_resize_(self, template._shape, k, len(template._shape) - k)
    )


@on_coo("sparse_resize_and_clear_")
def sparse_resize_and_clear_(self, size, sparse_dim, dense_dim):
    """Change the size and remove all values."""
    _check_dims(size, sparse_dim, dense_dim)
    return self._take(nothing(tuple(size), sparse_dim, self.dtype, self.device))


def rows_gradient(g, shape, indices, padding_idx):
    """Return the gradient of an embedding's weight: rows of g at indices."""
    indices = T.clone(indices).reshape(1, -1).to(dt.int64)  # copied, because the program may change its tensor
    values = g.reshape(indices._shape[1], shape[-1])
    if padding_idx >= 0:
        kept = indices[0] != padding_idx
        indices, values = indices[:, kept], values[kept]
    return make(indices, values, shape)


def gather_gradient(g, shape, dim, index):
    """Return the gradient of gather's input: each element of g at its source position."""
    index = index.reshape(-1) if not index._shape else index
    if not shape:
        return make(T.zeros((0, index.numel()), dtype=dt.int64, device=g.device), g.reshape(-1), shape)
    places = list(T.ones_like(index).nonzero().unbind(1))
    places[dim] = index.reshape(-1)
    return make(T.stack(places), g.reshape(-1), shape)
