"""Special functions on CPU.

MindSpore's primitives are used where they are correct, otherwise SciPy, on which MindSpore itself depends.
"""

import numpy as np

from ..arrays import special as sp
from ..table import legacy, numpy, without

for _name, _prim in {
    "lgamma": "Lgamma",
    "i0": "BesselI0",
    "special.i0e": "BesselI0e",
    "special.i1": "BesselI1",
    "special.i1e": "BesselI1e",
}.items():
    legacy(_name, _prim, "PyBoost has no such primitive", dtypes="f32 f64")
without("erfinv", "wrong by up to 0.9")
without("digamma", "relative error 0.1 near the root")
numpy("log1p", "Log1p computes log(1 + x), and np.log1p of complex numbers too", sp.log1p, dtypes="c64 c128")
MISSING = "no primitive, or one that is wrong at the edges"


def _hurwitz(s, q):
    """Compute zeta(s, q) for s > 1 and q > 0, by ten terms and the Euler-Maclaurin formula for the rest.

    SciPy takes up to 3 us for an element.
    """
    power = (lambda x: 1 / np.square(x)) if np.ndim(s) == 0 and s == 2 else (lambda x: np.power(x, -s))
    s, q = np.broadcast_arrays(np.asarray(s, np.float64), np.asarray(q, np.float64))
    out = np.zeros(q.shape)
    for k in range(10):
        out += power(q + k)
    w = q + 10
    last = power(w)
    out += last * w / (s - 1) + last / 2
    term = last / w * s  # s (s + 1) ... (s + 2 j - 2) w ** (1 - s - 2 j)
    for j, factor in enumerate(_BERNOULLI):
        out += factor * term
        term *= (s + 2 * j + 1) * (s + 2 * j + 2) / (w * w)
    return out


# the Bernoulli numbers B(2 j), each divided by (2 j)!
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)


def _zeta_of(s, q):
    """Compute SciPy's zeta, with most elements by _hurwitz."""
    plain = (s > 1) & (s < 100) & (q > 0) & np.isfinite(q)
    if plain.all():
        return _hurwitz(s, q)
    one = s if np.ndim(s) == 0 else None
    s, q, plain = np.broadcast_arrays(s, q, plain)
    out = np.empty(q.shape)
    out[plain] = _hurwitz(s[plain] if one is None else one, q[plain])
    out[~plain] = sp.zeta(s[~plain], q[~plain])
    return out


def _erfinv(x):
    """Compute SciPy's function, which takes 1 us for every element that it has no value for."""
    size = np.abs(x)
    inside = np.copysign(sp.erfinv(np.where(size < 1, x, 0)), x)
    return np.where(size < 1, inside, np.where(size == 1, np.copysign(np.inf, x), np.nan)).astype(x.dtype, copy=False)


def _digamma(x):
    """Compute SciPy's function, and that of negative numbers by reflection, like PyTorch; SciPy takes 2 us for each."""
    low = x < 0
    if not low.any():
        return sp.psi(x)
    wide = x.astype(np.float64)
    part = np.fmod(wide, 1)
    turned = np.where(part == 0, np.nan, np.pi / np.tan(np.pi * part))
    return np.where(low, sp.psi(np.where(low, 1 - wide, 1)) - turned, sp.psi(np.where(low, 1, wide))).astype(x.dtype)


def _polygamma(x, n):
    if n == 0:
        return _digamma(x)
    wide = x.astype(np.float64)
    if n == 1:  # by reflection, so that it is finite at negative integers as in PyTorch
        low = x < 0.5
        values = _zeta_of(np.float64(2), np.where(low, 1 - wide, wide))
        return np.where(low, np.square(np.pi / np.sin(x.dtype.type(np.pi) * x)) - values, values)
    return (-1 if n % 2 == 0 else 1) * sp.gamma(n + 1.0) * _zeta_of(np.float64(n + 1), wide)


def _igamma(a, x, upper=False):
    """Compute SciPy's function with PyTorch's limits; the first condition that holds decides."""
    low = np.select(
        [(x < 0) | (a < 0), (x == 0) & (a != 0), np.isinf(a) & ~np.isinf(x), np.isinf(x) & ~np.isinf(a) & (a != 0)],
        [np.nan, 0, 0, 1],
        -1,
    )
    return np.where(low == -1, (sp.gammaincc if upper else sp.gammainc)(a, x), 1 - low if upper else low)


def _zeta(x, q):
    """Compute zeta, with NaN where PyTorch multiplies terms that underflow to 0 by an overflow of x ** 23."""
    return np.where((q > 1) & (x > 1) & (np.isinf(q) | np.isinf(x.astype(np.float64) ** 23)), np.nan, _zeta_of(x, q))


