"""Linear algebra: norms, factorizations, solvers, functions of matrices."""

import math

from ..autograd import forward
from ..call.autocast import FLOAT32, FLOAT32_ON_ACCELERATORS
from ..call.geometry import broadcast_shapes
from ..call.out import CONTIGUOUS, SAME_DTYPE, SAME_SCALAR_TYPE, with_out
from ..call.overrides import overridable
from ..context import CONTEXT
from ..declare import BY_PARTS, composite, op
from ..device import HOST, contiguous_format
from ..registry import provide
from ..tensor import canonical
from ..warn import warn_once
from .common import LINALG, T, Tensor, conj, contiguous_strides, dt, has_values, numel, only, wrap_dim, wrap_dims
from .matmul import mH, mT

INF = float("inf")


class _LinAlgError(RuntimeError):
    """Raised for a matrix that cannot be factored, inverted or used to solve a system."""

    __module__ = "torch._C"


# ------------------------------------------------------------------------------------------------ checks and geometry
def _name(d):
    return dt.scalar_name(d if isinstance(d, dt.dtype) else d.dtype)


def check_matrix(A, fn, name="A"):
    if len(A._shape) < 2:
        raise RuntimeError(f"{fn}: The input tensor {name} must have at least 2 dimensions.")


def check_square(A, fn, name="A"):
    check_matrix(A, fn, name)
    m, n = A._shape[-2:]
    if m != n:
        raise RuntimeError(f"{fn}: {name} must be batches of square matrices, but they are {m} by {n} matrices")


def check_inexact(A, fn, low=True):
    if A.dtype.category < dt.FLOAT:
        raise RuntimeError(f"{fn}: Expected a floating point or complex tensor as input. Got {_name(A)}")
    if not low and A.dtype in dt.OPMATH:
        raise RuntimeError(f"{fn}: Low precision dtypes not supported. Got {_name(A)}")


def checked(A, fn, square=True, low=True):
    (check_square if square else check_matrix)(A, fn)
    check_inexact(A, fn, low)


def same_dtype(A, B, fn, a="A", b="B"):
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{fn}: Expected {a} and {b} to have the same dtype, but found {a} of type {_name(A)} and {b} of type "
            f"{_name(B)} instead"
        )


def column(shape, dtype, rows=None):
    """Return the spec of a stack of matrices in column-major order, as LAPACK returns them.

    `rows`, if given, is the number of rows for which each column has room in memory.
    """
    shape = tuple(shape)
    if len(shape) < 2:
        return shape, dtype
    st = contiguous_strides((*shape[:-2], shape[-1], rows or shape[-2]))
    return shape, dtype, canonical(shape, (*st[:-2], st[-1], st[-2]))


def raise_info(info, fn, message, error=_LinAlgError):
    """Raise an error for the first matrix whose factorization failed.

    The message may contain {v}, which is replaced by the info of that matrix.
    """
    if has_values(info) and bool(info.any()):
        batch = info.reshape((-1,)).tolist()
        i, v = next((i, v) for i, v in enumerate(batch) if v)
        raise error(f"{fn}: " + (f"(Batch element {i}): " if info._shape else "") + message.format(v=v))


def columns(x):
    """Return x with contiguous columns."""
    return mT(mT(x).contiguous())


def diag(x):
    return T.diag_embed(x)


def eye(n, like):
    return T.eye(n, dtype=like.dtype, device=like.device)


def eps(dtype):
    return dt.finfo(dtype).eps


# ------------------------------------------------------------------------------------------------ norms
def _norm_dtype(x, dtype, fn="linalg.vector_norm"):
    check_inexact(x, fn)
    if dtype is not None and dtype is not x.dtype:
        if dtype.category < dt.FLOAT:
            raise RuntimeError(f"{fn}: dtype should be floating point or complex, but got {_name(dtype)}")
        if dtype.is_complex != x.dtype.is_complex:
            kind = "complex" if x.dtype.is_complex else "real"
            raise RuntimeError(f"{fn}: dtype should be {kind} for {kind} inputs, but got {_name(dtype)}")
        if dt.promote_types(x.dtype, dtype) is not dtype:
            raise RuntimeError(
                f"{fn}: the dtype of the input ({_name(x)}) should be convertible without narrowing to the specified "
                f"dtype ({_name(dtype)})"
            )
        x = x.to(dtype)
    return x


def _norm_prepare(self, ord, dim, keepdim, dtype):
    self = _norm_dtype(self, dtype)
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    dims = wrap_dims(dim, len(self._shape)) if self._shape or dim is None else tuple(wrap_dim(d, 0) for d in dim)[:0]
    if ord < 0 or ord == INF:
        shown = "inf" if ord == INF else f"{ord:g}"
        if dim is None or len(dim) == 0 and self._shape:
            if 0 in self._shape:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the operation "
                    f"does not have an identity"
                )
        for d in dims:
            if self._shape and self._shape[d] == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {shown} norm on the dimension {d} because this dimension "
                    "is empty and the operation does not have an identity"
                )
    return self, float(ord), dims, keepdim, None


def reduced(shape, dims, keepdim):
    return tuple(1 if d in dims else s for d, s in enumerate(shape) if keepdim or d not in dims)


def _norm_grad(g, self, ord, dim, keepdim, out):
    if not keepdim:
        for d in dim:
            g, out = g.unsqueeze(d), out.unsqueeze(d)
    if ord == 0:
        return None
    if ord == 1:
        return T.sgn(self) * g
    if ord == 2:
        return g * T.where(out == 0, 0.0, self / out)
    size = self.abs()
    if abs(ord) == INF:
        # two kernels may round a complex magnitude differently, so the maximum is not taken from the result
        top = size == ((T.amax if ord > 0 else T.amin)(size, dim, True) if self.dtype.is_complex else out)
        top = top | T.isnan(out) & T.isnan(size)
        return T.sgn(self) * (g / top.sum(dim, keepdim=True)) * top
    # multiplied in the same order as PyTorch: where one element alone determines the norm, the factors cancel exactly
    if ord > 2:
        return self * size ** (ord - 2) * T.where(out == 0, 0.0, g / out ** (ord - 1))
    scaled = T.sgn(self) * T.where(self == 0, 0.0, size ** (ord - 1))
    return scaled * g * out ** (1 - ord) if ord < 1 else scaled * T.where(out == 0, 0.0, g / out ** (ord - 1))


_vector_norm_meta = lambda self, ord, dim, keepdim, dtype: (reduced(self._shape, dim, keepdim), self.dtype.to_real())
_VECTOR_NORM = dict(prepare=_norm_prepare, meta=_vector_norm_meta, derivative=_norm_grad, out=SAME_DTYPE)
vector_norm = op(
    "linalg.vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    "LinalgVectorNorm",
    **_VECTOR_NORM,
)


@composite(
    "linalg.matrix_norm(Tensor self, Any ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    out=SAME_SCALAR_TYPE,
)
def matrix_norm(A, ord, dim, keepdim, dtype):
    fn, ord = "linalg.matrix_norm", _order(ord)
    check_matrix(A, fn)
    if len(dim) != 2:
        raise RuntimeError(f"{fn}: dim must be a 2-tuple. Got {', '.join(map(str, dim))}")
    a, b = (wrap_dim(d, len(A._shape)) for d in dim)
    if a == b:
        raise RuntimeError(f"{fn}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return LINALG.vector_norm(A, 2, (a, b), keepdim, dtype=dtype)
    if ord not in ("nuc", 1, -1, 2, -2, INF, -INF):
        raise RuntimeError(f"{fn}: Order {ord} not supported.")
    A = _norm_dtype(A, dtype, fn)
    if A.dtype in dt.OPMATH and ord in ("nuc", 2, -2):
        raise RuntimeError(f"{fn}: Low precision dtypes not supported. Got {_name(A)}")
    if ord in ("nuc", 2, -2):
        s = LINALG.svdvals(A.movedim((a, b), (-2, -1)))
        # without singular values the largest one counts as 0, and the smallest one is an error
        r = s.sum(-1) if ord == "nuc" or ord == 2 and not s._shape[-1] else (T.amax if ord == 2 else T.amin)(s, -1)
        return _kept(r, (a, b)) if keepdim else r
    if abs(ord) == INF:
        a, b = b, a
    r = LINALG.vector_norm(A, 1, [a], True)
    r = r.sum([b], True) if ord > 0 and not r._shape[b] else (T.amax if ord > 0 else T.amin)(r, [b], True)
    return r if keepdim else r.squeeze((a, b))


def _kept(r, dims):
    for d in sorted(dims):
        r = r.unsqueeze(d)
    return r


def _order(ord):
    return (
        ord.item()
        if isinstance(ord, Tensor)
        else float(ord)
        if isinstance(ord, str) and ord.lstrip("-") == "inf"
        else ord
    )


@composite(
    "linalg.norm(Tensor self, Any ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=SAME_DTYPE,
)
def linalg_norm(self, ord, dim, keepdim, dtype):
    ord = _order(ord)
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is not None and dim is None and len(self._shape) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {len(self._shape)}D."
        )
    if ord is not None and (isinstance(ord, str) or len(dim or self._shape) == 2):
        return matrix_norm(self, ord, dim or tuple(range(-min(len(self._shape), 2), 0)), keepdim, dtype)
    return LINALG.vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@composite(
    "norm(Tensor self, Any p='fro', int[1]? dim=None, bool keepdim=False, ScalarType? dtype=None) -> Tensor",
    out=SAME_DTYPE,
    python=True,
    autocast=FLOAT32_ON_ACCELERATORS,
)
def norm(self, p, dim, keepdim, dtype):
    if isinstance(p, str):
        if p != "fro" or dim is not None and len(dim) > 2:
            return matrix_norm(self, p, tuple(range(len(self._shape))) if dim is None else dim, keepdim, dtype)
        p = 2
    return LINALG.vector_norm(self, 2 if p is None else _order(p), dim, keepdim, dtype=dtype)


