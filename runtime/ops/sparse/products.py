"""Products with sparse matrices, and the functions of torch.sparse that are based on them."""

from ...call.out import SAME_DTYPE
from ...declare import composite
from ...device import strided
from ..common import T, dt, only
from . import compressed, coo, coo_shape
from .compressed import BSR, CSR, on_compressed
from .coo import on_coo
from .gradients import to_all
from .tensors import BLOCKS, COO, SPOKEN, SparseTensor, could_not_run, unsupported


def _sparse(t):
    return isinstance(t, SparseTensor)


def _entries(t):
    """Return (row, column, value) of the specified elements of a matrix."""
    c = t if t._layout is COO else compressed.to_coordinates(t)
    return c._i[0], c._i[1], c._v


def _check_sizes(a, b):
    if a._shape[1] != b._shape[0]:
        sizes = f"{a._shape[0]}x{a._shape[1]} and {b._shape[0]}x{b._shape[1]}"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({sizes})")


def _check_dtypes(a, b):
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {dt.scalar_name(a.dtype)} but found {dt.scalar_name(b.dtype)}")


def _times_dense(a, b):
    """Multiply a sparse matrix by a strided matrix or vector."""
    row, column, v = _entries(a)
    rows = b[column] * (v.unsqueeze(1) if len(b._shape) == 2 else v)
    return T.zeros((a._shape[0], *b._shape[1:]), dtype=rows.dtype, device=rows.device).index_add(0, row, rows)


def _times_sparse(a, b):
    """Multiply two sparse matrices: each value of `a` is multiplied by the row of `b` that its column selects.

    The result is a coordinate tensor.
    """
    row, middle, v = _entries(a)
    b = (b if b._layout is COO else compressed.to_coordinates(b)).coalesce()
    start = compressed.marked(b._i[0].contiguous(), b._shape[0], dt.int64)
    at, which = coo_shape.expanded(start[middle], start[middle + 1])
    shape = (a._shape[0], b._shape[1])
    return coo.coalesce(coo.make(T.stack((row[which], b._i[1][at])), v[which] * b._v[at], shape))


# ------------------------------------------------------------------------------------------------ of coordinates
def _check_matrix(t):
    if len(t._shape) != 2 or _sparse(t) and t.sparse_dim() != 2:
        raise RuntimeError(f"addmm: matrices expected, got {t.sparse_dim() if _sparse(t) else len(t._shape)}D tensor")


@on_coo("mm", "spmm", "dsmm")
@to_all
def mm(self, mat2, reduce=None):
    if reduce is not None:
        raise could_not_run("_sparse_mm_reduce_impl", self if _sparse(self) else mat2)
    if len(mat2._shape) == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    for t in (self, mat2):
        _check_matrix(t)
    if _sparse(self) and _sparse(mat2):
        _check_sizes(self, mat2)
        if self.dtype is not mat2.dtype:
            raise RuntimeError(
                f"mat1 dtype {dt.scalar_name(self.dtype)} does not match mat2 dtype {dt.scalar_name(mat2.dtype)}"
            )
        only("sparse_matmul", self, dt.FLOAT, dt.COMPLEX, half=False)
        return _times_sparse(self.coalesce(), mat2)
    if not _sparse(self):
        _check_sizes(self, mat2)
        _check_dtypes(mat2, self)
        return _times_dense(mat2.t(), self.t()).t()
    if self._shape[1] != mat2._shape[0]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {self._shape[1]}, got {mat2._shape[0]}")
    _check_dtypes(self, mat2)
    return _times_dense(self, mat2)


@on_coo("_sparse_sparse_matmul")
def sparse_sparse_matmul(self, other):
    return mm(self, other)


@on_coo("mv")
@to_all
def mv(self, vec):
    if len(self._shape) != 2 or len(vec._shape) != 1:
        raise RuntimeError(
            f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: {len(self._shape)}Tensor Dim: "
            f"{len(vec._shape)}"
        )
    if self._shape[1] != vec._shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    if _sparse(vec):
        raise could_not_run("mv", vec)
    _check_dtypes(self, vec)
    return _times_dense(self, vec)


