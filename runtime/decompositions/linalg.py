"""Linear algebra on batches by elimination and rotation of rows and columns, for backends without LAPACK.

Loops run over columns, never over elements.
"""

import cmath
import math

from .. import dtypes as dt
from ..ops.creation import tensor
from ..registry import T, decomposition, function

SWEEPS = 12  # sweeps of rotations; a matrix is diagonal after about eight


def _solve_triangular(A, B, **how):
    return function("linalg", "solve_triangular")(A, B, **how)


def product(a, b):
    """Return a @ b, by sums of products where matmul does not support the dtype."""
    return a @ b if a.dtype is dt.float32 else (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)


@decomposition("linalg.solve_triangular")
def solve_triangular(A, B, upper, left, unit):
    """Solve X A = B through the transpose."""
    return _solve_triangular(A.mT, B.mT, upper=not upper, left=True, unitriangular=unit).mT


def _size(x):
    """Return the magnitude by which pivots are compared; LAPACK adds the magnitudes of both parts."""
    return x.real.abs() + x.imag.abs() if x.dtype.is_complex else x.abs()


def eliminated(A):
    """Return (LU, pivots from 1, the order of the rows, info) of Gaussian elimination with partial pivoting."""
    batch, (m, n) = A._shape[:-2], A._shape[-2:]
    LU, rows = A.clone(), T.arange(m, device=A.device)
    order, info = rows.expand((*batch, m)), T.zeros(batch, dtype=dt.int32, device=A.device)
    pivots = []
    for j in range(min(m, n)):
        p = (_size(LU[..., j:, j]).argmax(-1) + j).unsqueeze(-1)
        swap = T.where(rows == j, p, T.where(rows == p, j, rows))
        LU, order = LU.gather(-2, swap.unsqueeze(-1).expand(LU._shape)), order.gather(-1, swap)
        pivots.append(p + 1)
        d = LU[..., j, j]
        info = T.where((info == 0) & (d == 0), j + 1, info)
        if j + 1 < m:
            f = LU[..., j + 1 :, j] / T.where(d == 0, 1, d).unsqueeze(-1)
            rest = LU[..., j + 1 :, j + 1 :] - f.unsqueeze(-1) * LU[..., j : j + 1, j + 1 :]
            below = T.cat([LU[..., j + 1 :, :j], f.unsqueeze(-1), rest], -1)
            LU = T.cat([LU[..., : j + 1, :], below], -2)
    pivots = T.cat(pivots, -1).to(dt.int32) if pivots else T.zeros((*batch, 0), dtype=dt.int32, device=A.device)
    return LU, pivots, order, info.to(dt.int32)


@decomposition("_linalg_lu_factor_ex")
def lu_factor(A):
    LU, pivots, _, info = eliminated(A)
    return LU, pivots, info


@decomposition("_lu_permutation")
def lu_permutation(pivots, n, dtype):
    """Return P of A = P L U."""
    rows = T.arange(n, device=pivots.device)
    order = rows.expand((*pivots._shape[:-1], n))
    for j in range(pivots._shape[-1]):
        p = (pivots[..., j : j + 1] - 1).to(dt.int64)
        order = order.gather(-1, T.where(rows == j, p, T.where(rows == p, j, rows)))
    return (order.unsqueeze(-2) == rows.unsqueeze(-1)).to(dtype)


def solved(LU, order, B):
    """Return X of A X = B."""
    B = B.gather(-2, order.unsqueeze(-1).expand(B._shape))
    n = LU._shape[-1]
    return _substituted(LU, _substituted(LU, B, n, False), n, True)


def _substituted(A, B, n, upper):
    if A.dtype is not dt.float64:
        return _solve_triangular(A, B, upper=upper, unitriangular=not upper)
    rows = [None] * n
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = range(i + 1, n) if upper else range(i)
        r = B[..., i, :] - sum((A[..., i, k : k + 1] * rows[k] for k in known), T.zeros_like(B[..., i, :]))
        rows[i] = r / A[..., i, i : i + 1] if upper else r
    return T.stack(rows, -2) if n else B


