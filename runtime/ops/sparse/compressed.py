"""Tensors of compressed layouts (CSR, CSC and their blocked forms BSR, BSC): their parts and operators.

A line is a row or column of the compressed dimension. The compressed indices say which part of the plain indices
belongs to each line. Batch dimensions come first, dense dimensions last.
"""

import math

from ...autograd import note_view
from ...tensor import wrap
from ...warn import warn_once
from ..common import T, Tensor, dt, wrap_dim
from ..valued import Table
from . import coo, coo_shape
from .gradients import to_all
from .tensors import BLOCKS, LAYOUTS, ROWS, SPOKEN, SparseTensor, could_not_run, declared, refused, rules, unsupported

TABLE = Table()
on_compressed = TABLE.on
CSR, CSC, BSR, BSC = (LAYOUTS[n] for n in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"))
TRANSPOSED = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}


class CompressedTensor(SparseTensor, raw=True):
    """A tensor of a compressed layout: `_lines` holds the compressed indices, `_plain` the plain ones."""

    __module__, __qualname__ = "torch", "Tensor"
    TABLE = TABLE
    INDICES = ("_lines", "_plain")
    KEY = "SparseCsr"
    INNER: dict = {}  # entries that differ from tensors.INNER for these layouts
    _implementation = "SparseCsrTensorImpl"
    is_sparse_csr = property(lambda self: self._layout is CSR)

    @staticmethod
    def _by_rule(func, name, args, kwargs):
        inplace = name not in rules() and name[-1] == "_"
        o, rule = rules().get(name[:-1] if inplace else name, (None, ""))
        self = args[0] if args else None
        if rule.startswith("coo"):
            raise unsupported_layout(self)
        if name in ("round", "round_") and kwargs.get("decimals"):
            raise unsupported_layout(self)
        if not rule or not isinstance(self, SparseTensor) or any(isinstance(a, Tensor) for a in args[1:]):
            call = declared(func, args, kwargs)
            if call is not None and call[0].promote is not None:  # an elementwise operator
                raise unsupported_layout(*args)
            raise refused(func, args, kwargs)
        values = func(self._v, *args[1:], **kwargs)
        return self if values is self._v else self._with(values)

    def _with(self, values):
        a, b = (i if i.device is values.device else i.to(values.device) for i in (self._lines, self._plain))
        return make(a, b, values, self._shape, self._layout)

    def stride(self, dim=None):
        raise has_no(self, "strides")

    def is_contiguous(self, memory_format=None):
        raise has_no(self, "is_contiguous")

    contiguous = is_contiguous

    def __deepcopy__(self, memo):
        return self._no_memory()

    def item(self):
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        raise could_not_run("_local_scalar_dense", self)

    def type(self, dtype=None, non_blocking=False):
        if dtype is None:
            raise RuntimeError(f"Unimplemented backend SparseCsr{'CPU' if self.is_cpu else self.device.type.upper()}")
        return self.to(dtype)

    def transpose_(self, *dims):
        raise RuntimeError(
            f"torch.transpose_: in-place transposition is not supported for {SPOKEN[self._layout]} layout"
        )

    t_ = swapaxes_ = swapdims_ = transpose_

    def unsqueeze_(self, *dims):
        raise has_no(self, "strides")

    squeeze_ = as_strided_ = unsqueeze_

    def _same_places(self, other):
        return (
            other._layout is self._layout and T.equal(self._lines, other._lines) and T.equal(self._plain, other._plain)
        )

    def _at_indices(self, other):
        return other._v if self._same_places(other) else other.to_dense().sparse_mask(self.detach())._v

    def resize_(self, *size, memory_format=None):
        return resize_(self, *size)

    def new_tensor(self, *args, **kwargs):
        raise RuntimeError("Cannot map DispatchKey SparseCsrCPU to a unique layout.")

    def __getitem__(self, index):
        return indexed(self, index)

    def __iter__(self):
        return iter(unbind(self))


def unsupported_layout(*args):
    """Return PyTorch's error of elementwise operators without a kernel for a layout."""
    return RuntimeError(
        f"unsupported tensor layout: {SPOKEN[next(a for a in args if isinstance(a, CompressedTensor))._layout]}"
    )


def has_no(t, what):
    """Return PyTorch's error for what only strided tensors have."""
    return RuntimeError(f"Sparse {SPOKEN[t._layout].removeprefix('Sparse').upper()} tensors do not have {what}")