def _matmul(mm, mv):
    @to_all
    def matmul(self, other):
        a, b = len(self._shape), len(other._shape)
        if not a or not b:
            raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
        if a == b == 1:
            raise could_not_run("dot", self if _sparse(self) else other)
        if a == 2 and b == 1:
            return mv(self, other)
        if a == 1 and b == 2:
            return mv(other.t(), self)
        if a == b == 2:
            return mm(self, other)
        if b == 2 and not _sparse(self):
            return mm(self.reshape(-1, self._shape[-1]), other).reshape(*self._shape[:-1], other._shape[1])
        raise RuntimeError(f"expand is unsupported for {SPOKEN[(self if _sparse(self) else other)._layout]} tensors")

    return matmul


on_coo("matmul", "linalg_matmul")(_matmul(mm, mv))


def _accumulated(self, product, beta, alpha):
    """Return beta * self + alpha * product, with `self` expanded to the product's size."""
    shape = product._shape
    if len(self._shape) > len(shape) or any(s not in (1, n) for s, n in zip(self._shape[::-1], shape[::-1])):
        d = next(
            (len(shape) - 1 - i for i, (s, n) in enumerate(zip(self._shape[::-1], shape[::-1])) if s not in (1, n)), 0
        )
        raise RuntimeError(
            f"The expanded size of the tensor ({shape[d]}) must match the existing size "
            f"({self._shape[d - len(shape)]}) at non-singleton dimension {d}."
            f"  Target sizes: {list(shape)}.  Tensor sizes: {list(self._shape)}"
        )
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return (self if beta == 1 else self * beta).expand(shape) + product


@on_coo("addmm")
@to_all
def addmm(self, mat1, mat2, *, beta=1, alpha=1):
    if _sparse(self):
        raise RuntimeError("addmm_sparse_dense: expected strided result tensor, got tensor with layout Sparse")
    if not _sparse(mat1) or _sparse(mat2):
        raise RuntimeError(
            "addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, "
            f"got 'mat1' with layout {SPOKEN[mat1._layout]} and 'mat2' with layout {SPOKEN[mat2._layout]}"
        )
    return _accumulated(self, mm(mat1, mat2), beta, alpha)


@on_coo("addmm_")
def addmm_(self, mat1, mat2, *, beta=1, alpha=1):
    out = addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return self.copy_(out)


@on_coo("bmm")
def bmm(self, mat2):
    if not _sparse(self) or _sparse(mat2):
        raise RuntimeError(
            "bmm_sparse: Tensor 'mat2' must be dense"
            if _sparse(self)
            else "bmm: expected 'self' to be sparse and 'mat2' to be dense"
        )
    k, dense = self.sparse_dim(), self.dense_dim()
    if dense:
        raise RuntimeError(f"bmm_sparse: Tensor 'self' must have 0 dense dims, but has {dense}")
    if k != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'self' must have 3 sparse dims, but has {k}")
    if len(mat2._shape) != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'mat2' must have 3 dims, but has {len(mat2._shape)}")
    if self._shape[0] != mat2._shape[0] or self._shape[2] != mat2._shape[1]:
        raise RuntimeError(f"bmm_sparse: sizes {list(self._shape)} and {list(mat2._shape)} cannot be multiplied")
    (batch, row, column), (b, m, _) = self._i, self._shape
    rows = mat2[batch, column] * self._v.unsqueeze(1)
    out = T.zeros((b * m, mat2._shape[2]), dtype=rows.dtype, device=rows.device).index_add(0, batch * m + row, rows)
    return out.reshape(b, m, mat2._shape[2])


@on_coo("smm")
def smm(self, mat2):
    return sspaddmm(
        T.zeros((self._shape[0], mat2._shape[1]), dtype=self.dtype, layout=COO, device=self.device), self, mat2
    )


@on_coo("sspaddmm")
def sspaddmm(self, mat1, mat2, *, beta=1, alpha=1):
    """Return beta * self + alpha * mat1 @ mat2 as an uncoalesced coordinate tensor.

    Of the product, only the rows that mat1 specifies are appended.
    """
    if not _sparse(self) or not _sparse(mat1) or _sparse(mat2):
        raise RuntimeError("sspaddmm: expected 'self' and 'mat1' to be sparse and 'mat2' to be dense")
    _check_matrix(mat1)
    if mat1._shape[1] != mat2._shape[0]:
        raise RuntimeError(f"sspaddmm: Argument #3: Expected dim 0 size {mat1._shape[1]}, got {mat2._shape[0]}")
    part = hspmm(mat1, mat2)
    (row,), n = part._i, mat2._shape[1]
    indices = T.stack((row.repeat_interleave(n), T.arange(n, device=row.device).repeat(row._shape[0])))
    return coo.make(T.cat((self._i, indices), 1), T.cat((self._v * beta, (part._v * alpha).flatten())), self._shape)


