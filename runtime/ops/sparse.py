"""Sparse COO tensors: a strided tensor of indices, one of values, and the operators that programs use on them.

A sparse tensor has neither memory nor a place in the graph of its own: whatever is differentiable goes through its values.
Calls on it come by __torch_function__; what stands in no table here is not implemented for the layout, and says so.
"""

import functools

from ..declare import composite
from ..device import LAYOUTS, strided
from ..registry import operators
from ..tensor import contiguous_strides, wrap
from .common import T, Tensor, dt, wrap_dim, wrap_dims
from .creation import FUNCTIONS, place
from .memory import CONVERSIONS

COO = LAYOUTS["sparse_coo"]
TABLE = {}  # name of a public function -> what it does with sparse arguments
# methods that are no operators and act on each value as it is
_CONVERSIONS = frozenset(("to", "cpu", "npu", *CONVERSIONS))


@functools.cache
def _rules():
    """name -> what the declaration of an operator says for sparse tensors: "values" or "coalesced"."""
    return {name: o.options.sparse for o in operators() if o.options.sparse for name in (o.name, *o.options.alias)}


def _rule(name):
    """The rule of a function's name; of in-place ones only those on values are there."""
    rule = _rules().get(name.rstrip("_"))
    return rule if rule == "values" or name in _rules() else None


def on_sparse(*names):
    def deco(f):
        TABLE.update(dict.fromkeys(names, f))
        return f

    return deco


class INVARIANTS:
    """torch.sparse.check_sparse_tensor_invariants: whether indices are compared with the size when a tensor is made."""

    checked = False


class SparseTensor(Tensor, raw=True):
    """A tensor of layout torch.sparse_coo."""

    __module__ = "torch"
    is_sparse, layout = True, COO

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name, kwargs = func.__name__, kwargs or {}
        if "out" not in kwargs:
            if name in TABLE:
                return TABLE[name](*args, **kwargs)
            rule = "values" if name in _CONVERSIONS else _rule(name)
            if args and isinstance(args[0], SparseTensor) and rule is not None:
                self = args[0].coalesce() if rule == "coalesced" else args[0]
                for other in args[1:]:
                    if isinstance(other, Tensor) and other._shape:
                        raise RuntimeError(
                            (f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {list(other._shape)} for divisor)")
                            if "div" in name
                            else f"{name}: expected a number beside a sparse tensor, got shape {list(other._shape)}"
                        )
                values = func(self._v, *args[1:], **kwargs)
                return self if values is self._v else self._with(values)
        raise _unsupported(name + (" with out=" if "out" in kwargs else ""), next(a for a in _flat((*args, *kwargs.values())) if isinstance(a, SparseTensor)))

    def _with(self, values):
        return make(self._i if self._i.device is values.device else self._i.to(values.device), values, self._shape, self._c)

    def _take(self, other):
        """Become `other`: the in-place operators."""
        self._i, self._v, self._c = other._i, other._v, other._c
        self._bump()
        return self

    def _no_memory(self, *args, **kwargs):
        raise _unsupported("access to the memory", self)

    _make_array = _mstensor = _get_storage = tolist = view = __getitem__ = __setitem__ = __iter__ = _no_memory

    def numpy(self, *, force=False):
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def stride(self, dim=None):
        return (0,) * len(self._shape) if dim is None else 0

    def is_contiguous(self, memory_format=None):
        return False

    def item(self):
        return self.to_dense().item()

    def detach(self):
        return self._with(self._v.detach())

    data = property(detach)

    def detach_(self):
        self._v = self._v.detach()
        return self

    is_leaf, grad_fn, output_nr = (property(lambda self, n=n: getattr(self._v, n)) for n in ("is_leaf", "grad_fn", "output_nr"))
    requires_grad = property(lambda self: self._v.requires_grad, lambda self, value: self.requires_grad_(value))

    def requires_grad_(self, requires_grad=True):
        self._v.requires_grad_(requires_grad)
        return self

    @property
    def grad(self):
        g = self._v.grad
        return None if g is None else self._with(g)

    @grad.setter
    def grad(self, g):
        self._v.grad = None if g is None else g.coalesce()._v if self._c else g._v

    def backward(self, *args, **kwargs):
        raise _unsupported("backward", self)

    def __deepcopy__(self, memo):
        import copy

        return self._with(copy.deepcopy(self._v, memo))


def _unsupported(what, t):
    return NotImplementedError(f'"{what}" is not implemented for layout {t.layout}, dtype {t.dtype}, device {t.device}')


def _flat(args):
    for a in args:
        yield from a if isinstance(a, (list, tuple)) else (a,)


