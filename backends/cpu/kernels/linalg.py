"""Linear algebra on the host.

LAPACK is called through NumPy and SciPy, which report failures (info); QR and SVD are MindSpore's.
"""

import functools

import numpy as np

from ....runtime import pyboost
from ....runtime.ops import linalg
from ... import thresholds
from ...host import alias
from .. import stacks
from ..arrays import squares_last
from ..table import decomposed, legacy, numpy, without

without("linalg.vector_norm", "LinalgVectorNorm has no CPU kernel")


@numpy("linalg.vector_norm", "no CPU kernel; Sqrt of SumExt of Square is 5.6 times slower at 1M elements, 5 at 64")
def vector_norm(x, ord, dim, keepdim, dtype):
    if x.dtype.kind == "c":
        x = np.abs(x)
    if not dim:
        return np.abs(x) if ord != 0 else x != 0
    wide = np.float64
    if ord == 2:
        if len(dim) == x.ndim and x.flags.c_contiguous and x.size < thresholds.VECTOR_NORM:
            r = np.sqrt(np.dot(x.reshape(-1), x.reshape(-1))) if x.size else x.dtype.type(0)
            return r.reshape((1,) * x.ndim) if keepdim else r
        if dim == (*range(dim[0], x.ndim),) and x.dtype.char in "fd" and x.size and x.flags.c_contiguous:
            lead = x.shape[: dim[0]]
            return np.sqrt(squares_last(x.reshape(*lead, -1))).reshape(lead)
        return np.sqrt(np.sum(np.square(x), dim, dtype=wide, keepdims=keepdim))
    if ord == 0:
        return np.sum(x != 0, dim, keepdims=keepdim)
    x = np.abs(x)
    if ord == 1:
        return np.sum(x, dim, dtype=wide, keepdims=keepdim)
    if abs(ord) == np.inf:
        return (np.max if ord > 0 else np.min)(x, dim, keepdims=keepdim)
    return np.sum(x.astype(wide) ** ord, dim, keepdims=keepdim) ** (1 / ord)


# ------------------------------------------------------------------------------------------------ stacks of matrices
def lapack(name, *like):
    """Return SciPy's LAPACK function of a name for the dtypes of arrays."""
    return _lapack(name, *(a.dtype.char for a in like))


@functools.cache
def _lapack(name, *chars):
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs((name,), [np.empty(0, char) for char in chars])[0]


def _example(shape, dtype):
    """Return a matrix that every factorization takes, or a vector of ones."""
    return np.eye(*shape, dtype=dtype) if len(shape) == 2 else np.ones(shape, dtype)


def each(f, *arrays):
    """Apply f to every matrix of the stacks, and stack the results."""
    batch = arrays[0].shape[:-2]
    if not batch:
        return f(*arrays)
    if not any(a.size for a in arrays):  # no matrices, or matrices without elements, which are all alike
        one = [np.asarray(o) for o in f(*[_example(s.shape[len(batch) :], s.dtype) for s in arrays])]
        return [np.broadcast_to(o, (*batch, *o.shape)).copy() for o in one]
    out = [f(*[s[i] for s in arrays]) for i in np.ndindex(batch)]
    parts = [np.stack([np.asarray(o[k]) for o in out]) for k in range(len(out[0]))]
    return [p.reshape(*batch, *p.shape[1:]) for p in parts]


def in_one_call(f, *arrays):
    """Apply f, a function of numpy.linalg, to whole stacks; it runs LAPACK for each matrix in compiled code.

    The result is None for a single matrix or no elements, or where LAPACK failed for one of the matrices, because
    numpy.linalg does not report which.
    """
    if arrays[0].ndim < 3 or not all(a.size for a in arrays):
        return None
    try:
        return f(*arrays)
    except np.linalg.LinAlgError:
        return None


def _no_info(a):
    return np.zeros(a.shape[:-2], np.int32)


def _factor(a):
    """Return (LU, pivots from 1, info) as getrf does, for any shape."""
    k = min(a.shape)
    if k == 0:
        return a, np.zeros(k, np.int32), np.int32(0)
    lu, piv, info = lapack("getrf", a)(a)
    return lu, (piv[:k] + 1).astype(np.int32), np.int32(max(info, 0))