@composite("frobenius_norm(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", method=False)
def frobenius_norm(self, dim, keepdim):
    if len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return LINALG.vector_norm(self, 2, dim, keepdim)


@composite("nuclear_norm(Tensor self, int[2]? dim=None, bool keepdim=False) -> Tensor", method=False)
def nuclear_norm(self, dim, keepdim):
    return matrix_norm(self, "nuc", (-2, -1) if dim is None else dim, keepdim, None)


_DIST = dict(out=False, autocast=FLOAT32_ON_ACCELERATORS, derivative=BY_PARTS)
composite("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", **_DIST)(
    lambda self, other, p: T.norm(self - other, p)
)


@composite(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    inplace=True,
    out=SAME_DTYPE,
    autocast=FLOAT32_ON_ACCELERATORS,
    derivative=BY_PARTS,
)
def renorm(self, p, dim, maxnorm):
    n = len(self._shape)
    if n < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {n} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    d = wrap_dim(dim, n)
    dims, dtype = [i for i in range(n) if i != d], dt.OPMATH.get(self.dtype, self.dtype)
    large = LINALG.vector_norm(self.detach(), p, dims, True, dtype=dtype) > maxnorm
    # no gradient goes through the norm of a slice that stays as it is
    safe = self.masked_fill(large.logical_not(), 1)
    factor = (maxnorm / (LINALG.vector_norm(safe, p, dims, True, dtype=dtype) + 1e-7)).to(self.dtype)
    return T.where(large, safe * factor, self).contiguous()


@composite("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor")
def norm_except_dim(v, pow, dim):
    n = len(v._shape)
    if dim == -1:
        return LINALG.vector_norm(v, pow)
    if n < 2:
        return LINALG.vector_norm(v.view(v.size(0), -1), pow, 1)
    return LINALG.vector_norm(v.transpose(0, dim), pow, list(range(1, n)), True).transpose(0, dim)


@composite("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", no_forward="_weight_norm_interface")
def weight_norm(v, g, dim):
    """Return v with the norm g over all dimensions but one; PyTorch's kernel rounds half types once."""
    wide = dt.OPMATH.get(v.dtype) if dim in (0, len(v._shape) - 1) else None
    if wide is None:
        return v * (g / norm_except_dim(v, 2, dim))
    return weight_norm(v.to(wide), g.to(wide), dim).to(v.dtype)


# ------------------------------------------------------------------------------------------------ inverse, det, solve
_LINALG_INV_EX = dict(
    meta=lambda A: [column(A._shape, A.dtype), (A._shape[:-2], dt.int32)],
    derivative=lambda g0, out0: -(mH(out0) @ (g0 @ mH(out0))),
)
inv_op = op("_linalg_inv_ex(Tensor A) -> (Tensor, Tensor)", method=False, non_differentiable=(1,), **_LINALG_INV_EX)