def make(indices, values, shape, coalesced=False):
    """A sparse tensor over these indices and values."""
    t = wrap(None, tuple(shape), values.dtype, values.device)
    t.__class__ = SparseTensor
    t._i, t._v, t._c = indices, values, coalesced or indices._shape[1] < 2
    return t


def _check_sizes(size, n, nnz, values):
    dense = len(values._shape) - 1
    if len(size) != n + dense:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {n}, dense_dim = {dense}")
    if values._shape[0] != nnz:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: {values._shape[0]}")
    if tuple(values._shape[1:]) != size[n:]:
        raise RuntimeError(f"values has incorrect size, expected {[nnz, *size[n:]]}, got {list(values._shape)}")


def _check_range(indices, size):
    for d, (low, high) in enumerate(zip(indices.amin(1).tolist(), indices.amax(1).tolist()) if indices._shape[1] else ()):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
        if high >= size[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high}")


def sparse_coo_tensor(
    indices, values=None, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None, is_coalesced=None
):
    """A sparse tensor of values at indices (one column each); an empty one of a size."""
    if values is None:
        size, n = tuple(indices), len(tuple(indices))
        indices = T.zeros((n, 0), dtype=dt.int64, device=place(device))
        values = T.zeros((0,), dtype=dtype, device=place(device))
    if not isinstance(values, Tensor):
        values = FUNCTIONS["tensor"](values, dtype=dtype, device=device)
    values = values.to(dtype=dtype or values.dtype, device=values.device if device is None else device)
    indices = FUNCTIONS["as_tensor"](indices, dtype=dt.int64, device=values.device).detach()
    if len(indices._shape) != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices._shape)}")
    n, nnz = indices._shape
    values = values if values._shape else values.expand(nnz)
    if size is None:
        if not nnz:
            raise RuntimeError("found tensor with nnz=0: its size cannot be inferred, give it")
        size = (*(indices.amax(1) + 1).tolist(), *values._shape[1:])
    size = tuple(size)
    _check_sizes(size, n, nnz, values)
    if INVARIANTS.checked if check_invariants is None else check_invariants:
        _check_range(indices, size)
    out = make(indices, values.view_as(values) if values._requires_grad else values.detach(), size, bool(is_coalesced))
    return out.requires_grad_() if requires_grad else out


FUNCTIONS["sparse_coo_tensor"] = sparse_coo_tensor
sparse_coo_tensor.__module__ = "torch"


# ------------------------------------------------------------------------------------------------ of and to dense tensors
@composite(
    "Tensor.to_sparse(Tensor self, int? sparse_dim=None, *, Layout? layout=None, int[]? blocksize=None, int? dense_dim=None) -> Tensor",
    alias=("Tensor.to_sparse_coo",),
)
def to_sparse(self, sparse_dim, layout, blocksize, dense_dim):
    if layout not in (None, COO):
        raise NotImplementedError(f"to_sparse: layout {layout} is not supported, only {COO}")
    n = len(self._shape)
    k = n if sparse_dim is None else sparse_dim
    if not 0 <= k <= n:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{n}] range, but {k} is given")
    if n and not k:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    mask = self.detach() != 0
    rows = (mask.flatten(k).any(-1) if k < n else mask).nonzero()
    indices = rows.t().contiguous()
    return make(indices, self[tuple(indices)] if n else self.reshape(1)[: rows._shape[0]], self._shape, True)


@on_sparse("to_sparse", "to_sparse_coo")
def _to_sparse(self, sparse_dim=None, *, layout=None, **kwargs):
    if layout not in (None, COO) or sparse_dim not in (None, self._i._shape[0]):
        raise _unsupported(f"to_sparse (layout {layout}, sparse_dim {sparse_dim})", self)
    return self


@composite("Tensor.to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor")
def to_dense(self, dtype, masked_grad):
    return self if dtype is None else self.to(dtype)


@on_sparse("to_dense")
def _to_dense(self, dtype=None, *, masked_grad=None):
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    if not self._i._shape[0]:
        return self._v.sum(0)
    add, zeros = self.dtype is not dt.bool_, T.zeros(self._shape, dtype=self.dtype, device=self.device)
    s = self if add else self.coalesce()
    return zeros.index_put(tuple(s._i), s._v, add)


@composite("Tensor.sparse_mask(Tensor self, Tensor mask) -> Tensor")
def sparse_mask(self, mask):
    raise RuntimeError(f"sparse_mask: expected mask of a sparse layout, got {mask.layout}")