NO_INFO = "tells no failure: the primitives neither report nor raise on a singular matrix"


@numpy("_linalg_lu_factor_ex", "no CPU kernel gives LAPACK's pivots")
def lu_factor(a):
    return stacks.factor(a) if stacks.is_stack_of_small(a) else each(_factor, a)


@numpy("_linalg_inv_ex", NO_INFO + "; MatrixInverse is 4 times slower at 64k elements")
def inv(a):
    found = in_one_call(np.linalg.inv, a)
    if found is not None:
        return found, _no_info(a)

    def one(m):
        lu, piv, info = _factor(m)
        return lapack("getrs", m)(lu, piv - 1, np.eye(len(m), dtype=m.dtype))[0] if len(m) else lu, info

    return each(one, a)


def _turned(a):
    return np.swapaxes(a, -1, -2)


@numpy("_linalg_solve_ex", NO_INFO)
def solve(a, b, left, vector):
    found = in_one_call(np.linalg.solve, *((a, b) if left else (_turned(a), _turned(b))))
    if found is not None:
        return found if left else _turned(found), _no_info(a)

    def one(m, x):
        lu, piv, info = _factor(m)
        if not m.size or not x.size:
            return x, info
        if left:
            return lapack("getrs", m, x)(lu, piv - 1, x)[0], info
        return lapack("getrs", m, x)(lu, piv - 1, x.T, trans=1)[0].T, info

    return each(one, a, b)


def _det_parts(a):
    lu, piv, _ = lu_factor(a)
    swaps = (piv != np.arange(1, piv.shape[-1] + 1)).sum(-1)
    return lu, piv, np.where(swaps % 2, -1, 1).astype(a.dtype), np.diagonal(lu, axis1=-2, axis2=-1)


@numpy("_linalg_det", "MatrixDeterminant keeps no factorization, which the gradient reads")
def det(a):
    lu, piv, sign, d = _det_parts(a)
    return sign * d.prod(-1), lu, piv


@numpy(
    "_linalg_slogdet",
    "LogMatrixDeterminant takes singular matrices for regular, and is 200 times slower at 64k elements",
)
def slogdet(a):
    _, _, sign, d = _det_parts(a)
    size = np.abs(d)
    return np.where((size == 0).any(-1), 0, sign * np.where(size == 0, 1, d / size).prod(-1)), np.log(size).sum(-1)


@numpy(
    "_linalg_cholesky_ex",
    "the primitive tells no failure: it raises one error for a whole stack, which poisons later calls",
)
def cholesky(a, upper):
    found = in_one_call(np.linalg.cholesky, _turned(a).conj() if upper else a)
    if found is not None:
        return _turned(found).conj() if upper else found, _no_info(a)

    def one(m):
        if not m.size:
            return m, np.int32(0)
        c, info = lapack("potrf", m)(m, lower=not upper, clean=True)
        return c, np.int32(info)

    return each(one, a)


@numpy("cholesky_solve", "the primitive lacks complex dtypes and broadcasts nothing")
def cholesky_solve(b, u, upper):
    if stacks.is_stack_of_small(u) and np.diagonal(u, axis1=-2, axis2=-1).all():
        adjoint = _turned(u).conj()
        first, second = (adjoint, u) if upper else (u, adjoint)
        return stacks.substitute(second, stacks.substitute(first, b, False, False), True, False)
    return each(lambda x, m: (lapack("potrs", m, x)(m, x, lower=not upper)[0] if x.size and m.size else x,), b, u)[0]


@numpy(
    "linalg.solve_triangular",
    "MindSpore's SolveTriangular solves from the left only and reads beyond singular matrices",
)
def solve_triangular(a, b, upper, left, unit):
    if stacks.is_stack_of_small(a) and (unit or np.diagonal(a, axis1=-2, axis2=-1).all()):
        if left:
            return stacks.substitute(a, b, upper, unit)
        return _turned(stacks.substitute(_turned(a), _turned(b), not upper, unit))

    def one(m, x):
        if not m.size or not x.size:
            return (x,)
        if left:
            return (
                lapack("trtrs", m, x)(m, x, lower=not upper, unitdiag=unit)[0]
                if _regular(m, unit)
                else _by_blas(m, x, upper, unit),
            )
        return (one_left(m.T, x.T, not upper).T,)

    def one_left(m, x, upper):
        return (
            lapack("trtrs", m, x)(m, x, lower=not upper, unitdiag=unit)[0]
            if _regular(m, unit)
            else _by_blas(m, x, upper, unit)
        )

    return each(one, a, b)[0]