SINGULAR = (
    "The diagonal element {v} is zero, the inversion could not be completed because the input matrix is singular."
)
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{v} is not positive-definite)."
)
ZERO_U = (
    "U[{v},{v}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
    "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)
SINGULAR_D = (
    "The factorization was completed, but the block diagonal matrix D is exactly singular at D({v},{v}) and division "
    "by zero will occur, if it is used to solve a system of equations."
)


def _inv(A, fn, check):
    checked(A, fn, low=False)
    r, info = inv_op.call(A)
    if check:
        raise_info(info, fn, SINGULAR)
    return r, info


@composite(
    "linalg.inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    out=SAME_DTYPE,
    autocast=FLOAT32,
)
def inv_ex(A, check_errors):
    return _inv(A, "linalg.inv_ex", check_errors)


@composite("linalg.inv(Tensor A) -> Tensor", out=SAME_DTYPE, autocast=FLOAT32)
@composite("inverse(Tensor self) -> Tensor", autocast=FLOAT32)
def inv(A):
    return _inv(A, "linalg.inv", True)[0]


def _det_grad(g0, A, out0, out1, out2):
    d = diag((g0 * conj(out0)).unsqueeze(-1).expand(A._shape[:-1]))
    if CONTEXT.grad:
        if not has_values(A) or bool(out0.all()):
            return LINALG.solve_ex(mH(A), d)[0]
        # for singular matrices the cofactors, from the products of the other singular values
        U, S, Vh = LINALG.svd(A)
        one = eye(S._shape[-1], S)
        others = (S.unsqueeze(-2) * (1 - one) + one).prod(-1)
        return (U * (conj(LINALG.det(U) * LINALG.det(Vh)) * g0).unsqueeze(-1).unsqueeze(-1) * others.unsqueeze(-2)) @ Vh
    # first-order gradient: zeros for a singular matrix, as in PyTorch
    LU = out1 + diag(T.where(out1.diagonal(0, -2, -1) == 0, eps(A.dtype), 0.0).to(A.dtype))
    return LINALG.lu_solve(LU, out2, d, adjoint=True)


_linalg_det_meta = lambda A: [(A._shape[:-2], A.dtype), column(A._shape, A.dtype), (A._shape[:-1], dt.int32)]
det_op = op(
    "_linalg_det(Tensor A) -> (Tensor, Tensor, Tensor)",
    method=False,
    non_differentiable=(1, 2),
    derivative=_det_grad,
    meta=_linalg_det_meta,
)


@composite("linalg.det(Tensor A) -> Tensor", out=SAME_DTYPE)
@composite("det(Tensor self) -> Tensor", out=False)
def det(A):
    checked(A, "linalg.det")
    return det_op.call(A)[0]


def _slogdet_grad(gs, A, out0):
    g = gs[1]
    if A.dtype.is_complex:
        g = T.zeros(A._shape[:-2], dtype=A.dtype.to_real(), device=A.device) if g is None else g
        g = T.complex(g, T.zeros_like(g) if gs[0] is None else -(conj(gs[0]) * out0).imag)
    elif g is None:
        return T.zeros_like(A)
    return LINALG.solve_ex(mH(A), diag(g.unsqueeze(-1).expand(A._shape[:-1])))[0]


_linalg_slogdet_meta = lambda A: [(A._shape[:-2], A.dtype), (A._shape[:-2], A.dtype.to_real())]
slogdet_op = op(
    "_linalg_slogdet(Tensor A) -> (Tensor, Tensor)", method=False, derivative=_slogdet_grad, meta=_linalg_slogdet_meta
)


@composite("linalg.slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", out=SAME_DTYPE)
@composite("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", out=SAME_DTYPE)
def slogdet(A):
    checked(A, "linalg.slogdet", low=False)
    return slogdet_op.call(A)


@composite("logdet(Tensor self) -> Tensor", out=False)
def logdet(self):
    checked(self, "logdet", low=False)
    sign, size = slogdet_op.call(self)
    return sign.log() + size if self.dtype.is_complex else T.where(sign == -1, math.nan, size)


def _batched(*ts):
    """Return the tensors with their batch dimensions broadcast."""
    batch = broadcast_shapes(*[t._shape[:-2] for t in ts])
    return [t if t._shape[:-2] == batch else t.expand((*batch, *t._shape[-2:])) for t in ts]


def _fits(A, B, left, fn):
    if (B._shape[-2] if left else B._shape[-1]) != A._shape[-1]:
        raise RuntimeError(
            f"{fn}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A._shape[-2]}x{A._shape[-1]} and {B._shape[-2]}x{B._shape[-1]})"
        )


def _solve_grads(g0, A, out0, left, vector, needs):
    if vector:
        g0, out0 = g0.unsqueeze(-1), out0.unsqueeze(-1)
    gB = LINALG.solve(mH(A), g0, left=left)
    return -(gB @ mH(out0) if left else mH(out0) @ gB) if needs[0] else None, gB


def _solve_meta(A, B, left, vector):
    # PyTorch lays out a batch of vectors like one matrix
    return [
        column(B._shape[:-1] if vector else B._shape, B.dtype) if left else (B._shape, B.dtype),
        (A._shape[:-2], dt.int32),
    ]


_LINALG_SOLVE_EX = dict(meta=_solve_meta, derivative={("A", "B"): _solve_grads})
solve_op = op(
    "_linalg_solve_ex(Tensor A, Tensor B, bool left, bool vector) -> (Tensor, Tensor)",
    method=False,
    non_differentiable=(1,),
    **_LINALG_SOLVE_EX,
)


def _solve(A, B, left, fn, check):
    checked(A, "linalg.solve")
    same_dtype(A, B, "linalg.solve")
    vector = len(B._shape) == 1 or len(A._shape) - 1 == len(B._shape) and B._shape == A._shape[:-1]
    if vector and not left:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation XA = B ({A._shape[-2]}x{A._shape[-1]} "
            f"and {B._shape[-1]}x1)"
        )
    b = B.unsqueeze(-1) if vector else B
    check_matrix(b, "linalg.solve", "B")
    _fits(A, b, left, "linalg.solve")
    X, info = solve_op.call(*_batched(A, b), left, vector)
    if check:
        raise_info(info, fn, "The solver failed because the input matrix is singular.")
    return X, info


@composite(
    "linalg.solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    out=SAME_DTYPE,
)
def solve_ex(A, B, left, check_errors):
    return _solve(A, B, left, "torch.linalg.solve_ex", check_errors)


@composite("linalg.solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", out=SAME_DTYPE, autocast=FLOAT32)
def solve(A, B, left):
    return _solve(A, B, left, "torch.linalg.solve", True)[0]


def _triangle(x, upper, unit=False):
    return x.triu(int(unit)) if upper else x.tril(-int(unit))


def _triangular_prepare(self, B, upper, left, unitriangular):
    fn = "linalg.solve_triangular"
    check_square(self, fn)
    check_matrix(B, fn, "B")
    same_dtype(self, B, fn)
    _fits(self, B, left, fn)
    return *_batched(self, B), upper, left, unitriangular


def _triangular_grads(g, self, out, upper, left, unitriangular, needs):
    gB = LINALG.solve_triangular(mH(self), g, upper=not upper, left=left, unitriangular=unitriangular)
    return _triangle(-(gB @ mH(out) if left else mH(out) @ gB), upper, unitriangular) if needs[0] else None, gB


def _triangular_call(prim, A, B, upper, left, unitriangular):
    return prim(B, A, upper, False, unitriangular)[0]


_solve_triangular_meta = lambda self, B, upper, left, unitriangular: column(B._shape, B.dtype)
_SOLVE_TRIANGULAR = dict(
    call=_triangular_call,
    prepare=_triangular_prepare,
    meta=_solve_triangular_meta,
    derivative={("self", "B"): _triangular_grads},
    out=SAME_SCALAR_TYPE,
)
op(
    "linalg.solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    "TriangularSolve",
    **_SOLVE_TRIANGULAR,
)


@composite(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> "
    "(Tensor solution, Tensor cloned_coefficient)",
    out=SAME_DTYPE,
    autocast=FLOAT32,
)
def triangular_solve(self, A, upper, transpose, unitriangular):
    for t, who in ((self, "b"), (A, "A")):
        if len(t._shape) < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {who} to have at least 2 dimensions, but it has {len(t._shape)} "
                f"dimensions instead"
            )
    check_square(A, "torch.triangular_solve")
    _deprecated(
        "triangular_solve",
        "linalg.solve_triangularand",
        "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the "
        "inputs.\nX = torch.triangular_solve(B, A).solution",
        "X = torch.linalg.solve_triangular(A, B).",
    )
    self, A = _batched(self, A)
    coefficient = mH(A) if transpose else A
    solution = LINALG.solve_triangular(coefficient, self, upper=upper != transpose, unitriangular=unitriangular)
    return solution, mT(mT(A).clone(memory_format=contiguous_format))


# ------------------------------------------------------------------------------------------------ Cholesky
def _cholesky_grad(g0, out0, upper):
    L, g = (mH(out0), mH(g0)) if upper else (out0, g0)
    phi = (mH(L) @ g).tril()
    phi = phi + mH(phi.tril(-1))
    r = LINALG.solve_triangular(mH(L), LINALG.solve_triangular(L, phi, upper=False, left=False), upper=True)
    return r * 0.5


_LINALG_CHOLESKY_EX = dict(
    derivative=_cholesky_grad,
    meta=lambda self, upper: [column(self._shape, self.dtype), (self._shape[:-2], dt.int32)],
    method=False,
)
cholesky_op = op(
    "_linalg_cholesky_ex(Tensor self, bool upper) -> (Tensor, Tensor)", non_differentiable=(1,), **_LINALG_CHOLESKY_EX
)


def _cholesky(A, upper, fn, check):
    (check_square if fn == "cholesky" else checked)(A, fn)
    L, info = cholesky_op.call(A, upper)
    if check:
        raise_info(info, fn, NOT_POSITIVE)
    return L, info


@composite(
    "linalg.cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    out=SAME_DTYPE,
    autocast=FLOAT32,
)
def cholesky_ex(self, upper, check_errors):
    return _cholesky(self, upper, "linalg.cholesky_ex", check_errors)


@composite("linalg.cholesky(Tensor self, *, bool upper=False) -> Tensor", out=SAME_DTYPE, autocast=FLOAT32)
def linalg_cholesky(self, upper):
    return _cholesky(self, upper, "linalg.cholesky", True)[0]


@composite(
    "cholesky(Tensor self, bool upper=False) -> Tensor",
    out=CONTIGUOUS,
    autocast=FLOAT32,
    no_forward="cholesky",
    derivative=_cholesky_grad,
)
def cholesky(self, upper):
    _deprecated(
        "cholesky",
        "linalg.cholesky and",
        "L = torch.cholesky(A)",
        "L = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)",
        "U = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid (symmetric "
        "positive definite) inputs.",
    )
    return _cholesky(self, upper, "cholesky", True)[0]


def _cholesky_solve_grads(g, input2, out, upper, needs):
    gB = T.cholesky_solve(g, input2, upper)
    if not needs[1]:
        return gB, None
    common = gB @ mH(out)
    common = common + mH(common)
    return gB, -(input2 @ common if upper else common @ input2)


def _cholesky_solve_prepare(self, input2, upper):
    for t, who in ((self, "b"), (input2, "u")):
        if len(t._shape) < 2:
            raise RuntimeError(f"{who} should have at least 2 dimensions, but has {len(t._shape)} dimensions instead")
    check_square(input2, "cholesky_solve")
    if self._shape[-2] != input2._shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2._shape[-1]} by "
            f"{input2._shape[-1]} but each b matrix is {self._shape[-2]} by {self._shape[-1]}"
        )
    if self.dtype is not input2.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {_name(self)} and A of type "
            f"{_name(input2)} instead."
        )
    return *_batched(self, input2), upper


_CHOLESKY_SOLVE = dict(
    prepare=_cholesky_solve_prepare,
    meta=lambda self, input2, upper: column(self._shape, self.dtype),
    derivative={("self", "input2"): _cholesky_solve_grads},
)
op(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    out=CONTIGUOUS,
    autocast=FLOAT32,
    **_CHOLESKY_SOLVE,
)