@on_coo("hspmm", "hsmm")
def hspmm(mat1, mat2):
    """Return the product as a hybrid tensor that holds only the rows specified in mat1."""
    if not _sparse(mat1) or _sparse(mat2):
        raise RuntimeError("hspmm: expected 'mat1' to be sparse and 'mat2' to be dense")
    row, column, v = _entries(mat1.coalesce())
    rows, where = T.unique(row, return_inverse=True)
    values = T.zeros((rows._shape[0], mat2._shape[1]), dtype=v.dtype, device=v.device).index_add(
        0, where, mat2[column] * v.unsqueeze(1)
    )
    out = coo.make(rows.unsqueeze(0), values, (mat1._shape[0], mat2._shape[1]))
    out._c = out._c and rows._shape[0] < 2
    return out


def _linear(matmul, addmm):
    @to_all
    def linear(input, weight, bias=None):
        if len(input._shape) == 2 and bias is not None:
            return addmm(bias, input, weight.t())
        out = matmul(input, weight.t())
        return out if bias is None else out + bias

    return linear


on_coo("linear")(_linear(_matmul(mm, mv), addmm))


def _matrix_power(mm):
    def matrix_power(self, n):
        if len(self._shape) < 2 or self._shape[0] != self._shape[1]:
            sizes = " by ".join(map(str, self._shape))
            raise RuntimeError(
                f"linalg.matrix_power: A must be batches of square matrices, but they are {sizes} matrices"
            )
        if n < 1:
            raise could_not_run("eye" if n == 0 else "linalg_inv_ex", self)
        out = self
        for _ in range(n - 1):
            out = mm(out, self)
        return out

    return matrix_power


on_coo("matrix_power", "linalg_matrix_power")(_matrix_power(mm))


# ------------------------------------------------------------------------------------------------ of compressed layouts
def _no_product(self, a, b):
    return RuntimeError(
        f"addmm: computation on CPU is not implemented for {SPOKEN[self]} + {SPOKEN[a._layout]} @ {SPOKEN[b._layout]}"
    )


def _check_kernel(a, b, kernel):
    only(kernel, a, dt.FLOAT, dt.COMPLEX, half=False)


def _csr_product(a, b, result):
    """Return the product of two matrices in the layout `result`."""
    layouts = a._layout, b._layout
    blocks = any(x in BLOCKS for x in layouts) and not (
        result is strided and layouts in ((BSR, strided), (strided, compressed.BSC))
    )
    if COO in layouts or blocks:
        raise _no_product(result, a, b)
    if not _sparse(a) and not _sparse(b):
        raise _no_product(result, a, b)
    _check_dtypes(a, b)
    if _sparse(a) and _sparse(b):
        _check_kernel(a, b, "addmm_out_sparse_csr_impl_mkl_sparse")
        out = _times_sparse(a, b)
        return out.to_dense() if result is strided else compressed.from_coordinates(out, result)
    _check_kernel(a, b, "addmm_out_sparse_csr_impl_mkl")
    if result is not strided:
        raise _no_product(result, a, b)
    return _times_dense(a, b) if _sparse(a) else _times_dense(b.t(), a.t()).t().contiguous()


@on_compressed("mm", "spmm", "dsmm")
@to_all
def csr_mm(self, mat2, reduce=None):
    if reduce is not None:
        return sparse_mm_reduce(self, mat2, reduce)
    if len(self._shape) != 2 or len(mat2._shape) != 2:
        raise RuntimeError(f"mm: expected matrices, but got {len(self._shape)}D and {len(mat2._shape)}D tensors")
    _check_sizes(self, mat2)
    if _sparse(self) and _sparse(mat2):
        for t in (self, mat2):
            if t._layout in BLOCKS:
                compressed.nothing((), t.dtype, t._layout, t.device)  # raises the error
        return _csr_product(self, mat2, CSR)
    return _csr_product(self, mat2, strided)