@decomposition("_linalg_solve_ex")
def solve_ex(A, B, left, vector):
    LU, _, order, info = eliminated(A if left else A.mT)
    X = solved(LU, order, B if left else B.mT)
    X = X if left else X.mT
    return (X.squeeze(-1) if vector else X), info


@decomposition("_linalg_inv_ex")
def inv_ex(A):
    LU, _, order, info = eliminated(A)
    return solved(LU, order, T.eye(A._shape[-1], dtype=A.dtype, device=A.device).expand(A._shape)), info


def _sign_and_diagonal(A):
    LU, pivots, _, _ = eliminated(A)
    swaps = (pivots != T.arange(1, A._shape[-1] + 1, device=A.device)).sum(-1)
    return 1 - 2 * (swaps % 2), LU.diagonal(0, -2, -1), LU, pivots


@decomposition("_linalg_det")
def det(A):
    sign, d, LU, pivots = _sign_and_diagonal(A)
    for j in range(d._shape[-1]):
        sign = sign * d[..., j]
    return sign.to(A.dtype), LU, pivots


@decomposition("_linalg_slogdet")
def slogdet(A):
    sign, d, _, _ = _sign_and_diagonal(A)
    for j in range(d._shape[-1]):
        sign = sign * d[..., j].sgn()
    return sign.to(A.dtype), d.abs().log().sum(-1)


@decomposition("_linalg_cholesky_ex")
def cholesky_ex(A, upper):
    """Return L (for upper, its adjoint) and the order of the first minor that is not positive."""
    A = A.mH if upper else A
    n, L = A._shape[-1], []
    rest, info = A.tril(), T.zeros(A._shape[:-2], dtype=dt.int32, device=A.device)
    for j in range(n):
        d = rest[..., 0, 0]
        d = d.real if A.dtype.is_complex else d
        info = T.where((info == 0) & ~(d > 0), j + 1, info)
        column = rest[..., :, 0] / d.clamp(min=0).sqrt().unsqueeze(-1)
        L.append(T.cat([T.zeros((*A._shape[:-2], j), dtype=A.dtype, device=A.device), column], -1))
        below = column[..., 1:]
        rest = (rest[..., 1:, 1:] - below.unsqueeze(-1) * T.conj_physical(below).unsqueeze(-2)).tril()
    L = T.stack(L, -1) if n else A
    return (L.mH if upper else L), info.to(dt.int32)


@decomposition("cholesky_solve")
def cholesky_solve(B, L, upper):
    L = L.mH if upper else L
    return _solve_triangular(L.mH, _solve_triangular(L, B, upper=False), upper=True)


# ---------------------------------------------------------------- Jacobi's rotations
def _rounds(n):
    """Yield all pairs of columns, each pair once, in rounds of disjoint pairs."""
    players = list(range(n + n % 2))
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = [(min(p, q), max(p, q)) for p, q in zip(players[:half], reversed(players[half:])) if max(p, q) < n]
        if pairs:
            yield [p for p, _ in pairs], [q for _, q in pairs]
        players.insert(1, players.pop())


def _rotation(n, p, q, app, aqq, apq):
    """Return the unitary matrix that makes columns p and q orthogonal.

    app, aqq and apq are the products of the columns with themselves and with each other.
    """
    size = apq.abs()
    still = size == 0
    phase = apq / T.where(still, 1, size)
    tau = (aqq - app) / (2 * T.where(still, 1, size))
    t = T.where(tau >= 0, 1, -1) / (tau.abs() + T.sqrt(1 + tau * tau))
    t = T.where(still, 0, t)
    c = 1 / T.sqrt(1 + t * t)
    s = (t * c).to(apq.dtype)
    J = T.eye(n, dtype=apq.dtype, device=apq.device).expand((*apq._shape[:-1], n, n)).clone()
    J[..., p, p], J[..., q, q] = c.to(apq.dtype), c.to(apq.dtype)
    J[..., p, q], J[..., q, p] = s * phase, -s * T.conj_physical(phase)
    return J