CompressedTensor.__name__ = "Tensor"  # PyTorch has one class for all layouts


_BETA = (
    "Sparse {} tensor support is in beta state. If you miss a functionality in the sparse tensor support, "
    "please submit a feature request to https://github.com/pytorch/pytorch/issues."
)


def make(lines, plain, values, shape, layout):
    """Return a tensor of a compressed layout over these indices and values."""
    warn_once(_BETA.format(str(layout)[-3:].upper()), "compressed")
    t = wrap(None, tuple(shape), values.dtype, values.device)
    t.__class__ = CompressedTensor
    t._lines, t._plain, t._v, t._layout = lines, plain, values, layout
    return t


def nothing(shape, dtype, layout, device):
    """Return a tensor without values, in a layout without blocks."""
    if layout in BLOCKS:
        raise RuntimeError(
            f"zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got {SPOKEN[layout]}"
        )
    if len(shape) < 2:
        raise RuntimeError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(shape)}"
        )
    *batch, rows, columns = shape
    lines = T.zeros((*batch, (rows if layout in ROWS else columns) + 1), dtype=dt.int64, device=device)
    plain = T.zeros((*batch, 0), dtype=dt.int64, device=device)
    return make(lines, plain, T.zeros((*batch, 0), dtype=dtype, device=device), shape, layout)


# ------------------------------------------------------------------------------------------------ geometry
def batch_of(self):
    """Return the number of batch dimensions."""
    return len(self._lines._shape) - 1


def block_of(self):
    """Return the size of a block, or (1, 1) for layouts without blocks."""
    b = batch_of(self)
    return tuple(self._v._shape[b + 1 : b + 3]) if self._layout in BLOCKS else (1, 1)


def lines(compressed_indices, nnz):
    """Return the line in the compressed dimension for each value."""
    at = T.arange(nnz, dtype=compressed_indices.dtype, device=compressed_indices.device)
    ends = compressed_indices[..., 1:].contiguous()
    return T.searchsorted(ends, at.expand(*ends._shape[:-1], nnz).contiguous(), right=True)


def coordinates(self):
    """Return (row, column) of each value, or of each block."""
    n = self._v._shape[batch_of(self)]
    line, plain = lines(self._lines, n), self._plain.to(dt.int64)
    return (line, plain) if self._layout in ROWS else (plain, line)


def marked(line, n, dtype):
    """Return the compressed indices of n lines, from the sorted line of each value."""
    at = T.arange(n + 1, dtype=line.dtype, device=line.device)
    return T.searchsorted(line, at.expand(*line._shape[:-1], n + 1).contiguous()).to(dtype)