@on_compressed("mv")
@to_all
def csr_mv(self, vec):
    if len(self._shape) != 2 or len(vec._shape) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {len(self._shape)}, {len(vec._shape)}")
    if self._shape[1] != vec._shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({self._shape[0]}), mat ({self._shape[0]}x{self._shape[1]}), "
            f"vec ({vec._shape[0]})"
        )
    if _sparse(vec):
        raise could_not_run("addmv", self)
    _check_dtypes(self, vec)
    _check_kernel(self, vec, "addmv_out_sparse_csr_impl_mkl")
    return _times_dense(self, vec)


@on_compressed("addmv")
@to_all
def addmv(self, mat, vec, *, beta=1, alpha=1):
    if len(self._shape) > 1 or len(mat._shape) != 2 or len(vec._shape) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(self._shape)}, {len(mat._shape)}, {len(vec._shape)}"
        )
    return _accumulated(self, csr_mv(mat, vec), beta, alpha)


on_compressed("matmul", "linalg_matmul")(_matmul(csr_mm, csr_mv))
on_compressed("matrix_power", "linalg_matrix_power")(_matrix_power(csr_mm))


@on_compressed("addmm")
@to_all
def csr_addmm(self, mat1, mat2, *, beta=1, alpha=1):
    for t in (mat1, mat2):
        if len(t._shape) != 2:
            raise RuntimeError(f"mat1 and mat2 must be matrices, got {len(mat1._shape)}D and {len(mat2._shape)}D")
    _check_sizes(mat1, mat2)
    product = _csr_product(mat1, mat2, self._layout)
    if not _sparse(self):
        return _accumulated(self, product, beta, alpha)
    if self._shape != product._shape:
        raise RuntimeError(f"addmm: expected 'self' of size {list(product._shape)}, but got {list(self._shape)}")
    return (
        compressed.add(self._with(self._v * beta), product, alpha=alpha) if beta else product._with(product._v * alpha)
    )


on_compressed("linear")(_linear(_matmul(csr_mm, csr_mv), csr_addmm))


@on_compressed("addmm_")
def csr_addmm_(self, mat1, mat2, *, beta=1, alpha=1):
    out = csr_addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return self._take(out) if _sparse(self) else self.copy_(out)


def sparse_mm_reduce(self, mat2, reduce):
    """Return the product, with the given reduction over the specified elements of a row."""
    if self._layout is not CSR:
        raise RuntimeError(f"sparse_mm_reduce: expect self to be SparseCsr, got {SPOKEN[self._layout]}")
    if mat2._layout is not strided:
        raise RuntimeError(f"sparse_mm_reduce: expect mat2 to be Strided, got {SPOKEN[mat2._layout]}")
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "amax", "amin"):
        if reduce == "prod":
            raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got " + str(reduce))
    _check_sizes(self, mat2)
    _check_dtypes(self, mat2)
    only("spmm_reduce_kernel", self, dt.FLOAT)
    row, column, v = _entries(self)
    rows = mat2[column] * v.unsqueeze(1)
    zeros = T.zeros((self._shape[0], mat2._shape[1]), dtype=rows.dtype, device=rows.device)
    return zeros.scatter_reduce(0, row.unsqueeze(1).expand(rows._shape), rows, reduce, include_self=False)


@on_compressed("_sparse_mm_reduce_impl")
def sparse_mm_reduce_impl(self, other, reduce):
    return sparse_mm_reduce(self, other, reduce), T.empty(0, dtype=dt.int64)


@on_compressed("triangular_solve")
def triangular_solve(self, A, upper=True, transpose=False, unitriangular=False):
    if not _sparse(A) or len(A._shape) < 2:
        raise RuntimeError(
            f"torch.triangular_solve: Expected A to have at least 2 dimensions, but it has {len(A._shape)} "
            f"dimensions instead"
        )
    if A._layout not in (CSR, BSR):
        raise ValueError("triangular_solve: unsupported sparse layout.")
    if _sparse(self):
        raise unsupported("triangular_solve", self)
    found = T.triangular_solve(self, A.to_dense(), upper, transpose, unitriangular)
    return type(found)((found[0], T.empty(0, dtype=self.dtype, device=self.device)))