@composite("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", autocast=FLOAT32, derivative=BY_PARTS)
def cholesky_inverse(self, upper):
    check_square(self, "cholesky_inverse")
    only("cholesky_inverse_out_cpu", self, dt.FLOAT, dt.COMPLEX, half=False)
    return T.cholesky_solve(eye(self._shape[-1], self).expand(self._shape), self, upper)


# ------------------------------------------------------------------------------------------------ LU and LDL
def _lu_grad(g0, out0, out1):
    LU, (m, n) = out0, out0._shape[-2:]
    k = min(m, n)
    P, L, U = lu_unpack(LU, out1, True, True)
    L1, U1 = L.narrow(-2, 0, k), U.narrow(-1, 0, k)
    gL, gU = g0.narrow(-1, 0, k).tril(-1), g0.narrow(-2, 0, k).triu()
    gL1, gU1 = gL.narrow(-2, 0, k), gU.narrow(-1, 0, k)
    phi_L, phi_U = mH(L1) @ gL1, gU1 @ mH(U1)
    if m > n:
        phi_U = phi_U - mH(L.narrow(-2, k, m - k)) @ gL.narrow(-2, k, m - k)
    elif n > m:
        phi_L = phi_L - gU.narrow(-1, k, n - k) @ mH(U.narrow(-1, k, n - k))
    left = phi_L.tril(-1) + phi_U.triu()
    left = LINALG.solve_triangular(mH(L1), left, upper=True, unitriangular=True)
    if m > n:
        left = T.cat((left, gL.narrow(-2, k, m - k)), -2)
    g = LINALG.solve_triangular(mH(U1), left, upper=False, left=False)
    if n > m:
        right = LINALG.solve_triangular(mH(L1), gU.narrow(-1, k, n - k), upper=True, unitriangular=True)
        g = T.cat((g, right), -1)
    return P @ g


def _lu_spec(A):
    s = A._shape
    return [column(s, A.dtype), ((*s[:-2], min(s[-2:])), dt.int32), (s[:-2], dt.int32)]


_LINALG_LU_FACTOR_EX = dict(meta=_lu_spec, derivative=_lu_grad, method=False, non_differentiable=(1, 2))
lu_op = op("_linalg_lu_factor_ex(Tensor A) -> (Tensor, Tensor, Tensor)", **_LINALG_LU_FACTOR_EX)


def _lu(A, pivot, fn, check):
    if len(A._shape) < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(A._shape)} instead"
        )
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    r = lu_op.call(A)
    if check:
        raise_info(r[2], fn, ZERO_U, RuntimeError)
    return r


@composite(
    "linalg.lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, "
    "Tensor info)",
    out=SAME_DTYPE,
)
def lu_factor_ex(A, pivot, check_errors):
    return _lu(A, pivot, "torch.linalg.lu_factor_ex", check_errors)


@composite("linalg.lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", out=SAME_DTYPE)
def lu_factor(A, pivot):
    return _lu(A, pivot, "torch.linalg.lu_factor", True)[:2]


@composite(
    "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)",
    method=False,
)
def lu_with_info(self, pivot, check_errors):
    _deprecated(
        "lu",
        "linalg.lu_factor / torch.linalg.lu_factor_ex and",
        "LU, pivots = torch.lu(A, compute_pivots)",
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, "
        "get_infos=True)",
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
    )
    return _lu(self, pivot, "torch.linalg.lu_factor_ex", check_errors)


@composite("linalg.lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", out=SAME_DTYPE)
def linalg_lu(A, pivot):
    check_matrix(A, "linalg.lu")
    return lu_unpack(*_lu(A, pivot, "linalg.lu", False)[:2], True, True)


@overridable
def lu(self, pivot=True, get_infos=False, out=None):
    """Return (LU, pivots) or (LU, pivots, infos) of the LU factorization.

    Deprecated in favor of linalg.lu_factor.
    """
    r = T._lu_with_info(self, pivot=pivot, check_errors=False)
    r = r if get_infos else tuple(r)[:2]
    if out is not None:
        return with_out("lu", r, out)
    return r


_lu_permutation_meta = lambda pivots, n, dtype: ((*pivots._shape[:-1], n, n), dtype)
permutation = op(
    "_lu_permutation(Tensor pivots, int n, ScalarType dtype) -> Tensor",
    method=False,
    function=False,
    opmath=False,
    meta=_lu_permutation_meta,
)


def _check_pivots(pivots, n, small, large):
    """Raise the errors of PyTorch's CPU kernels for pivots outside 1 to n.

    `small` and `large` are the messages for pivots that are too small and too large.
    """
    if pivots.device is HOST and has_values(pivots) and 0 not in pivots._shape:
        least, most = T.aminmax(pivots)
        if least.item() < 1:
            raise RuntimeError(small)
        if most.item() > n:
            raise RuntimeError(large)


_NO_ROW = (
    "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of "
    "lu_factor?"
)
_NO_ROW_TO_SOLVE = (
    "Pivots given to lu_solve must all be {} or equal to {}. Did you properly pass the result of lu_factor?"
)


@composite(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, "
    "Tensor L, Tensor U)",
    out=SAME_DTYPE,
)
def lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots):
    """Return P, L and U of a factorization."""
    if unpack_pivots and LU_pivots.dtype is not dt.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: "
            "this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    m, n = LU_data._shape[-2:]
    k = min(m, n)
    none = T.empty((0,), dtype=LU_data.dtype, device=LU_data.device)
    if unpack_pivots:
        _check_pivots(LU_pivots, m, _NO_ROW, _NO_ROW)
    P = permutation.call(LU_pivots, m, LU_data.dtype) if unpack_pivots else none
    if not unpack_data:
        return P, none, T.empty_like(none)
    L = LU_data.narrow(-1, 0, k).tril(-1) + T.eye(m, k, dtype=LU_data.dtype, device=LU_data.device)
    return P, L, LU_data.narrow(-2, 0, k).triu()


@composite(
    "linalg.lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    out=SAME_DTYPE,
)
def linalg_lu_solve(LU, pivots, B, left, adjoint):
    fn = "linalg.lu_solve"
    check_inexact(LU, "torch." + fn)
    if 0 not in LU._shape:
        only("linalg.lu_solve_cpu", LU, dt.FLOAT, dt.COMPLEX, half=False)
    same_dtype(LU, B, fn, "LU")
    if pivots.dtype is not dt.int32:
        raise RuntimeError(f"{fn}: pivots should be a Tensor of scalar type torch.int32")
    check_square(LU, "torch.linalg.lu_solve")
    check_matrix(B, fn, "B")
    _fits(LU, B, left, fn)
    if LU._shape[-1] != pivots._shape[-1]:
        raise RuntimeError(f"{fn}: Number of pivots per batch should be same as the dimension of the matrix")
    if LU._shape[:-1] != pivots._shape:
        raise RuntimeError(
            f"{fn}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots._shape)} instead"
        )
    if not left:
        return mH(linalg_lu_solve(LU, pivots, mH(B), True, not adjoint))
    n = LU._shape[-1]
    _check_pivots(pivots, n, _NO_ROW_TO_SOLVE.format("greater", 1), _NO_ROW_TO_SOLVE.format("smaller", "LU.size(-2)"))
    P = permutation.call(pivots, n, LU.dtype)
    if adjoint:
        y = LINALG.solve_triangular(mH(LU), B, upper=False)
        return columns(P @ LINALG.solve_triangular(mH(LU), y, upper=True, unitriangular=True))
    y = LINALG.solve_triangular(LU, mH(P) @ B, upper=False, unitriangular=True)
    return LINALG.solve_triangular(LU, y, upper=True)


@composite("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", out=SAME_DTYPE, autocast=FLOAT32)
def lu_solve(self, LU_data, LU_pivots):
    _deprecated(
        "lu_solve",
        "linalg.lu_solveand",
        "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)",
        "X = torch.linalg.lu_solve(LU, pivots, B)",
    )
    return linalg_lu_solve(LU_data, LU_pivots, self, True, False)


_linalg_ldl_factor_ex_meta = lambda self, hermitian: [
    column(self._shape, self.dtype),
    (self._shape[:-1], dt.int32),
    (self._shape[:-2], dt.int32),
]
_LINALG_LDL_FACTOR_EX = dict(meta=_linalg_ldl_factor_ex_meta, method=False)
ldl_op = op("_linalg_ldl_factor_ex(Tensor self, bool hermitian) -> (Tensor, Tensor, Tensor)", **_LINALG_LDL_FACTOR_EX)
_LDL_FACTOR = dict(out=SAME_DTYPE, no_forward="aten::linalg_ldl_factor_ex")