def compress(row, column, values, shape, layout, dtype=dt.int64, block=(1, 1)):
    """Return a tensor of a compressed layout from unique coordinates in any order.

    Values have as many leading batch dimensions as the coordinates.
    """
    batch = len(row._shape) - 1
    size = (shape[batch] // block[0], shape[batch + 1] // block[1])
    line, plain = (row, column) if layout in ROWS else (column, row)
    n, m = size if layout in ROWS else size[::-1]
    order = (line * max(m, 1) + plain).argsort(dim=-1, stable=True)
    line, plain = line.gather(-1, order), plain.gather(-1, order)
    if batch:
        flat = math.prod(row._shape[:-1])
        base = T.arange(flat, device=order.device).unsqueeze(1) * row._shape[-1]
        at = (order.reshape(flat, row._shape[-1]) + base).flatten()
        values = values.flatten(0, batch)[at].reshape(values._shape)
    else:
        values = values[order]
    return make(marked(line, n, dtype), plain.to(dtype), values, shape, layout)


# ------------------------------------------------------------------------------------------------ parts
def _part(name, kind, rows, get):
    def part(self):
        if (self._layout in ROWS) is not rows:
            raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got {SPOKEN[self._layout]}")
        return get(self)

    def of_coordinates(self):
        raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got Sparse")

    TABLE[name] = part
    coo.on_coo(name)(of_coordinates)


_part("crow_indices", "row", True, lambda self: self._lines)
_part("col_indices", "row", True, lambda self: self._plain)
_part("ccol_indices", "column", False, lambda self: self._lines)
_part("row_indices", "column", False, lambda self: self._plain)
TABLE.update(
    values=lambda self: self._v,
    _nnz=lambda self: self._plain._shape[-1],
    sparse_dim=lambda self: 2,
    dense_dim=lambda self: len(self._shape) - 2 - batch_of(self),
)


def _only_coo(name):
    def part(self):
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {SPOKEN[self._layout]}")

    TABLE[name] = part


for _name in ("indices", "coalesce", "is_coalesced"):
    _only_coo(_name)


# ------------------------------------------------------------------------------------------------ arithmetic
def _same_place(self, other):
    return (
        self._plain._shape == other._plain._shape
        and bool((self._lines == other._lines).all())
        and bool((self._plain == other._plain).all())
    )


@on_compressed("add")
@to_all
def add(self, other, *, alpha=1):
    if not isinstance(self, SparseTensor):
        return _dense_plus(self, other, alpha)
    if not isinstance(other, SparseTensor) and self._layout in (CSR, CSC):
        return _dense_plus(self, other, alpha)
    if isinstance(other, SparseTensor) and self._shape != other._shape:
        raise RuntimeError(
            f"torch.add: Expected input tensors to have the same shape, but got tensor `self` with shape "
            f"{list(self._shape)}"
            f" and tensor `other` with shape {list(other._shape)}"
        )
    if self._layout is not other._layout or self._layout in BLOCKS:
        _no_add(self, other)
        return self._with(self._v + other._v * alpha)
    common = dt.promote_types(self.dtype, other.dtype)
    if self.dtype is not other.dtype:
        raise RuntimeError(
            f"expected scalar type {dt.scalar_name(common)} but found "
            f"{dt.scalar_name((self if other.dtype is common else other).dtype)}"
        )
    a, b = to_coordinates(self), to_coordinates(other)
    total = coo.coalesce(
        coo.make(T.cat((a._i, b._i), 1), T.cat((a._v.to(common), (b._v * alpha).to(common))), self._shape)
    )
    return from_coordinates(total, self._layout, self._lines.dtype)


def _no_add(self, other):
    """Check that PyTorch adds these tensors: it adds blocked layouts only where the indices are the same."""
    if (
        isinstance(self, CompressedTensor)
        and isinstance(other, CompressedTensor)
        and self._layout is other._layout
        and _same_place(self, other)
    ):
        return None
    if isinstance(self, CompressedTensor) and isinstance(other, CompressedTensor):
        t = self if self._layout is not CSR else other
        raise RuntimeError(f"crow_indices expected sparse row compressed tensor layout but got {SPOKEN[t._layout]}")
    layouts = " and ".join(SPOKEN[getattr(t, "layout", LAYOUTS["strided"])] for t in (self, other))
    raise RuntimeError(
        f"add(sparse compressed) takes two tensors of one layout, or a dense one beside CSR or CSC, but got {layouts}"
    )


def _dense_plus(self, other, alpha):
    dense, sparse, scale = (self, other, alpha) if isinstance(other, SparseTensor) else (other, self, 1)
    if not isinstance(dense, Tensor) or dense._shape != sparse._shape:
        sizes = f"self has size {list(getattr(dense, '_shape', ()))} while other has size {list(sparse._shape)}"
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but {sizes} (FYI: op2-sparse addition does not "
            f"currently support broadcasting)"
        )
    if dense is other and alpha != 1:
        dense = dense * alpha
    return coo.add(dense, to_coordinates(sparse), alpha=scale)


@on_compressed("sub", "subtract")
def sub(self, other, *, alpha=1):
    raise unsupported_layout(self, other)


@on_compressed("add_")
def add_(self, other, *, alpha=1):
    if isinstance(self, SparseTensor) and not isinstance(other, SparseTensor):
        raise has_no(self, "is_contiguous")
    result = add(self, other, alpha=alpha)
    if isinstance(self, SparseTensor):
        return self._take(self._fits(result))
    return self.copy_(result)


@on_compressed("mul", "multiply")
@to_all
def mul(self, other):
    if not isinstance(self, SparseTensor):
        self, other = other, self
    if not isinstance(other, Tensor) or not other._shape and not isinstance(other, SparseTensor):
        return self._with(self._v * other)
    if not isinstance(self, CompressedTensor):
        self, other = other, self
    if isinstance(other, SparseTensor) and other._layout is not self._layout:
        other = other.to_sparse(layout=self._layout)
    if self._layout in BLOCKS:
        raise RuntimeError(
            f"empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
            f"{SPOKEN[self._layout]}"
        )
    if self._layout is not CSR:
        raise RuntimeError("Expected result Tensor to be of format CSR")
    if isinstance(other, SparseTensor):
        if _same_place(self, other):
            return self._with(self._v * other._v)
        return from_coordinates(coo.mul(to_coordinates(self), to_coordinates(other)), self._layout, self._lines.dtype)
    if other._shape != self._shape:
        sizes = f"self has size {list(other._shape)} but mask has size {list(self._shape)}"
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; {sizes}")
    at = [i.flatten() for i in (*_batches(self), *coordinates(self))]
    factors = other.expand(self._shape)[tuple(at)].reshape(*self._plain._shape, *self._v._shape[batch_of(self) + 1 :])
    return self._with(self._v * factors)


@on_compressed("mul_", "multiply_")
def mul_(self, other):
    return self._take(self._fits(mul(self, other)))


@on_compressed("ldexp")
def ldexp(self, other):
    return mul(self, T.pow(2.0, other))


@on_compressed("ldexp_")
def ldexp_(self, other):
    return mul_(self, T.pow(2.0, other))


@on_compressed("inner")
def inner(self, other):
    if self._shape and other._shape:
        raise could_not_run("as_strided", self)
    return mul(self, other)


# ---------------------------------------------------------------------------------------------- to and from coordinates
def _batches(self):
    """Return for each batch dimension the index of each value."""
    shape = self._plain._shape
    sizes = [T.arange(n, device=self.device) for n in shape[:-1]]
    return [a.reshape(*(-1 if i == d else 1 for i in range(len(shape)))).expand(shape) for d, a in enumerate(sizes)]


def to_coordinates(self):
    """Convert to layout torch.sparse_coo. All values of a block are kept, zeros included."""
    b, (height, width) = batch_of(self), block_of(self)
    row, column = coordinates(self)
    at, values = _batches(self), self._v
    if self._layout in BLOCKS:
        spread = (*row._shape, height, width)
        row = (row * height)[..., None, None] + T.arange(height, device=self.device).unsqueeze(1)
        column = (column * width)[..., None, None] + T.arange(width, device=self.device)
        at = [i[..., None, None].expand(spread) for i in at]
        row, column, values = row.expand(spread), column.expand(spread), values.flatten(b, b + 2)
    indices = T.stack([i.flatten() for i in (*at, row, column)])
    return coo.make(indices, values.flatten(0, b), self._shape, self._layout is CSR)


def from_coordinates(self, layout, dtype=dt.int64):
    """Convert a coordinate tensor of two sparse dimensions to a compressed layout without blocks."""
    self = self.coalesce()
    return compress(self._i[0], self._i[1], self._v, self._shape, layout, dtype)


# ------------------------------------------------------------------------------------------------ shape
@on_compressed("t", "adjoint")
@to_all
def t(self):
    return transpose(self, -2, -1)


@on_compressed("transpose", "swapaxes", "swapdims")
@to_all
def transpose(self, dim0, dim1):
    n, b = len(self._shape), batch_of(self)
    given = wrap_dim(dim0, n), wrap_dim(dim1, n)
    d0, d1 = sorted(given)
    if d0 == d1:
        return note_view(self._with(self._v.view_as(self._v)), self)
    if n > b + 2:
        raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")
    shape = list(self._shape)
    shape[d0], shape[d1] = shape[d1], shape[d0]
    if d0 == b and d1 == b + 1:
        values = self._v.transpose(b + 1, b + 2) if self._layout in BLOCKS else self._v.view_as(self._v)
        return note_view(make(self._lines, self._plain, values, shape, TRANSPOSED[self._layout]), self)
    if d1 < b:
        return note_view(
            make(
                self._lines.transpose(d0, d1),
                self._plain.transpose(d0, d1),
                self._v.transpose(d0, d1),
                shape,
                self._layout,
            ),
            self,
        )
    kinds = ["Batch" if d < b else "Sparse" for d in given]
    got = f"{given[0]}({kinds[0]}) and {given[1]}({kinds[1]})"
    raise RuntimeError(f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got {got}")


@on_compressed("select", "select_copy")
def select(self, dim, index):
    n, b = len(self._shape), batch_of(self)
    dim = wrap_dim(dim, n)
    size = self._shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self._shape)} at dimension {dim}"
        )
    index, shape = index % size, (*self._shape[:dim], *self._shape[dim + 1 :])
    if dim < b:
        return make(
            self._lines.select(dim, index),
            self._plain.select(dim, index),
            self._v.select(dim, index),
            shape,
            self._layout,
        )
    if dim >= b + 2:
        return make(
            self._lines, self._plain, self._v.select(dim - 1 + 2 * (self._layout in BLOCKS), index), shape, self._layout
        )
    if b:
        raise RuntimeError(
            "select(): selecting sparse dimensions is not supported for batched sparse compressed tensors."
        )
    return coo_shape.select(to_coordinates(self).coalesce(), dim, index)


