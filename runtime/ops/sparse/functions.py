"""torch.sparse.softmax, log_softmax and spdiags, and conversions of indices."""

import math

from ...call.out import SAME_DTYPE
from ...declare import composite
from ...device import LAYOUTS
from ..common import T, dt, only, wrap_dim
from . import compressed, coo
from .compressed import on_compressed
from .coo import on_coo
from .tensors import COO, SPOKEN, could_not_run


def _softmax(self, dim, dtype, log):
    """Compute softmax or log_softmax over the specified elements; unspecified ones count as minus infinity."""
    self = self if dtype is None else self.to(dtype)
    dim = wrap_dim(dim, len(self._shape))
    only("log_softmax" if log else "softmax", self, dt.FLOAT, half=False)
    self, k = self.coalesce(), self._i._shape[0]
    v = self._v
    if not v._shape[0]:
        return self._with(v.clone())
    if dim >= k:
        return self._with(T.log_softmax(v, dim - k + 1) if log else T.softmax(v, dim - k + 1))
    rows = [d for d in range(k) if d != dim]
    pool = coo.flat_index(self._i[rows], [self._shape[d] for d in rows]) if rows else T.zeros_like(self._i[0])
    n = T.unique(pool, return_inverse=True)
    where, size = n[1], (n[0]._shape[0], *v._shape[1:])
    index = where.reshape(-1, *(1,) * (len(v._shape) - 1)).expand(v._shape)
    top = T.full(size, -float("inf"), dtype=v.dtype, device=v.device).scatter_reduce(0, index, v.detach(), "amax")
    shifted = v - top[where]
    e = shifted.exp()
    total = T.zeros(size, dtype=v.dtype, device=v.device).index_add(0, where, e)[where]
    return self._with(shifted - total.log() if log else e / total)


def _declare(name, log):
    """Declare torch.sparse.softmax or torch.sparse.log_softmax."""

    @composite(
        f"_C._sparse.{name}(Tensor input, int dim, *, ScalarType? dtype=None) -> Tensor", out=False, aten=f"{name}.int"
    )
    def of_strided(input, dim, dtype):
        raise could_not_run(name, input)

    on_coo(name)(lambda input, dim, dtype=None: _softmax(input, dim, dtype, log))


_declare("_sparse_softmax", False)
_declare("_sparse_log_softmax", True)


@composite(
    "_C._sparse._spdiags(Tensor diagonals, Tensor offsets, int[] shape, Layout? layout=None) -> Tensor", out=False
)
def spdiags(diagonals, offsets, shape, layout):
    """Return a sparse matrix whose diagonal at offsets[i] is row i of `diagonals`."""
    diagonals = diagonals.unsqueeze(0) if len(diagonals._shape) == 1 else diagonals
    offsets = offsets.unsqueeze(0) if not offsets._shape else offsets
    layouts = tuple(LAYOUTS[n] for n in ("sparse_coo", "sparse_csc", "sparse_csr"))
    _check_diagonals(diagonals, offsets, shape, layout, layouts)
    rows, columns = shape
    width = min(diagonals._shape[1], columns)
    column = T.arange(width, device=offsets.device).expand(offsets._shape[0], width)
    row = column - offsets.unsqueeze(1)
    kept = ((row >= 0) & (row < rows)).nonzero(as_tuple=True)
    out = coo.make(T.stack((row[kept], column[kept])), diagonals[kept], (rows, columns))
    return out if layout in (None, COO) else compressed.from_coordinates(out, layout)


def _check_diagonals(diagonals, offsets, shape, layout, layouts):
    if len(diagonals._shape) != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if len(offsets._shape) != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if diagonals._shape[0] != offsets._shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({diagonals._shape[0]}) does not match the number of offsets ({offsets._shape[0]})"
        )
    if layout is not None and layout not in layouts:
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {SPOKEN[layout]}")
    if offsets.dtype is not dt.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {dt.scalar_name(offsets.dtype)}")
    if T.unique(offsets)._shape[0] != offsets._shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")