@composite(
    "linalg.ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, "
    "Tensor info)",
    **_LDL_FACTOR,
)
def ldl_factor_ex(self, hermitian, check_errors):
    checked(self, "torch.linalg.ldl_factor_ex")
    r = ldl_op.call(self.detach(), hermitian)
    if check_errors:
        raise_info(r[2], "torch.linalg.ldl_factor_ex", SINGULAR_D)
    return r


@composite("linalg.ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)", **_LDL_FACTOR)
def ldl_factor(self, hermitian):
    return ldl_factor_ex(self, hermitian, True)[:2]


def _ldl_prepare(LD, pivots, B, hermitian):
    fn = "torch.linalg.ldl_solve"
    checked(LD, fn)
    if len(B._shape) < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    if B._shape[-2] != LD._shape[-2]:
        raise RuntimeError(
            f"{fn}: Incompatible matrix sizes: each A matrix is {LD._shape[-1]} by {LD._shape[-1]} but each b matrix "
            f"is {B._shape[-2]} by {B._shape[-1]}"
        )
    if pivots.dtype.category != dt.INT:
        raise RuntimeError(f"{fn}: Expected pivots to be integers. Got {_name(pivots)}")
    same_dtype(LD, B, fn)
    batch = broadcast_shapes(LD._shape[:-2], B._shape[:-2])
    return (
        LD.expand((*batch, *LD._shape[-2:])),
        pivots.expand((*batch, pivots._shape[-1])),
        B.expand((*batch, *B._shape[-2:])),
        hermitian,
    )


_ldl_solve_grads = {
    "B": lambda g, LD, pivots, hermitian: (
        LINALG.ldl_solve(LD, pivots, g, hermitian=True) if hermitian else conj(LINALG.ldl_solve(LD, pivots, conj(g)))
    )
}
_LDL_SOLVE = dict(
    prepare=_ldl_prepare, meta=lambda LD, pivots, B, hermitian: column(B._shape, B.dtype), derivative=_ldl_solve_grads
)
op(
    "linalg.ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    out=SAME_DTYPE,
    no_forward="aten::linalg_ldl_solve",
    **_LDL_SOLVE,
)


# ------------------------------------------------------------------------------------------------ QR
def _qr_grad(gs, A, out0, out1, mode):
    gQ, gR = gs
    m, n = A._shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to require gradients."
        )
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    Q, R = out0, out1
    if m >= n:
        return _qr_square_grad(gQ, gR, Q, R)
    # A = [Q R1, A2] with R2 = Q^H A2
    gQ_all, gR1 = gQ, None
    gA2 = T.zeros_like(A.narrow(-1, m, n - m))
    if gR is not None:
        gR1, gR2 = gR.narrow(-1, 0, m), gR.narrow(-1, m, n - m)
        through = A.narrow(-1, m, n - m) @ mH(gR2)
        gQ_all = through if gQ is None else gQ + through
        gA2 = Q @ gR2
    return T.cat((_qr_square_grad(gQ_all, gR1, Q, R.narrow(-1, 0, m)), gA2), -1)


def _qr_square_grad(gQ, gR, Q, R):
    M = None
    if gR is not None:
        M = gR @ mH(R)
    if gQ is not None:
        q = mH(Q) @ gQ
        M = -q if M is None else M - q
    if M is None:
        return None
    M = M.triu()
    M = M + mH(M) - diag(_real_part(M.diagonal(0, -2, -1)))
    g = Q @ M
    g = g if gQ is None else g + gQ
    return LINALG.solve_triangular(mH(R), g, upper=False, left=False)


def _real_part(x):
    return T.complex(x.real, T.zeros_like(x.real)) if x.dtype.is_complex else x


def _qr_meta(A, mode):
    if mode not in ("reduced", "r", "complete"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    checked(A, "linalg.qr", square=False)
    *batch, m, n = A._shape
    k = m if mode == "complete" else min(m, n)
    return [((0,), A.dtype) if mode == "r" else column((*batch, m, k), A.dtype), column((*batch, k, n), A.dtype)]


_is_wide = lambda args, needs: args[0]._shape[-2] < args[0]._shape[-1]  # noqa: E731
_QR = dict(meta=_qr_meta, derivative=_qr_grad, reads={"A": _is_wide})
qr_op = op(
    "linalg.qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    "LinalgQr",
    empty_ok=True,
    out=SAME_DTYPE,
    autocast=FLOAT32,
    **_QR,
)


@composite("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", out=SAME_DTYPE, autocast=FLOAT32)
def qr(self, some):
    _deprecated(
        "qr",
        "linalg.qr and",
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)",
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')",
    )
    return qr_op.call(self, "reduced" if some else "complete")