@on_compressed("unbind")
def unbind(self, dim=0):
    return tuple(select(self, dim, i) for i in range(self._shape[wrap_dim(dim, len(self._shape))]))


def indexed(self, index):
    """Return self[index], for an index of integers, Ellipsis and full slices."""
    index = index if isinstance(index, tuple) else (index,)
    parts = []
    for i in index:
        if (
            i is None
            or isinstance(i, (bool, list))
            or isinstance(i, Tensor)
            and i._shape
            or isinstance(i, slice)
            and i != slice(None)
        ):
            raise has_no(self, "strides")
        parts.append(i)
    out, d = self, 0
    given = sum(i is not Ellipsis for i in parts)
    if given > len(self._shape):
        raise IndexError(f"too many indices for tensor of dimension {len(self._shape)}")
    for i in parts:
        if i is Ellipsis:
            d += len(self._shape) - given
        elif isinstance(i, slice):
            d += 1
        else:
            i, size = int(i), out._shape[d]
            if not -size <= i < size:
                raise IndexError(f"index {i} is out of bounds for dimension {d} with size {size}")
            out = out.select(d, i)
    return out


# ------------------------------------------------------------------------------------------------ reductions
@on_compressed("sum")
@to_all
def sum_(self, dim=None, keepdim=False, *, dtype=None):
    dim = (dim,) if isinstance(dim, int) else dim
    if dim is None or not dim:
        return self._v.sum(dtype=dtype)
    return _reduced("sum", self, dim, keepdim, dtype)