@on_sparse("sparse_mask")
def _sparse_mask(self, mask):
    if not isinstance(mask, SparseTensor) or isinstance(self, SparseTensor):
        raise _unsupported("sparse_mask of a sparse tensor", self if isinstance(self, SparseTensor) else mask)
    return mask._with(self[tuple(mask._i)])


# ------------------------------------------------------------------------------------------------ parts
def _part(name, of_strided, of_sparse):
    def strided_part(self):
        r = of_strided(self)
        if isinstance(r, Exception):
            raise r
        return r

    composite(f"Tensor.{name}(Tensor self) -> Any", out=False)(strided_part)
    TABLE[name] = of_sparse


def _only_coo(name, kind="sparse coordinate tensor"):
    return lambda self: RuntimeError(f"{name} expected {kind} layout but got Strided")


def _coalesced(name, get):
    def f(self):
        if not self._c:
            raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
        return get(self)

    return f


def coalesce(self):
    """Each index once, in order; values of the same index are added."""
    if self._c:
        return self
    n = self._i._shape[0]
    strides = FUNCTIONS["tensor"](contiguous_strides(self._shape[:n]), device=self.device)
    flat, where = T.unique((self._i * strides.unsqueeze(1)).sum(0), return_inverse=True)
    v = self._v if self.dtype is not dt.bool_ else self._v.to(dt.uint8)
    values = T.zeros((flat._shape[0], *v._shape[1:]), dtype=v.dtype, device=v.device).index_add(0, where, v)
    indices = T.stack(T.unravel_index(flat, self._shape[:n])) if n else self._i[:, :1]
    return make(indices, values.to(self.dtype), self._shape, True)


_part("indices", _only_coo("indices"), _coalesced("indices", lambda self: self._i))
_part("values", _only_coo("values", "sparse tensor"), _coalesced("values", lambda self: self._v))
_part("coalesce", _only_coo("coalesce"), coalesce)
_part("is_coalesced", _only_coo("is_coalesced"), lambda self: self._c)
_part("sparse_dim", lambda self: 0, lambda self: self._i._shape[0])
_part("dense_dim", lambda self: len(self._shape), lambda self: len(self._shape) - self._i._shape[0])
for _n, _get in {"_indices": lambda self: self._i, "_values": lambda self: self._v, "_nnz": lambda self: self._i._shape[1]}.items():
    _part(_n, lambda self, n=_n: NotImplementedError(f'"{n}" is not implemented for layout {strided}, device {self.device}'), _get)


# ------------------------------------------------------------------------------------------------ arithmetic
@on_sparse("add")
def add(self, other, *, alpha=1):
    if not isinstance(other, SparseTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not isinstance(self, Tensor) or self._shape != other._shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(getattr(self, '_shape', ()))} while "
            f"other has size {list(other._shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    v = other._v if alpha == 1 else other._v * alpha
    common = dt.promote_types(self.dtype, other.dtype)
    if not isinstance(self, SparseTensor):
        return self.to(common).index_put(tuple(other._i), v.to(common), True)
    if self._i._shape[0] != other._i._shape[0]:
        raise _unsupported("add of tensors with different sparse_dim", self)
    both = make(T.cat((self._i, other._i), 1), T.cat((self._v.to(common), v.to(common))), self._shape)
    return both.coalesce() if self._c and other._c else both


@on_sparse("sub", "subtract")
def sub(self, other, *, alpha=1):
    return add(self, other, alpha=-alpha)


@on_sparse("add_")
def add_(self, other, *, alpha=1):
    if isinstance(self, SparseTensor):
        return self._take(add(self, other, alpha=alpha).to(self.dtype))
    if self._shape != other._shape:
        return add(self, other)  # its error
    return self.index_put_(tuple(other._i), (other._v if alpha == 1 else other._v * alpha).to(self.dtype), True)


@on_sparse("sub_", "subtract_")
def sub_(self, other, *, alpha=1):
    return add_(self, other, alpha=-alpha)


@on_sparse("mul", "multiply")
def mul(self, other):
    if not isinstance(self, SparseTensor):
        self, other = other, self
    if not isinstance(other, Tensor) or not other._shape:
        return self._with(self._v * other)
    if not isinstance(other, SparseTensor):
        return self._with(self._v * other.expand(self._shape)[tuple(self._i)])
    a, b = self.coalesce(), other.coalesce()
    if a._shape != b._shape or a._i._shape[0] != b._i._shape[0]:
        raise _unsupported("mul of sparse tensors of different sizes", self)
    both, where, count = T.unique(T.cat((a._i, b._i), 1), dim=1, return_inverse=True, return_counts=True)
    at = [(count > 1)[w].nonzero().squeeze(1) for w in (where[: a._i._shape[1]], where[a._i._shape[1] :])]
    return make(both[:, count > 1], a._v[at[0]] * b._v[at[1]], a._shape, True)