@composite("linalg.householder_product(Tensor input, Tensor tau) -> Tensor", autocast=FLOAT32)
@composite("orgqr(Tensor self, Tensor input2) -> Tensor", autocast=FLOAT32)
def householder_product(input, tau):
    fn = "torch.linalg.householder_product"
    only("orgqr_cpu", input, dt.FLOAT, dt.COMPLEX, half=False)
    if len(input._shape) < 2:
        raise RuntimeError(f"{fn}: input must have at least 2 dimensions.")
    if input._shape[-2] < input._shape[-1]:
        raise RuntimeError(f"{fn}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input._shape[-1] < tau._shape[-1]:
        raise RuntimeError(f"{fn}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input._shape[:-2] != tau._shape[:-1]:
        raise RuntimeError(
            f"{fn}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau._shape[:-1])}"
        )
    if input.dtype is not tau.dtype:
        raise RuntimeError(f"{fn}: tau dtype {_name(tau)} does not match input dtype {_name(input)}")
    m, n = input._shape[-2:]
    start = T.eye(m, n, dtype=input.dtype, device=input.device).expand(input._shape)
    if not tau._shape[-1]:  # PyTorch records a graph node even without reflectors
        start = start + tau.sum() + input.narrow(-1, 0, 0).sum()
    return columns(_reflect(input, tau, start, range(tau._shape[-1] - 1, -1, -1), False))


def _reflect(A, tau, X, order, adjoint):
    """Apply the Householder reflectors in A's columns to X from the left, in the given order."""
    m = A._shape[-2]
    for i in order:
        v = A.narrow(-2, i + 1, m - i - 1).narrow(-1, i, 1) if i + 1 < m else A.narrow(-2, 0, 0).narrow(-1, i, 1)
        one = T.ones((*A._shape[:-2], 1, 1), dtype=A.dtype, device=A.device)
        v = T.cat((A.new_zeros((*A._shape[:-2], i, 1)), one, v), -2)
        t = tau.narrow(-1, i, 1).unsqueeze(-1)
        X = X - (conj(t) if adjoint else t) * v @ (mH(v) @ X)
    return X


@composite(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
    out=SAME_SCALAR_TYPE,
    autocast=FLOAT32,
    no_forward="ormqr",
)
def ormqr(self, input2, input3, left, transpose):
    A, tau, other = self, input2, input3
    for t, who in ((A, "input"), (other, "other")):
        if len(t._shape) < 2:
            raise RuntimeError(f"torch.ormqr: {who} must have at least 2 dimensions.")
    side = -2 if left else -1
    if tau._shape[-1] != min(other._shape[side], A._shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if other._shape[side] != A._shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    for t, who in ((tau, "tau"), (other, "other")):
        if t.dtype is not A.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {who} to have the same dtype, but input has dtype{_name(A)} and "
                f"{who} has dtype {_name(t)}"  # as PyTorch writes it
            )
    only("ormqr_cpu", A, dt.FLOAT, dt.COMPLEX, half=False)
    # Q X = H1 (H2 (... X)); from the right X Q = (Q^H X^H)^H
    k = range(tau._shape[-1])
    adjoint = transpose if left else not transpose
    r = _reflect(A, tau, other if left else mH(other), k if adjoint else reversed(k), adjoint)
    return columns(r if left else mH(r))


def _geqrf_meta(self):
    check_matrix(self, "torch.geqrf")
    return [column(self._shape, self.dtype), ((*self._shape[:-2], min(self._shape[-2:])), self.dtype)]


op("geqrf(Tensor self) -> (Tensor a, Tensor tau)", meta=_geqrf_meta, autocast=FLOAT32, no_forward="geqrf")


# ------------------------------------------------------------------------------------------------ eigenvalues, SVD
def _check_phase(by_vectors, fn, what="eigenvectors", why="quantity, so it is"):
    """Raise PyTorch's error for a loss that depends on the arbitrary phase of complex vectors."""
    turn = by_vectors.diagonal(0, -2, -1)
    if turn.dtype.is_complex and has_values(turn) and not T.allclose(turn.imag, T.zeros_like(turn.imag), 1e-2, 1e-2):
        raise RuntimeError(
            f"{fn}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. "
            f"The specified loss function depends on this {why} ill-defined."
        )


def _eigh_grad(gs, out0, out1, compute_v):
    L, V = out0, out1
    if not compute_v:
        raise RuntimeError("linalg.eigh: the eigenvectors are needed for the gradient")
    if gs[1] is None:
        return (V * gs[0].unsqueeze(-2)) @ mH(V)
    E = L.unsqueeze(-2) - L.unsqueeze(-1)
    inner = mH(V) @ gs[1]
    _check_phase(inner, "linalg_eigh_backward")
    inner = (inner - mH(inner)) * 0.5 / (E + eye(E._shape[-1], E))
    inner = inner - diag(inner.diagonal(0, -2, -1))
    if gs[0] is not None:
        inner = inner + diag(gs[0]).to(V.dtype)
    return V @ inner @ mH(V)


_linalg_eigh_meta = lambda A, UPLO, compute_v: [
    (A._shape[:-1], A.dtype.to_real()),
    column(A._shape if compute_v else (0, 0), A.dtype),
]
eigh_op = op(
    "_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor, Tensor)",
    method=False,
    derivative=_eigh_grad,
    meta=_linalg_eigh_meta,
)


def _eigh(A, UPLO, fn, vectors):
    check_square(A, fn)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return eigh_op.call(A, UPLO.upper(), vectors or A._requires_grad and CONTEXT.grad or forward.has_tangent(A))


@composite(
    "linalg.eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
    out=SAME_DTYPE,
    autocast=FLOAT32,
)
def eigh(self, UPLO):
    return _eigh(self, UPLO, "linalg.eigh", True)


@composite("linalg.eigvalsh(Tensor self, str UPLO='L') -> Tensor", out=SAME_DTYPE, autocast=FLOAT32)
def eigvalsh(self, UPLO):
    return _eigh(self, UPLO, "linalg.eigh", False)[0]


def _eig_grad(gs, out0, out1):
    L, V = out0, out1
    gL, gV = gs
    inner = None
    if gV is not None:
        VhgV = mH(V) @ gV
        _check_phase(VhgV, "linalg_eig_backward")
        inner = VhgV - mH(V) @ (V * _real_part(VhgV.diagonal(0, -2, -1)).unsqueeze(-2))
        E = conj(L.unsqueeze(-2) - L.unsqueeze(-1))
        inner = inner / (E + eye(E._shape[-1], E))
        inner = inner - diag(inner.diagonal(0, -2, -1))
    if gL is not None:
        inner = diag(gL) if inner is None else inner + diag(gL)
    return LINALG.solve(mH(V), inner @ mH(V))


def _eig_meta(self):
    checked(self, "linalg.eig")
    c = self.dtype.to_complex()
    return [(self._shape[:-1], c), column(self._shape, c)]


eig_op = op(
    "linalg.eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    meta=_eig_meta,
    derivative=_eig_grad,
    autocast=FLOAT32,
)
composite("linalg.eigvals(Tensor self) -> Tensor", autocast=FLOAT32)(lambda self: eig_op.call(self)[0])


def _svd_grad(gs, out0, out1, out2, full_matrices, compute_uv):
    gU, gS, gV = gs
    U, S, V = out0, out1, out2
    if not compute_uv:
        raise RuntimeError("linalg.svd: the singular vectors are needed for the gradient")
    k = S._shape[-1]
    if full_matrices:
        U, V = U.narrow(-1, 0, k), V.narrow(-2, 0, k)
        gU = None if gU is None else gU.narrow(-1, 0, k)
        gV = None if gV is None else gV.narrow(-2, 0, k)
    m, n = U._shape[-2], V._shape[-1]
    if gU is None and gV is None:
        return None if gS is None else U @ (gS.unsqueeze(-1) * V)

    def skew(x):
        return x - mH(x)

    S2 = S * S
    E = S2.unsqueeze(-2) - S2.unsqueeze(-1) + eye(k, S)
    row, col = S.unsqueeze(-2), S.unsqueeze(-1)
    left = None if gU is None else skew(mH(U) @ gU)
    right = None if gV is None else skew(V @ mH(gV))
    _check_phase(
        right if left is None else left if right is None else left + right,
        "svd_backward",
        "singular vectors",
        "phase term, making it",
    )
    inner = (
        (left * row + col * right) / E
        if gU is not None and gV is not None
        else (left / E) * row
        if gV is None
        else col * (right / E)
    )
    inner = inner - diag(inner.diagonal(0, -2, -1))
    if gS is not None:
        inner = inner + diag(gS).to(U.dtype)
    if U.dtype.is_complex and gU is not None and gV is not None:
        inner = inner + diag(left.diagonal(0, -2, -1) / (2 * S))
    g = U @ inner
    if m > k and gU is not None:
        scaled = gU / row
        g = g + scaled - U @ (mH(U) @ scaled)
    g = g @ V
    if n > k and gV is not None:
        scaled = gV / col
        g = g + U @ (scaled - (scaled @ mH(V)) @ V)
    return g


def _svd_meta(A, full_matrices, compute_uv):
    *batch, m, n = A._shape
    k = min(m, n)
    s = ((*batch, k), A.dtype.to_real())
    if not compute_uv:
        return [column((0, 0), A.dtype), s, column((0, 0), A.dtype)]
    return [
        column((*batch, m, m if full_matrices else k), A.dtype),
        s,
        column((*batch, n if full_matrices else k, n), A.dtype),
    ]


_LINALG_SVD = dict(meta=_svd_meta, derivative=_svd_grad)
svd_op = op(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True) -> (Tensor, Tensor, Tensor)",
    method=False,
    empty_ok=True,
    **_LINALG_SVD,
)


def _svd(A, full, uv=True, driver=None):
    checked(A, "linalg.svd", square=False)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    return svd_op.call(A, full, uv or A._requires_grad and CONTEXT.grad or forward.has_tangent(A))


@composite(
    "linalg.svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    out=SAME_DTYPE,
    autocast=FLOAT32,
)
def linalg_svd(A, full_matrices, driver):
    return _svd(A, full_matrices, True, driver)


composite("linalg.svdvals(Tensor A, *, str? driver=None) -> Tensor", out=SAME_DTYPE, autocast=FLOAT32)(
    lambda A, driver: _svd(A, False, False, driver)[1]
)


@composite(
    "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
    out=SAME_DTYPE,
    autocast=FLOAT32,
)
def svd(self, some, compute_uv):
    if len(self._shape) < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {len(self._shape)} dimensions instead"
        )
    if not compute_uv:
        *batch, m, n = self._shape
        return self.new_zeros((*batch, m, m)), _svd(self, False, False)[1], self.new_zeros((*batch, n, n))
    U, S, Vh = _svd(self, not some)
    return U, S, mH(Vh)


# ------------------------------------------------------------------------------------------------ pinv, rank, lstsq
def _tolerance(A, atol, rtol):
    """Return atol and rtol as real tensors or numbers, with PyTorch's defaults."""
    real = A.dtype.to_real()
    default = eps(A.dtype) * max(A._shape[-2:])
    for t, who in ((atol, "atol"), (rtol, "rtol")):
        if isinstance(t, Tensor) and t.dtype.is_complex:
            raise RuntimeError(f"torch.linalg.pinv: {who} tensor of complex type is not supported.")
    a = 0.0 if atol is None else atol
    if rtol is None:
        if isinstance(a, Tensor):
            rtol = T.where(a > 0, 0.0, default)
        else:
            rtol = 0.0 if a > 0 else default
    return tuple(x.to(real) if isinstance(x, Tensor) else x for x in (a, rtol))