@decomposition("_linalg_eigh")
def eigh(A, UPLO, compute_v):
    """Return eigenvalues in ascending order, and vectors, by rotations until A is diagonal."""
    half = A.tril(-1) if UPLO in "Ll" else A.triu(1)
    d = A.diagonal(0, -2, -1)
    A = half + half.mH + T.diag_embed(d.real.to(A.dtype) if A.dtype.is_complex else d)
    n = A._shape[-1]
    V = T.eye(n, dtype=A.dtype, device=A.device).expand(A._shape).contiguous()
    for _ in range(SWEEPS if n > 1 else 0):
        beside = (A - T.diag_embed(A.diagonal(0, -2, -1))).abs().amax((-2, -1))
        if not bool((beside > dt.finfo(A.dtype.to_real()).eps * A.abs().amax((-2, -1)) * 4).any()):
            break
        for p, q in _rounds(n):
            at, to = tensor(p, device=A.device), tensor(q, device=A.device)
            real = lambda x: x.real if x.dtype.is_complex else x
            J = _rotation(n, at, to, real(A[..., at, at]), real(A[..., to, to]), A[..., at, to])
            A, V = product(product(J.mH, A), J), product(V, J)
    w = A.diagonal(0, -2, -1)
    w, order = (w.real if A.dtype.is_complex else w).sort(-1)
    return w, V.gather(-1, order.unsqueeze(-2).expand(V._shape)) if compute_v else A.new_empty((0, 0))


@decomposition("_linalg_svd")
def svd(A, full_matrices=False, compute_uv=True):
    """Return singular values in descending order, and vectors, by rotating columns until they are orthogonal."""
    batch, (m, n) = A._shape[:-2], A._shape[-2:]
    if m < n:
        U, S, Vh = svd(A.mH, full_matrices, compute_uv)
        return (Vh.mH, S, U.mH) if compute_uv else (U, S, Vh)
    if 0 in A._shape:
        eye = lambda k, columns: T.eye(k, columns, dtype=A.dtype, device=A.device).expand((*batch, k, columns))
        S = T.zeros((*batch, n), dtype=A.dtype.to_real(), device=A.device)
        return (
            (eye(m, m if full_matrices else n), S, eye(n, n))
            if compute_uv
            else (A.new_empty((0, 0)), S, A.new_empty((0, 0)))
        )
    W, V = A.contiguous(), T.eye(n, dtype=A.dtype, device=A.device).expand((*batch, n, n)).contiguous()
    for _ in range(SWEEPS if n > 1 else 0):
        lengths = (W.abs() ** 2).sum(-2).sqrt()
        cosines = product(W.mH, W).abs() / (lengths.unsqueeze(-1) * lengths.unsqueeze(-2)).clamp(
            min=dt.finfo(lengths.dtype).tiny
        )
        if not bool((cosines.tril(-1) > dt.finfo(lengths.dtype).eps * 4).any()):
            break
        for p, q in _rounds(n):
            at, to = tensor(p, device=A.device), tensor(q, device=A.device)
            a, b = W[..., at], W[..., to]
            squares = lambda x: (x.abs() ** 2).sum(-2)
            J = _rotation(n, at, to, squares(a), squares(b), (T.conj_physical(a) * b).sum(-2))
            W, V = product(W, J), product(V, J)
    S, order = (W.abs() ** 2).sum(-2).sqrt().sort(-1, descending=True)
    if not compute_uv:
        return A.new_empty((0, 0)), S, A.new_empty((0, 0))
    W, V = (x.gather(-1, order.unsqueeze(-2).expand(x._shape)) for x in (W, V))
    U = _completed(W, S, m if full_matrices else n)
    return U, S, V.mH


def _completed(W, S, columns):
    """Return the columns divided by their lengths.

    Columns without length, and additional ones, are made orthogonal to the others.
    """
    m, n = W._shape[-2:]
    small = S > S.amax(-1, keepdim=True) * dt.finfo(S.dtype).eps * max(m, n)
    U = T.where(small.unsqueeze(-2), W / T.where(small, S, 1).unsqueeze(-2), 0)
    if columns == n and bool(small.all()):
        return U
    found = [U[..., j] for j in range(n)]
    given = [small[..., j] for j in range(n)]
    for j in range(columns):
        if j < n and bool(given[j].all()):
            continue
        basis = T.stack(found, -1)
        spare = T.eye(m, dtype=W.dtype, device=W.device) - product(basis, basis.mH)  # projections of the unit vectors
        at = (spare.abs() ** 2).sum(-2).argmax(-1)
        v = spare.gather(-1, at[..., None, None].expand((*spare._shape[:-1], 1))).squeeze(-1)
        v = v / (v.abs() ** 2).sum(-1, keepdim=True).sqrt()
        if j < n:
            found[j] = T.where(given[j].unsqueeze(-1), found[j], v)
        else:
            found.append(v)
    return T.stack(found, -1)