def _check_sampled(self, mat1, mat2):
    if self._layout is not CSR:
        raise RuntimeError(f"sampled_addmm: Expected result to have sparse csr layout, but got {SPOKEN[self._layout]}")
    if self.dtype.category < dt.FLOAT:
        raise RuntimeError(
            "sparse_sampled_addmm: Expected self to be a floating-point or complex tensor, "
            f"but got {dt.scalar_name(self.dtype)}"
        )
    for name, m in (("mat1", mat1), ("mat2", mat2)):
        if m._layout is not strided:
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {SPOKEN[m._layout]}")
        if m.dtype is not self.dtype:
            names = f"{dt.scalar_name(m.dtype)} and {dt.scalar_name(self.dtype)}"
            raise RuntimeError(f"sampled_addmm: Expected {name} and self to have the same dtype, but got {names}")
    if mat1._shape[-1] != mat2._shape[-2]:
        sizes = f"{mat1._shape[-2]}x{mat1._shape[-1]} and {mat2._shape[-2]}x{mat2._shape[-1]}"
        raise RuntimeError(f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({sizes})")
    for d, name, m in ((-2, "mat1", mat1), (-1, "mat2", mat2)):
        if self._shape[d] != m._shape[d]:
            raise RuntimeError(f"sampled_addmm: self.shape[{d}] must match {name}.shape[{d}]")


@on_compressed("sparse_sampled_addmm")
def sampled_addmm(self, mat1, mat2, *, beta=1, alpha=1):
    if not _sparse(self):
        raise could_not_run("sparse_sampled_addmm", self)
    _check_sampled(self, mat1, mat2)
    row, column = compressed.coordinates(self)
    at = compressed._batches(self)
    shape = self._shape[:-2]
    left = mat1.expand(*shape, *mat1._shape[-2:])[(*at, row)]
    right = mat2.transpose(-1, -2).expand(*shape, *mat2._shape[:-3:-1])[(*at, column)]
    return self._with(self._v * beta + (left * right).sum(-1) * alpha)


def _refuse_sampled(self, *args, **kwargs):
    raise could_not_run("sparse_sampled_addmm", self)


on_coo("sparse_sampled_addmm")(_refuse_sampled)


# ------------------------------------------------------------------------------------------------ torch.sparse
# The gradients of these functions cover only the specified elements.
on_coo("_sparse_mm")(lambda sparse, dense, reduce=None: mm(sparse, dense, reduce))
on_coo("_sparse_addmm")(lambda mat, mat1, mat2, *, beta=1, alpha=1: addmm(mat, mat1, mat2, beta=beta, alpha=alpha))
on_compressed("_sparse_mm")(lambda sparse, dense, reduce=None: csr_mm(sparse, dense, reduce))
on_compressed("_sparse_addmm")(
    lambda mat, mat1, mat2, *, beta=1, alpha=1: csr_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
)


@composite("_C._sparse._sparse_mm(Tensor sparse, Tensor dense, str? reduce=None) -> Tensor", out=False)
def sparse_mm(sparse, dense, reduce):
    """Multiply two matrices, which are expected to be sparse."""
    if reduce is not None:
        raise could_not_run("_sparse_mm_reduce_impl", sparse)
    return T.mm(sparse, dense)


@composite(
    "_C._sparse._sparse_addmm(Tensor mat, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    out=False,
)
def sparse_addmm(mat, mat1, mat2, beta, alpha):
    """Return beta * mat + alpha * mat1 @ mat2, where mat1 may be sparse."""
    return T.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


@composite(
    "_C._sparse.sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
    "Scalar alpha=1) -> Tensor",
    out=SAME_DTYPE,
    method=False,
)
def strided_sampled_addmm(self, mat1, mat2, beta, alpha):
    """Return alpha * mat1 @ mat2 + beta * self at the specified elements of a CSR matrix `self`."""
    raise could_not_run("sparse_sampled_addmm", self)


@composite("_C._sparse._spsolve(Tensor A, Tensor B, *, bool left=True) -> Tensor", out=False)
def spsolve(A, B, left):
    """Solve a linear system with a sparse matrix. PyTorch supports this only on accelerators."""
    raise could_not_run("_spsolve", A)


def _refuse_spsolve(A, B, *, left=True):
    raise could_not_run("_spsolve", A)


on_coo("_spsolve")(_refuse_spsolve)
on_compressed("_spsolve")(_refuse_spsolve)