@on_sparse("mul_", "multiply_")
def mul_(self, other):
    return self._take(mul(self, other).to(self.dtype))


@on_sparse("mm", "matmul", "mv", "spmm")
def mm(self, other):
    if isinstance(self, SparseTensor) and isinstance(other, SparseTensor) or len(other._shape) > 2 or len(self._shape) != 2:
        raise _unsupported("matmul of these two", self if isinstance(self, SparseTensor) else other)
    if isinstance(other, SparseTensor):
        return mm(other.t(), self.t()).t()
    if self._shape[1] != other._shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({self._shape[0]}x{self._shape[1]} and {'x'.join(map(str, other._shape))})")
    rows = other[self._i[1]]
    rows = rows * (self._v.unsqueeze(1) if len(other._shape) == 2 else self._v)
    return T.zeros((self._shape[0], *other._shape[1:]), dtype=rows.dtype, device=rows.device).index_add(0, self._i[0], rows)


@on_sparse("addmm")
def addmm(self, mat1, mat2, *, beta=1, alpha=1):
    return beta * self + alpha * mm(mat1, mat2)


@on_sparse("linear")
def linear(input, weight, bias=None):
    out = mm(input, weight.t())
    return out if bias is None else out + bias


@on_sparse("t")
def t(self):
    return transpose(self, 0, -1)


@on_sparse("transpose")
def transpose(self, dim0, dim1):
    n, k = len(self._shape), self._i._shape[0]
    a, b = wrap_dim(dim0, n), wrap_dim(dim1, n)
    if max(a, b) >= k:
        raise _unsupported("transpose of dense dimensions", self)
    order = list(range(n))
    order[a], order[b] = b, a
    return make(self._i[order[:k]], self._v, [self._shape[d] for d in order])


@on_sparse("sum")
def sum_(self, dim=None, keepdim=False, *, dtype=None):
    k = self._i._shape[0]
    gone = wrap_dims((dim,) if isinstance(dim, int) else dim, len(self._shape))
    if keepdim:
        raise _unsupported("sum with keepdim", self)
    values = self._v if dtype is None else self._v.to(dtype)
    inner = [d - k + 1 for d in gone if d >= k]
    if inner:
        values = values.sum(inner)
    rows = [d for d in range(k) if d not in gone]
    if not rows:
        return values.sum(0)
    return make(self._i[rows], values, [s for d, s in enumerate(self._shape) if d not in gone]).coalesce()


@on_sparse("type")
def type_(self, dtype=None, non_blocking=False):
    return self.to(dtype) if dtype is not None else self._v.type().replace("torch.", "torch.sparse.")


@on_sparse("norm")
def norm(self, *args, **kwargs):
    return self.coalesce()._v.norm(*args, **kwargs)


@on_sparse("zeros_like")
def zeros_like(self, *, dtype=None, device=None, **kwargs):
    return make(self._i[:, :0], self._v[:0].to(dtype=dtype or self.dtype, device=device or self.device).detach(), self._shape, True)


@on_sparse("any")
def any_(self):
    return self._v.any()


@on_sparse("copy_")
def copy_(self, src, non_blocking=False):
    if not isinstance(src, SparseTensor) or not isinstance(self, SparseTensor):
        raise _unsupported("copy_ between layouts", src if isinstance(src, SparseTensor) else self)
    return self._take(src.clone().to(self.dtype))


@on_sparse("zero_")
def zero_(self):
    return self._take(zeros_like(self))


def rows_gradient(g, shape, indices, padding_idx):
    """The gradient of an embedding's weight: rows of g at indices."""
    indices, values = indices.reshape(1, -1).to(dt.int64), g.reshape(-1, shape[-1])
    if padding_idx >= 0:
        kept = indices[0] != padding_idx
        indices, values = indices[:, kept], values[kept]
    return make(indices, values, shape)


def gather_gradient(g, shape, dim, index):
    """The gradient of gather's input: each element of g where it was taken from."""
    if not shape:
        return make(T.zeros((0, 1), dtype=dt.int64, device=g.device), g.reshape(1), shape, True)
    places = list(T.ones_like(index).nonzero().unbind(1))
    places[dim] = index.reshape(-1)
    return make(T.stack(places), g.reshape(-1), shape)


__all__ = ["SparseTensor", "make", "rows_gradient", "gather_gradient"]