@decomposition("matrix_exp")
def matrix_exp(A):
    """Return Taylor's series of the matrix divided by a power of two, squared as many times."""
    norm = A.abs().sum(-2).amax().item() if A.numel() else 0.0
    halvings = max(0, math.frexp(norm)[1] + 2) if math.isfinite(norm) else 0
    X = A / 2**halvings
    out = term = T.eye(A._shape[-1], dtype=A.dtype, device=A.device).expand(A._shape)
    for k in range(1, 14 if A.dtype is dt.float32 else 20):
        term = product(term, X) / k
        out = out + term
    for _ in range(halvings):
        out = product(out, out)
    return out


# ---------------------------------------------------------------- least squares
@decomposition("geqrf")
def geqrf(A):
    """Return LAPACK's Householder form: reflections 1 - tau v v^H, each v stored below R's diagonal.

    The first element of v is 1 and is not stored.
    """
    m, n = A._shape[-2:]
    R, taus = A.clone(), []
    for j in range(min(m, n)):
        column = R[..., j:, j]
        head, length = column[..., 0], (column.abs() ** 2).sum(-1).sqrt()
        real = head.real if A.dtype.is_complex else head
        beta = T.where(real < 0, length, -length)
        still = (column[..., 1:] == 0).all(-1) & (head == real)
        tau = T.where(still, 0, (beta - head) / T.where(length == 0, 1, beta))
        v = column / T.where(still, 1, head - beta).unsqueeze(-1)
        v = T.cat([T.ones_like(v[..., :1]), T.where(still.unsqueeze(-1), 0, v[..., 1:])], -1)
        rest = R[..., j:, j + 1 :]
        R[..., j:, j + 1 :] = rest - (T.conj_physical(tau)[..., None] * v).unsqueeze(-1) * product(
            T.conj_physical(v).unsqueeze(-2), rest
        )
        R[..., j:, j] = T.cat([T.where(still, head, beta.to(A.dtype)).unsqueeze(-1), v[..., 1:]], -1)
        taus.append(tau)
    return R, T.stack(taus, -1).to(A.dtype) if taus else A.new_zeros((*A._shape[:-2], 0))


@decomposition("_linalg_lstsq")
def lstsq(A, B, rcond, driver, vector):
    """Return (solution, residuals, rank, singular values), by the pseudo-inverse.

    Results that a driver does not compute are empty.
    """
    *batch, m, n = A._shape
    nothing = lambda dtype: T.zeros(0, dtype=dtype, device=A.device)
    real = A.dtype.to_real()
    U, S, Vh = svd(A)
    kept = S > (0 if driver == "gels" else rcond) * S.amax(-1, keepdim=True) if S._shape[-1] else S > 0
    inverse = T.where(kept, 1 / T.where(kept, S, 1), 0).to(A.dtype)
    X = product(Vh.mH, inverse.unsqueeze(-1) * product(U.mH, B))
    rank = kept.sum(-1)
    residuals = nothing(real)
    if m > n and driver != "gelsy":
        left = ((product(A, X) - B).abs() ** 2).sum(-2)
        residuals = T.where((rank == n).unsqueeze(-1), left, 0).to(real)
    gels = driver == "gels"
    X = X.squeeze(-1) if vector else X
    return X, residuals, nothing(dt.int64) if gels else rank, S if driver in ("gelsd", "gelss") else nothing(real)


# ---------------------------------------------------------------- eigenvalues of any matrix
def _shift(T2, steps):
    """Return the eigenvalue of the last 2 x 2 block that is nearer to its last element.

    Every tenth step it is another value, in case the iteration goes in circles.
    """
    (a, b), (c, d) = T2
    if steps % 10 == 9:
        return d + abs(c) + abs(b)
    half, root = (a + d) / 2, cmath.sqrt(((a - d) / 2) ** 2 + b * c)
    return min(half + root, half - root, key=lambda x: abs(x - d))