# ------------------------------------------------------------------------------------- what strided tensors do not have
def _of_sparse(schema, **options):
    """Declare a function that only sparse tensors support, through a handler in their tables."""
    name = schema.partition("(")[0].rpartition(".")[2]

    def of_strided(self, *args):
        raise could_not_run(name, self)

    composite(schema, out=False, **options)(of_strided)


for _schema in """Tensor._coalesced_(Tensor self, bool coalesced) -> Tensor
Tensor._dimI(Tensor self) -> Any
Tensor._dimV(Tensor self) -> Any
Tensor.sparse_resize_(Tensor self, int[] size, int sparse_dim, int dense_dim) -> Tensor
Tensor.sparse_resize_and_clear_(Tensor self, int[] size, int sparse_dim, int dense_dim) -> Tensor
resize_as_sparse_(Tensor self, Tensor the_template) -> Tensor
smm(Tensor self, Tensor mat2) -> Tensor""".splitlines():
    _of_sparse(_schema)
_of_sparse(
    "sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", numbers_between=True
)
for _schema in """hspmm(Tensor mat1, Tensor mat2) -> Tensor
hsmm(Tensor mat1, Tensor mat2) -> Tensor
native_norm(Tensor self, Scalar p=2) -> Tensor
_sparse_broadcast_to(Tensor self, int[] size) -> Tensor
_sparse_csr_sum(Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
_sparse_csr_prod(Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor""".splitlines():
    _of_sparse(_schema, method=False)


@composite("_sparse_sum(Tensor self, int[1]? dim=None, *, ScalarType? dtype=None) -> Tensor", out=False, method=False)
def sparse_sum(self, dim, dtype):
    if dim is None:
        raise RuntimeError(f"coalesce expected sparse coordinate tensor layout but got {SPOKEN[self._layout]}")
    raise could_not_run("_indices", self)


for _name in ("spmm", "dsmm"):
    composite(f"{_name}(Tensor self, Tensor mat2) -> Tensor", out=False, method=False)(
        lambda self, mat2: T.mm(self, mat2)
    )
on_compressed("_sparse_sum")(lambda self, dim=None, *, dtype=None: sparse_sum(self, dim, dtype))


# ------------------------------------------------------------------------------------------------ indices of layouts
def _index_type(name, indices, out_int32):
    if indices.dtype.category != dt.INT:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dt.scalar_name(indices.dtype)}'")
    return dt.int32 if out_int32 else dt.int64


@composite(
    "_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor",
    out=SAME_DTYPE,
    method=False,
)
def _convert_indices_from_coo_to_csr(self, size, out_int32):
    """Return the compressed indices (size + 1,) of sorted row indices (nnz,)."""
    dtype = _index_type("convert_indices_from_coo_to_csr", self, out_int32)
    if len(self._shape) != 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {len(self._shape)} dimensional tensor.")
    return compressed.marked(self, size, dtype)


@composite(
    "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, "
    "bool transpose=False) -> Tensor",
    out=SAME_DTYPE,
    method=False,
)
def _convert_indices_from_csr_to_coo(crow_indices, col_indices, out_int32, transpose):
    """Return the coordinates (2, nnz) of compressed rows (*batch, n + 1) and columns (*batch, nnz).

    With batch dimensions, a row of indices for each of them comes first.
    """
    dtype = _index_type("convert_indices_from_csr_to_coo", crow_indices, out_int32)
    *batch, nnz = col_indices._shape
    row = compressed.lines(crow_indices, nnz).reshape(-1)
    at = [row, col_indices.reshape(-1)]
    if batch:
        members = T.arange(math.prod(batch), device=row.device).repeat_interleave(nnz)
        at = [*T.unravel_index(members, batch), *(at[::-1] if transpose else at)]
    elif transpose:
        at.reverse()
    return T.stack([i.to(dtype) for i in at])