@on_compressed("_sparse_csr_sum")
def csr_sum(self, dim, keepdim=False, *, dtype=None):
    return _reduced("sum", self, (dim,) if isinstance(dim, int) else dim, keepdim, dtype)


@on_compressed("_sparse_csr_prod")
def csr_prod(self, dim, keepdim=False, *, dtype=None):
    return _reduced("prod", self, (dim,) if isinstance(dim, int) else dim, keepdim, dtype)


def _reduced(name, self, dims, keepdim, dtype):
    """Reduce the specified elements of a CSR matrix over rows, columns or both."""
    if self._layout is not CSR:
        raise RuntimeError(
            f"Currently the only compressed sparse format supported for {name}.dim_IntList is CSR, "
            f"but got layout {SPOKEN[self._layout]}"
        )
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    if batch_of(self) or len(self._shape) > 2:
        raise unsupported(name, self)
    dims = sorted({wrap_dim(d, 2) for d in dims})
    dtype = dtype or (dt.int64 if self.dtype.category <= dt.INT else self.dtype)
    row, column = coordinates(self)
    values = self._v.to(dtype)
    kept = [i if d not in dims else T.zeros_like(i) for d, i in enumerate((row, column))]
    shape = [1 if d in dims else s for d, s in enumerate(self._shape)]
    flat, where = T.unique(kept[0] * shape[1] + kept[1], return_inverse=True)
    start = T.zeros(flat._shape, dtype=dtype, device=self.device)
    out = (
        start.scatter_reduce(0, where, values, name, include_self=False)
        if name == "prod"
        else start.index_add(0, where, values)
    )
    return compress(flat // shape[1], flat % shape[1], out, shape, CSR, self._lines.dtype)


# ------------------------------------------------------------------------------------------------ memory
@on_compressed("zeros_like")
def zeros_like(
    self, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False
):
    if layout not in (None, self._layout):
        return T.zeros(
            self._shape,
            dtype=dtype or self.dtype,
            layout=layout,
            device=device or self.device,
            requires_grad=requires_grad,
        )
    b = batch_of(self)
    values = T.zeros(
        (*self._v._shape[:b], 0, *self._v._shape[b + 1 :]), dtype=dtype or self.dtype, device=device or self.device
    )
    out = make(T.zeros_like(self._lines), self._plain[..., :0], values, self._shape, self._layout)
    return out._requiring_grad() if requires_grad else out


@on_compressed("new_zeros", "new_empty")
def new_zeros(self, *size, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    return T.zeros(
        size,
        dtype=dtype or self.dtype,
        layout=layout or self._layout,
        device=device or self.device,
        requires_grad=requires_grad,
    )


@on_compressed("copy_")
def copy_(self, src, non_blocking=False):
    if not isinstance(self, CompressedTensor):
        raise RuntimeError(
            f"copy_sparse_compressed_ expected sparse compressed tensor layout but got {SPOKEN[self._layout]}"
        )
    if not isinstance(src, Tensor):
        src = T.full((), src)
    if src._layout is not self._layout:
        layouts = f"self layout is {SPOKEN[self._layout]} and src layout is {SPOKEN[src._layout]}"
        raise RuntimeError(
            f"torch.copy_: copy of sparse compressed tensors having different layouts is not supported. {layouts}"
        )
    if src._plain._shape[-1] != self._plain._shape[-1]:
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
        )
    dim = batch_of(self) + (self._layout not in ROWS)
    if len(src._shape) == len(self._shape) and src._shape[dim] != self._shape[dim]:
        layout = (
            f"{SPOKEN[self._layout]} layout but the corresponding dimensions of self and src are {self._shape[dim]} "
            f"and {src._shape[dim]}, respectively"
        )
        raise RuntimeError(f"torch.copy_: expected shapes of self and src to match along dimension {dim} for {layout}.")
    if src._shape != self._shape:
        raise RuntimeError(
            f"torch.copy_: only same size tensors are supported, but got {list(self._shape)} and {list(src._shape)}"
        )
    if (
        self._layout in BLOCKS
        and (sizes := [list(t._v._shape[batch_of(t) + 1 :][:2]) for t in (self, src)])[0] != sizes[1]
    ):
        blocks = f"self and src block sizes are {sizes[0]} and {sizes[1]}, respectively"
        raise RuntimeError(
            f"torch.copy_: copy of sparse compressed tensors having different block sizes is not supported. {blocks}."
        )
    self._v.copy_(src._v)
    return self._take(make(src._lines.clone(), src._plain.clone(), self._v, self._shape, self._layout))


@on_compressed("zero_")
def zero_(self):
    return self._take(zeros_like(self))


@on_compressed("fill_")
def fill_(self, value):
    self._v.fill_(value)
    return self


@on_compressed("normal_")
def normal_(self, mean=0, std=1, *, generator=None):
    self._v.normal_(mean, std, generator=generator)
    return self


@on_compressed("is_same_size")
def is_same_size(self, other):
    return self._shape == other._shape


@on_compressed("resize_as_sparse_")
def resize_as_sparse_(self, template):
    """Take the size and indices of another tensor; values are truncated or filled up with zeros."""
    if not isinstance(template, CompressedTensor):
        raise RuntimeError(
            f"resize_as_sparse_compressed_: src  expected sparse compressed tensor layout but got "
            f"{SPOKEN[template._layout]}"
        )
    if template._layout is not self._layout:
        layouts = f"{SPOKEN[self._layout]} and {SPOKEN[template._layout]}"
        raise RuntimeError(f"resize_as_sparse_compressed_: self and src must have the same layout, but got {layouts}")
    values = self._v.flatten()
    more = template._v.numel() - values._shape[0]
    values = (
        T.cat((values, T.zeros(more, dtype=self.dtype, device=self.device)))
        if more > 0
        else values[: template._v.numel()]
    )
    lines, plain = (i.to(self._lines.dtype, copy=True) for i in (template._lines, template._plain))
    return self._take(make(lines, plain, values.reshape(template._v._shape), template._shape, self._layout))


def resize_(self, *size, memory_format=None):
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if len(size) < 2:
        raise RuntimeError(f"torch.resize_: Only batched sparse CSR matrices are supported, but got size {list(size)}")
    if batch_of(self) or len(size) > 2 or self._layout is not CSR:
        raise unsupported("resize_", self)
    rows, columns = size
    if columns < self._shape[1]:
        wanted = (
            f"The original number of columns is {self._shape[1]} while the requested new number of columns is {columns}"
        )
        raise RuntimeError(
            f"torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. {wanted}."
        )
    nnz = min(self._plain._shape[-1], rows * columns)
    if rows <= self._shape[0]:  # PyTorch keeps the first values, whichever lines they were in
        ends = self._lines[: rows + 1].clone()
        ends[-1] = nnz
    else:
        ends = T.cat((self._lines, self._lines[-1:].expand(rows - self._shape[0])))
    return self._take(make(ends, self._plain[:nnz], self._v[:nnz], size, CSR))