def _reflected(R, taus):
    """Return the product of the reflections that geqrf stores below R's diagonal."""
    n = R._shape[-1]
    Q = eye = T.eye(n, dtype=R.dtype, device=R.device)
    below = R.tril(-1) + eye
    for j in range(n - 1, -1, -1):
        v = below[:, j : j + 1]
        Q = Q - taus[j] * v * product(v.mH, Q)
    return Q


def _schur(A):
    """Return (triangular T, unitary Q) of A = Q T Q^H for a complex matrix, by QR steps.

    The elements left of the diagonal vanish in the last row first.
    """
    n, eps = A._shape[-1], dt.finfo(A.dtype.to_real()).eps
    eye = T.eye(n, dtype=A.dtype, device=A.device)
    S, Q, end, steps = A, eye, n, 0
    small = eps * (A.abs() ** 2).sum().sqrt().item()
    while end > 1:
        if S[end - 1, : end - 1].abs().sum().item() <= small:
            end, steps = end - 1, 0
            continue
        if steps == 30 * n:
            raise function("linalg", "LinAlgError")(
                f"linalg.eig: The algorithm failed to converge (error code: {end})."
            )
        moved = _shift(S[end - 2 : end, end - 2 : end].tolist(), steps)
        q = _reflected(*geqrf(S[:end, :end] - eye[:end, :end] * moved))
        q = T.constant_pad_nd(q, (0, n - end, 0, n - end)) + T.diag_embed(
            (T.arange(n, device=A.device) >= end).to(A.dtype)
        )
        S, Q, steps = product(product(q.mH, S), q), product(Q, q), steps + 1
    return S, Q


@decomposition("linalg.eig")
def eig(A):
    """Return the eigenvalues, which are on the diagonal of the Schur form, and the eigenvectors.

    Vectors are found by substitution; they have length 1, and their largest element is real.
    """
    real, eps = not A.dtype.is_complex, dt.finfo(A.dtype.to_real()).eps
    if not bool(T.isfinite(A if real else T.view_as_real(A)).all()):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")

    def one(A):
        S, Q = _schur(A)
        n, w = S._shape[-1], S.diagonal(0, -2, -1)
        small = max(eps * S.abs().amax().item(), dt.finfo(A.dtype.to_real()).tiny)
        if real:
            w = T.complex(w.real, T.where(w.imag.abs() <= 4 * n * small, 0, w.imag))
        eye = T.eye(n, dtype=A.dtype, device=A.device)
        rows = [eye[n - 1]]
        for i in range(n - 2, -1, -1):
            apart = w - w[i]
            apart = T.where(apart.abs() < small, small, apart)
            y = (S[i, i + 1 :].unsqueeze(-1) * T.stack(rows, 0)).sum(0) / apart
            rows.insert(0, T.where(T.arange(n, device=A.device) > i, y, eye[i]))
        V = product(Q, T.stack(rows, 0))
        V = V / (V.abs() ** 2).sum(0).sqrt()
        largest = (V * (T.arange(n, device=A.device).unsqueeze(-1) == V.abs().argmax(0))).sum(0)
        return w, V * T.conj_physical(largest) / largest.abs()

    kind = A.dtype.to_complex()
    if 0 in A._shape:
        return T.zeros(A._shape[:-1], dtype=kind, device=A.device), T.zeros(A._shape, dtype=kind, device=A.device)
    return tuple(_each(one, A.to(kind)))


# ---------------------------------------------------------------- symmetric indefinite matrices
def _each(fn, *batched):
    """Return fn's results for each matrix of a batch, stacked."""
    batch = batched[0]._shape[:-2]  # the first argument is a batch of matrices
    flat = [x.reshape((-1, *x._shape[len(batch) :])) for x in batched]
    rows = [fn(*(x[i] for x in flat)) for i in range(math.prod(batch))]
    return [T.stack(column, 0).reshape((*batch, *column[0]._shape)) for column in zip(*rows)]