def _regular(m, unit):
    return unit or np.diagonal(m).all()


def _by_blas(m, x, upper, unit):
    """Solve by trsm, which divides by a zero on the diagonal as PyTorch does; LAPACK's trtrs refuses it."""
    from scipy.linalg import get_blas_funcs

    return get_blas_funcs(("trsm",), (m, x))[0](1, m, x, lower=not upper, diag=unit)


@numpy("_lu_permutation", "row exchanges happen one after the other")
def permutation(pivots, n, dtype):
    return stacks.permutation(pivots, n, dtype.np)


@numpy("_linalg_ldl_factor_ex", "no primitive")
def ldl_factor(a, hermitian):
    def one(m):
        if not m.size:
            return m, np.zeros(len(m), np.int32), np.int32(0)
        f = lapack("hetrf" if hermitian and m.dtype.kind == "c" else "sytrf", m)
        ldu, piv, info = f(m, lower=1, lwork=max(64 * len(m), 1))
        # the upper triangle is unused, and is zero in PyTorch
        return np.tril(ldu), np.asarray(piv, np.int32), np.int32(max(info, 0))

    return each(one, a)


@numpy("linalg.ldl_solve", "no primitive")
def ldl_solve(ld, pivots, b, hermitian):
    def one(m, p, x):
        if not m.size or not x.size:
            return (x,)
        return (_apply_ldl(m, p.reshape(-1), x, hermitian and m.dtype.kind == "c"),)

    return each(one, ld, pivots[..., None], b)[0]


def _apply_ldl(m, p, x, hermitian):
    """Solve with A = (P1 L1 P2 L2 ...) D (...)^T from sytrf's lower form, with 1x1 and 2x2 blocks in D."""
    n, x, t = len(m), x.copy(), (np.conj if hermitian else np.asarray)
    k = 0
    steps = []
    while k < n:
        two = p[k] < 0
        i = (-p[k + 1] if two else p[k]) - 1
        j = k + two
        if i != j:
            x[[j, i]] = x[[i, j]]
        below = slice(k + 1 + two, n)
        block = m[below, k : j + 1]
        x[below] -= block @ x[k : j + 1]
        d = m[k : j + 1, k : j + 1].copy()
        if two:
            d[0, 1] = t(d[1, 0])
        if hermitian:
            np.fill_diagonal(d, np.diagonal(d).real)
        x[k : j + 1] = np.linalg.solve(d, x[k : j + 1]) if two else x[k : j + 1] / d[0, 0]
        steps.append((k, j, i, below, block))
        k = j + 1
    for k, j, i, below, block in reversed(steps):
        x[k : j + 1] -= t(block).T @ x[below]
        if i != j:
            x[[j, i]] = x[[i, j]]
    return x


# -------------------------------------------------------------------------------------------- orthogonal factorizations
def _qr(prim, a, mode):
    q, r = (alias(x) for x in pyboost.primitive("Qr", mode == "complete", legacy=True)(a))
    return q.reshape(-1)[:0] if mode == "r" else q, r


legacy(
    "linalg.qr",
    "Qr",
    "LinalgQr has no CPU kernel",
    fn=lambda prim, a, mode: qr(alias(a), mode) if 0 in a.shape else _qr(prim, a, mode),
)


@numpy("linalg.qr", "Qr lacks complex128")
def qr(a, mode):
    q, r = np.linalg.qr(a, mode if mode != "r" else "reduced") if a.size else _empty_qr(a, mode)
    return (np.zeros(0, a.dtype) if mode == "r" else q), r


def _empty_qr(a, mode):
    *batch, m, n = a.shape
    k = m if mode == "complete" else min(m, n)
    return np.broadcast_to(np.eye(m, k, dtype=a.dtype), (*batch, m, k)), np.zeros((*batch, k, n), a.dtype)