def _airy_ai(x):
    """Compute SciPy's function, and the leading terms of the asymptotic series for large negative x.

    There SciPy gives up, or PyTorch rounds the phase to the dtype.
    """
    z = -2 * x * np.sqrt(-x) / 3
    t, f, g = (
        z + x.dtype.type(np.pi / 4),
        1 - 0.03713348765432099 / z**2,
        0.06944444444444445 / z - 0.03799305912780064 / z**3,
    )
    far = (np.sin(t) * f - np.cos(t) * g) / (np.sqrt(np.pi) * (-x) ** 0.25)
    return np.select(
        [np.isinf(x), x > 103.892, x < (-10 if x.dtype.char == "f" else -1e4)], [np.nan, 0, far], sp.airy(x)[0]
    )


for _name, _fn in {
    "erfinv": _erfinv,
    "digamma": _digamma,
    "special.erfcx": sp.erfcx,
    "special.ndtri": sp.ndtri,
    "special.log_ndtr": sp.log_ndtr,
    "_polygamma": _polygamma,
    "igamma": _igamma,
    "igammac": lambda a, x: _igamma(a, x, True),
    "special.zeta": _zeta,
    "special.entr": sp.entr,
    "special.xlog1py": sp.xlog1py,
    "special.airy_ai": _airy_ai,
    "special.bessel_j0": sp.j0,
    "special.bessel_j1": sp.j1,
    "special.bessel_y0": sp.y0,
    "special.bessel_y1": sp.y1,
    "special.modified_bessel_i0": sp.i0,
    "special.modified_bessel_i1": sp.i1,
    "special.modified_bessel_k0": sp.k0,
    "special.modified_bessel_k1": sp.k1,
    "special.scaled_modified_bessel_k0": sp.k0e,
    "special.scaled_modified_bessel_k1": sp.k1e,
    "special.spherical_bessel_j0": lambda x: np.where(np.isinf(x), 0, np.sinc(x / np.pi)),
}.items():
    numpy(_name, MISSING, _fn, dtypes="f32 f64")
without("xlogy", "NaN for 0 log 0")
numpy("xlogy", "Xlogy gives NaN for 0 log 0", sp.xlogy, dtypes="f32 f64")
COMPOSED = "no CPU kernel; composed of eight primitives it is wrong between equal infinities"
numpy("logaddexp", COMPOSED, np.logaddexp, dtypes="f32 f64")
numpy("logaddexp2", COMPOSED, np.logaddexp2, dtypes="f32 f64")


@numpy("logaddexp", "LogAddExp has no CPU kernel", dtypes="c64 c128")
def _complex_logaddexp(a, b):
    low, high = np.where(a.real < b.real, a, b), np.where(a.real < b.real, b, a)
    return np.where(np.isinf(low.real) & (a == b), a, high + np.log1p(np.exp(low - high)))


def _second_kinds(x, n, sign):
    """Return Chebyshev polynomials of the third (sign -1) or fourth (+1) kind from those of the second."""
    return sp.eval_chebyu(n, x) + sign * np.where(n > 0, sp.eval_chebyu(np.maximum(n - 1, 0), x), 0)


_POLYNOMIALS = {
    "chebyshev_polynomial_t": lambda n, x: sp.eval_chebyt(n, x),
    "chebyshev_polynomial_u": lambda n, x: sp.eval_chebyu(n, x),
    "chebyshev_polynomial_v": lambda n, x: _second_kinds(x, n, -1),
    "chebyshev_polynomial_w": lambda n, x: _second_kinds(x, n, 1),
    "hermite_polynomial_h": sp.eval_hermite,
    "hermite_polynomial_he": sp.eval_hermitenorm,
    "laguerre_polynomial_l": sp.eval_laguerre,
    "legendre_polynomial_p": sp.eval_legendre,
}


def _polynomial(f, shifted=False):
    def kernel(x, n):
        wide, degree = x.astype(np.float64), n.astype(np.int64)
        return np.where(degree < 0, 0, f(np.maximum(degree, 0), 2 * wide - 1 if shifted else wide))

    return kernel


for _name, _fn in _POLYNOMIALS.items():
    numpy(f"special.{_name}", "no primitive", _polynomial(_fn), dtypes="f32 f64")
    if _name.startswith("chebyshev"):
        numpy(f"special.shifted_{_name}", "no primitive", _polynomial(_fn, True), dtypes="f32 f64")