def _block(sizes, hermitian):
    """Return (row, width) of the Bunch-Kaufman pivot for the first column, given the magnitudes of the elements.

    None if the column is zero.
    """
    here, column = sizes[0][0], [row[0] for row in sizes]
    r = max(range(1, len(sizes)), key=column.__getitem__) if len(sizes) > 1 else 0
    largest = column[r] if r else 0.0
    if max(here, largest) == 0 or here != here:
        return None
    limit = (1 + math.sqrt(17)) / 8
    if here >= limit * largest:
        return 0, 1
    there = max(x for i, x in enumerate(sizes[r]) if i != r)
    if here >= limit * largest * (largest / there):
        return 0, 1
    return (r, 1) if sizes[r][r] >= limit * there else (r, 2)


def _divided(B, D, turned):
    """Return B D^-1 for a pivot block D of one or two columns."""
    if D._shape[-1] == 1:
        return B / D
    a, b, c, x, y = D[0, 0], D[1, 0], D[1, 1], B[..., 0], B[..., 1]
    return T.stack([x * c - y * b, y * a - x * turned(b)], -1) / (a * c - b * turned(b))


@decomposition("_linalg_ldl_factor_ex")
def ldl_factor(A, hermitian):
    """Return LAPACK's lower form: blocks of one or two columns, with L's columns as elimination leaves them.

    Swaps of rows are returned as pivots.
    """
    turned = T.conj_physical if hermitian and A.dtype.is_complex else lambda x: x

    def one(A):
        n, k, columns, pivots, info = A._shape[-1], 0, [], [], 0
        d = A.diagonal(0, -2, -1)
        S = A.tril(-1) + turned(A.tril(-1)).mT + T.diag_embed((d + turned(d)) / 2)
        while k < n:
            found = _block(_size(S).tolist(), hermitian)
            p, width = found or (0, 1)
            info = info or (0 if found else k + 1)
            order = list(range(n - k))
            order[width - 1], order[p] = order[p], order[width - 1]
            at = tensor(order, device=A.device)
            S = S.index_select(0, at).index_select(1, at)
            D, below = S[:width, :width], S[width:, :width]
            L = _divided(below, D, turned) if found else below
            columns.append(T.cat([T.zeros((k, width), dtype=A.dtype, device=A.device), D.tril(), L], 0))
            S = S[width:, width:] - (product(L, turned(below).mT) if found else 0)
            pivots += [k + p + 1] if width == 1 else [-(k + p + 1)] * 2
            k += width
        return T.cat(columns, 1), *(tensor(x, dtype=dt.int32, device=A.device) for x in (pivots, info))

    if 0 in A._shape:
        return A.clone(), *(T.zeros(A._shape[:-k], dtype=dt.int32, device=A.device) for k in (1, 2))
    return tuple(_each(one, A))


@decomposition("linalg.ldl_solve")
def ldl_solve(LD, pivots, B, hermitian):
    turned = T.conj_physical if hermitian and LD.dtype.is_complex else lambda x: x

    def swapped(x, j, p):
        order = list(range(x._shape[0]))
        order[j], order[p] = order[p], order[j]
        return x.index_select(0, tensor(order, device=x.device)) if j != p else x

    def one(M, pivots, x):
        blocks, k, n = [], 0, M._shape[-1]
        pivots = pivots.tolist()
        while k < n:
            width = 1 if pivots[k] > 0 else 2
            blocks.append((k, k + width, abs(pivots[k + width - 1]) - 1))
            k += width
        for k, end, p in blocks:
            x = swapped(x, end - 1, p)
            L, D, y = M[end:, k:end], M[k:end, k:end], x[k:end]
            D = D.tril() + turned(D.tril(-1)).mT
            x = T.cat([x[:k], _divided(y.mT, D.mT, turned).mT, x[end:] - product(L, y)], 0)
        for k, end, p in reversed(blocks):
            y = x[k:end] - product(turned(M[end:, k:end]).mT, x[end:])
            x = swapped(T.cat([x[:k], y, x[end:]], 0), end - 1, p)
        return (x,)

    return B.clone() if 0 in B._shape else _each(one, LD, pivots, B)[0]