@numpy("geqrf", "the legacy Geqrf takes single matrices only")
def geqrf(a):
    if a.ndim > 2 and a.size:
        reflectors, tau = np.linalg.qr(a, "raw")
        return _turned(reflectors), tau
    return each(lambda m: lapack("geqrf", m)(m)[:2] if m.size else (m, np.zeros(min(m.shape), m.dtype)), a)


def _finite(a, message, error=linalg._LinAlgError):
    if not np.isfinite(a).all():
        raise error(message)


@numpy(
    "_linalg_svd",
    "the legacy Svd is off by 1.4e-6 in float32, 5 times slower for the values alone, and lacks complex dtypes",
)
def svd(a, full_matrices, compute_uv):
    _finite(a, "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.")
    *batch, m, n = a.shape
    if not compute_uv:
        none = np.zeros((0, 0), a.dtype)
        return none, np.linalg.svd(a, compute_uv=False) if a.size else np.zeros((*batch, min(m, n)), a.real.dtype), none
    if a.size:
        return np.linalg.svd(a, full_matrices=full_matrices)
    k = min(m, n)
    ku, kv = (m, n) if full_matrices else (k, k)
    return (
        np.broadcast_to(np.eye(m, ku, dtype=a.dtype), (*batch, m, ku)),
        np.zeros((*batch, k), a.real.dtype),
        np.broadcast_to(np.eye(kv, n, dtype=a.dtype), (*batch, kv, n)),
    )


@numpy("_linalg_eigh", "no CPU kernel in 2.7.2")
def eigh(a, UPLO, compute_v):
    if a.size and not np.isfinite(a).all():
        raise linalg._LinAlgError(
            "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has too "
            f"many repeated eigenvalues (error code: {a.shape[-1] - 1})."
        )
    if compute_v:
        return np.linalg.eigh(a, UPLO)
    return np.linalg.eigvalsh(a, UPLO), np.zeros((0, 0), a.dtype)


@numpy("linalg.eig", "the legacy Eig orders eigenvalues otherwise and scales eigenvectors otherwise")
def eig(a):
    _finite(a, "torch.linalg.eig: input tensor should not contain infs or NaNs.", RuntimeError)
    L, V = np.linalg.eig(a)
    return L, V


@numpy("_linalg_lstsq", "the legacy Lstsq takes full-rank single matrices only")
def lstsq(a, b, rcond, driver, vector):
    *batch, m, n = a.shape
    k, real = min(m, n), a.real.dtype
    square_sum = m > n and driver != "gelsy"

    def one(A, B):
        if not A.size or not B.size:
            return np.zeros((n, B.shape[1]), A.dtype), np.zeros(B.shape[1], real), 0, np.zeros(k, real)
        from scipy import linalg as scipy_linalg

        if driver == "gels":
            x = lapack("gels", A, B)(A, np.concatenate([B, np.zeros((n - m, B.shape[1]), B.dtype)]) if n > m else B)[1][
                :n
            ]
            rank, s = k, np.zeros(k, real)
        else:
            x, _, rank, s = scipy_linalg.lstsq(A, B, cond=rcond, lapack_driver=driver, check_finite=False)
        res = (np.abs(A @ x - B) ** 2).sum(0)
        return x, res if rank == n else np.zeros_like(res), rank, np.zeros(k, real) if s is None else s

    if 0 in batch:
        x, res, rank, s = (
            np.zeros((*batch, *p), d)
            for p, d in (((n, b.shape[-1]), a.dtype), (b.shape[-1:], real), ((), int), ((k,), real))
        )
    else:
        x, res, rank, s = each(one, a, b)
    none = np.zeros(0, real)
    full = np.all(np.asarray(rank) == n)
    return (
        x,
        res if square_sum and full else np.zeros((*batch, b.shape[-1]), real) if square_sum else none,
        np.zeros(0, np.int64) if driver == "gels" else np.asarray(rank),
        s if driver in ("gelsd", "gelss") else none,
    )


@numpy("matrix_exp", "no CPU kernel")
def matrix_exp(a):
    from scipy.linalg import expm

    if stacks.is_stack_of_small(a) and np.isfinite(a).all():
        return stacks.exponential(a)

    return expm(a) if a.size else a


decomposed("_linalg_pinv", "no primitive of that name")