def pinv_forward(A, atol, rtol, hermitian):
    """Compute the pseudo-inverse. Its gradient is computed by `_pinv_grad`."""

    def cut(s, top):
        limit = T.maximum(atol if isinstance(atol, Tensor) else T.full_like(top, atol), rtol * top)
        limit = limit.unsqueeze(-1) if len(limit._shape) == len(top._shape) else limit
        return T.where(s.abs() > limit, 1 / s, 0.0)

    if hermitian:
        L, U = eigh_op.call(A, "L", True)
        if not L._shape[-1]:
            return A.clone()
        return (U * cut(L, T.amax(L.abs(), -1)).unsqueeze(-2)) @ mH(U)
    U, S, V = svd_op.call(A, False, True)
    if not S._shape[-1]:
        return A.new_zeros((*A._shape[:-2], A._shape[-1], A._shape[-2]))
    return (mH(V) * cut(S, S.select(-1, 0)).unsqueeze(-2)) @ mH(U)


def _pinv_grad(g, A, out):
    P, Ph, gh = out, mH(out), mH(g)
    m, n = A._shape[-2:]
    if m <= n:
        K = gh @ P
        KPh = K @ Ph
        return -mH(P @ K) + KPh - (A @ P) @ KPh + (Ph @ P) @ (gh - K @ A)
    K = P @ gh
    PhK = Ph @ K
    return -mH(K @ P) + (gh - A @ K) @ P @ Ph + PhK - (PhK @ P) @ A


_LINALG_PINV = dict(
    derivative=_pinv_grad, meta=lambda A, atol, rtol, hermitian: ((*A._shape[:-2], A._shape[-1], A._shape[-2]), A.dtype)
)
pinv_op = op("_linalg_pinv(Tensor A, Any atol, Any rtol, bool hermitian) -> Tensor", method=False, **_LINALG_PINV)


@composite("linalg.pinv(Tensor self, Any rcond=None, bool hermitian=False, *, Any atol=None, Any rtol=None) -> Tensor")
def pinv(self, rcond, hermitian, atol, rtol):
    checked(self, "linalg.pinv", square=False, low=False)
    if hermitian:
        check_square(self, "linalg.eigh")
    rtol = rcond if rcond is not None else rtol
    return pinv_op.call(self, *_tolerance(self, atol if rcond is None else 0.0, rtol), hermitian)


composite("pinverse(Tensor self, float rcond=1e-15) -> Tensor", out=False, autocast=FLOAT32)(
    lambda self, rcond: pinv(self, rcond, False, None, None)
)


@composite(
    "linalg.matrix_rank(Tensor self, Any tol=None, bool hermitian=False, *, Any atol=None, Any rtol=None) -> Tensor",
    autocast=FLOAT32,
)
def matrix_rank(self, tol, hermitian, atol, rtol):
    checked(self, "linalg.matrix_rank", square=False, low=False)
    a, r = _tolerance(self, atol if tol is None else tol, rtol if tol is None else 0.0)
    if 0 in self._shape[-2:]:
        return T.zeros(self._shape[:-2], dtype=dt.int64, device=self.device)
    s = LINALG.eigvalsh(self).abs() if hermitian else LINALG.svdvals(self)
    top = T.amax(s, -1)
    limit = T.maximum(a if isinstance(a, Tensor) else T.full_like(top, a), r * top)
    return (s > limit.unsqueeze(-1)).sum(-1)


@composite("linalg.cond(Tensor self, Any p=None) -> Tensor", autocast=FLOAT32)
def cond(self, p):
    p = _order(p)
    check_matrix(self, "linalg.cond")
    check_inexact(self, "linalg.cond")
    if p not in (None, 2, -2, 1, -1, INF, -INF, "fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if 0 in self._shape:
        return T.zeros(self._shape[:-2], dtype=self.dtype.to_real(), device=self.device)
    if p in (None, 2, -2):
        s = LINALG.svdvals(self)
        a, b = s.select(-1, 0), s.select(-1, -1)
        return b / a if p == -2 else a / b
    check_square(self, f"linalg.cond(ord={p})")
    inverse, info = inv_op.call(self)
    r = matrix_norm(self, p, (-2, -1), False, None) * matrix_norm(inverse, p, (-2, -1), False, None)
    return T.where(info != 0, INF, r)


def _lstsq_spec(self, b, rcond, driver, vector):
    *batch, m, n = self._shape
    nrhs, real = b._shape[-1], self.dtype.to_real()
    square_sum = m > n and driver != "gelsy"
    shape, dtype, *st = column((*batch, n, nrhs), self.dtype, max(m, n))
    if vector:
        shape, st = shape[:-1], [canonical(shape[:-1], s[:-1]) for s in st if s]
    return [
        (shape, dtype, *st),
        ((*batch, nrhs) if square_sum else (0,), real),
        ((0,) if driver == "gels" else tuple(batch), dt.int64),
        ((*batch, min(m, n)) if driver in ("gelsd", "gelss") else (0,), real),
    ]


def _lstsq_grads(gs, self, b, out0, vector, needs):
    gX, gL = gs[0], gs[1]
    if vector:
        gX, out0 = None if gX is None else gX.unsqueeze(-1), out0.unsqueeze(-1)
    P = LINALG.pinv(self)
    gA = gB = None
    if gX is not None:
        gB = mH(P) @ gX
        gA = _pinv_grad(gX @ mH(b), self, P) if needs[0] else None
    if gL is not None and numel(gL._shape):
        r = 2 * (self @ out0 - b) * gL.unsqueeze(-2)
        gB = -r if gB is None else gB - r
        gA = r @ mH(out0) if gA is None else gA + r @ mH(out0)
    return gA, gB


_LINALG_LSTSQ = dict(
    meta=_lstsq_spec,
    derivative={("self", "b"): _lstsq_grads},
    method=False,
    non_differentiable=(2, 3),
    empty_ok=True,
    aten="linalg_lstsq.default",
)
lstsq_op = op(
    "_linalg_lstsq(Tensor self, Tensor b, float rcond, str driver, bool vector) -> (Tensor, Tensor, Tensor, Tensor)",
    **_LINALG_LSTSQ,
)


@composite(
    "linalg.lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, "
    "Tensor residuals, Tensor rank, Tensor singular_values)",
    autocast=FLOAT32,
)
def lstsq(self, b, rcond, driver):
    fn = "torch.linalg.lstsq"
    check_inexact(self, fn, low=False)
    if len(self._shape) < 2:
        raise RuntimeError(f"{fn}: input must have at least 2 dimensions.")
    if not b._shape:
        raise RuntimeError(f"{fn}: other must have at least 1 dimension.")
    if self.dtype is not b.dtype:
        raise RuntimeError(
            f"{fn}: Expected input and other to have the same dtype, but got input's dtype {_name(self)} and other's "
            f"dtype {_name(b)}"
        )
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{fn}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    dims = len(self._shape)
    if dims - len(b._shape) not in (0, 1):
        raise RuntimeError(
            f"{fn}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = len(b._shape) == 1 or dims - 1 == len(b._shape) and b._shape == self._shape[:-1]
    if not vector:
        broadcast_shapes(self._shape[:-2], b._shape[: dims - 2])
    B = b.unsqueeze(-1) if vector else b
    if self._shape[-2] != B._shape[-2]:
        raise RuntimeError(f"{fn}: input.size(-2) should match other.size({-1 if vector else -2})")
    rcond = eps(self.dtype) * max(self._shape[-2:]) if rcond is None else rcond
    solution, residuals, rank, values = lstsq_op.call(*_batched(self, B), rcond, driver or "gelsy", vector)
    if (
        driver in ("gelsd", "gelss")
        and numel(residuals._shape)
        and has_values(rank)
        and not bool((rank == self._shape[-1]).all())
    ):
        residuals = T.zeros(
            0, dtype=residuals.dtype, device=residuals.device
        )  # PyTorch returns none if a matrix does not have full rank
    # the matrices' own, also where they are used for several right-hand sides
    return solution, residuals, _of_own_batch(rank, self), _of_own_batch(values, self)


def _of_own_batch(t, matrices):
    """Return what was computed for broadcast matrices for each of the matrices once."""
    own = matrices._shape[:-2]
    if not numel(t._shape) or t._shape[: len(own)] == own:
        return t
    return t[tuple(slice(None, n) for n in own)].contiguous()


# ------------------------------------------------------------------------------------------------ functions of a matrix
def _exp_grad(g, self):
    n = self._shape[-1]
    A = mH(self)
    block = T.cat((T.cat((A, g), -1), T.cat((T.zeros_like(A), A), -1)), -2)
    return T.matrix_exp(block).narrow(-2, 0, n).narrow(-1, n, n)


def _exp_meta(self):
    check_square(self, "linalg.matrix_exp")
    if self.dtype.category < dt.FLOAT:
        raise RuntimeError(f"Expected a floating point or complex tensor, but got {_name(self)}")
    return self._shape, self.dtype


op(
    "matrix_exp(Tensor self) -> Tensor",
    meta=_exp_meta,
    derivative=_exp_grad,
    alias=("linalg.matrix_exp",),
    out=False,
    node="LinalgMatrixExpBackward0",
)


@composite("matrix_power(Tensor self, int n) -> Tensor", alias=("linalg.matrix_power",), out=CONTIGUOUS)
def matrix_power(self, n):
    check_square(self, "linalg.matrix_power")
    if n == 0:
        return self.clone(memory_format=contiguous_format).zero_() + eye(self._shape[-1], self)
    if n < 0:
        self, n = LINALG.inv(self), -n
    r = None
    while True:
        if n & 1:
            r = self if r is None else r @ self
        n >>= 1
        if not n:
            return r.clone() if r is self else r
        self = self @ self


@composite("linalg.tensorinv(Tensor self, int ind=2) -> Tensor", out=CONTIGUOUS, autocast=FLOAT32)
def tensorinv(self, ind):
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    a, b = self._shape[:ind], self._shape[ind:]
    if numel(a) != numel(b):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
            f"but got {numel(b)} != {numel(a)}"
        )
    r, info = inv_op.call(self.reshape((numel(b), numel(a))))
    raise_info(info, "inv", SINGULAR)
    return r.reshape((*b, *a))


@composite("linalg.tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", autocast=FLOAT32)
def tensorsolve(self, other, dims):
    if dims is not None:
        self = self.movedim(dims, range(len(self._shape) - len(dims), len(self._shape)))
    rest, n = self._shape[len(other._shape) :], numel(self._shape[len(other._shape) :])
    if n != numel(self._shape[: len(other._shape)]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {n} != {numel(self._shape[: len(other._shape)])}"
        )
    return LINALG.solve(self.reshape((n, n)), other.flatten()).reshape(rest)


@composite("linalg.vander(Tensor x, *, int? N=None) -> Tensor", out=False)
def linalg_vander(x, N):
    if x.dtype is dt.bool_ or x.dtype in dt.OPMATH:
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {_name(x)}")
    n = (x._shape or (1,))[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    x = x if x.dtype.category >= dt.FLOAT else x.to(dt.int64)
    x = x if x._shape else x.unsqueeze(0)
    one = T.ones((*x._shape, 1), dtype=x.dtype, device=x.device)
    return T.cat((one, x.unsqueeze(-1).expand((*x._shape, n - 1)).cumprod(-1)), -1)


@composite("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", method=False, out=False)
def vander(x, N, increasing):
    if len(x._shape) != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x._shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    x = x if x.dtype.category >= dt.FLOAT else x.to(dt.int64)
    if n <= 1:
        return T.ones((x._shape[0], n), dtype=x.dtype, device=x.device)
    r = T.cat(
        (
            T.ones((x._shape[0], 1), dtype=x.dtype, device=x.device),
            x.unsqueeze(1).expand((x._shape[0], n - 1)).cumprod(1),
        ),
        1,
    )
    return r if increasing else r.flip(1)


# ------------------------------------------------------------------------------------------------ low rank
def _basis(A, q, niter):
    R = T.randn((A._shape[-1], q), dtype=A.dtype, device=A.device)
    Q = LINALG.qr(A @ R).Q
    for _ in range(niter):
        Q = LINALG.qr(A @ LINALG.qr(mH(A) @ Q).Q).Q
    return Q


@composite(
    "svd_lowrank(Tensor A, int? q=6, int? niter=2, Tensor? M=None) -> Tensor[]",
    method=False,
    sparse="composite",
    python=True,
)
def svd_lowrank(A, q, niter, M):
    A = A if M is None else A.to_dense() - M
    wide = A._shape[-2] < A._shape[-1]
    A = mH(A) if wide else A
    Q = _basis(A, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = _svd(mH(mH(A) @ Q), False)
    U, V = Q @ U, mH(Vh)
    return (V, S, U) if wide else (U, S, V)


@composite(
    "pca_lowrank(Tensor A, int? q=None, bool center=True, int niter=2) -> Tensor[]",
    method=False,
    sparse="composite",
    python=True,
)
def pca_lowrank(A, q, center, niter):
    m, n = A._shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    dense = A.to_dense() if center else A
    return svd_lowrank(dense - dense.mean(-2, True) if center else A, q, niter, None)


@composite(
    "lobpcg(Tensor A, int? k=None, Tensor? B=None, Tensor? X=None, int? n=None, Tensor? iK=None, int? niter=None, "
    "float? tol=None, bool? largest=None, str? method=None, Any tracker=None, Any ortho_iparams=None, "
    "Any ortho_fparams=None, Any ortho_bparams=None) -> Tensor[]",
    method=False,
    python=True,
)
def lobpcg(A, k, B, X, n, iK, niter, tol, largest, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams):
    """Return the k largest or smallest eigenpairs of A x = l B x.

    All eigenpairs are computed by linalg.eigh, without iterating.
    """
    check_square(A, "lobpcg")
    size = A._shape[-1]
    k = (1 if X is None else X._shape[-1]) if k is None else k
    if size < 3 * k:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller than 3 x the number "
            f"of requested eigenpairs (={k})"
        )
    if B is None:
        L, V = LINALG.eigh(A)
    else:
        C = LINALG.cholesky(B)
        inner = LINALG.solve_triangular(C, LINALG.solve_triangular(mH(C), A, upper=True, left=False), upper=False)
        L, V = LINALG.eigh(inner)
        V = LINALG.solve_triangular(mH(C), V, upper=True)
    if largest is None or largest:
        return L.flip(-1).narrow(-1, 0, k), V.flip(-1).narrow(-1, 0, k)
    return L.narrow(-1, 0, k), V.narrow(-1, 0, k)


def _deprecated(name, instead, *replacements):
    """Issue PyTorch's warning for a function that has moved to linalg, with the code that replaces it."""
    said = "\nshould be replaced with\n".join(replacements)
    warn_once(
        f"torch.{name} is deprecated in favor of torch.{instead} will be removed in a future PyTorch release.\n{said}"
    )


def _removed(instead):
    raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed.{instead}")


# functions and methods that PyTorch has removed; their signatures still reject arguments that they never had
_REMOVED = {
    "eig": lambda self, eigenvectors=False, *, e=None, v=None: _removed(_INSTEAD.format("eig", "eig")),
    "lstsq": lambda input, A, *, out=None: _removed(_INSTEAD.format("lstsq", "lstsq")),
    "matrix_rank": lambda input, tol=None, symmetric=False, *, out=None: _removed(_RENAMED),
    "solve": lambda input, A, *, out=None: _removed(_INSTEAD.format("solve", "solve")),
    "symeig": lambda input, eigenvectors=False, upper=True, *, out=None: _removed(_INSTEAD.format("symeig", "eigh")),
}
_REMOVED_METHODS = {
    "eig": lambda self, eigenvectors=False: T.eig(self, eigenvectors),
    "lstsq": lambda self, other: T.lstsq(self, other),
    "solve": lambda self, other: T.solve(self, other),
    "symeig": lambda self, eigenvectors=False: T.symeig(self, eigenvectors),
}
_INSTEAD = " `torch.{}` is deprecated in favor of `torch.linalg.{}`."
_RENAMED = (
    "\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
    "`torch.linalg.matrix_rank()` to 'hermitian'."
)


def _lu_method(self, pivot=True, get_infos=False):
    """Return torch.lu() of this matrix as a plain tuple."""
    return tuple(lu(self, pivot=pivot, get_infos=get_infos))


_lu_method.__name__, _lu_method.__qualname__, _lu_method.__module__ = "lu", "Tensor.lu", "torch"


def _hand_written():
    provide("torch", "lu", lu)
    provide("Tensor", "lu", overridable(_lu_method))
    for ns, where, functions in (("torch", "", _REMOVED), ("Tensor", "Tensor.", _REMOVED_METHODS)):
        for name, f in functions.items():
            f.__name__, f.__qualname__, f.__module__ = (
                name,
                where + name,
                "torch._linalg_utils" if ns == "torch" else "torch",
            )
            provide(ns, name, f)


_hand_written()
