"""Special functions by recurrences, series and asymptotic expansions.

Integer arguments were converted to floating point before.
"""

import math

from .. import dtypes as dt
from ..registry import T, decomposition
from .bessel import double

# Bernoulli numbers B(2k): Stirling's series has B(2k) / (2k (2k - 1)), digamma's B(2k) / 2k
BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330]
SHIFT = 8  # small arguments are raised by this much before an expansion for large ones


def _wide(fn):
    """Return fn computed in float32 at least."""

    def wide(x, *args):
        y = x.to(dt.float32) if x.dtype in (dt.float16, dt.bfloat16) else x
        return fn(y, *args).to(x.dtype)

    return wide


def _horner(x, coefficients):
    """Return the polynomial with these coefficients, that of the highest power first."""
    out = T.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        out = out * x + c
    return out


def _stirling(x):
    inverse = 1 / x
    series = (
        _horner(inverse * inverse, [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI[:6], 1)][::-1]) * inverse
    )
    return (x - 0.5) * T.log(x) - x + 0.5 * math.log(2 * math.pi) + series


@decomposition("lgamma")
@_wide
def lgamma(x):
    y = T.where(x < 0.5, 1 - x, x)
    low = y < SHIFT
    rising = T.ones_like(y)
    for k in range(SHIFT):
        rising = rising * T.where(low, y + k, 1)
    out = _stirling(T.where(low, y + SHIFT, y)) - T.log(rising)
    fraction = x - T.floor(x)
    reflected = math.log(math.pi) - T.log(T.sin(math.pi * T.minimum(fraction, 1 - fraction)).abs()) - out
    out = T.where(x < 0.5, reflected, out)
    pole = (x <= 0) & (x == T.floor(x))
    return T.where(pole | (x.abs() == math.inf), math.inf, T.where((x == 1) | (x == 2), 0.0, out))


@decomposition("digamma")
@double
def digamma(x):
    y = T.where(x < 0.5, 1 - x, x)
    low, less = y < SHIFT, T.zeros_like(y)
    for k in range(SHIFT):
        less = less + T.where(low, 1 / (y + k), 0)
    y = T.where(low, y + SHIFT, y)
    inverse = 1 / (y * y)
    out = (
        T.log(y)
        - 0.5 / y
        - inverse * _horner(inverse, [b / (2 * k) for k, b in enumerate(BERNOULLI[:7], 1)][::-1])
        - less
    )
    fraction = x - T.floor(x)
    out = T.where(x < 0.5, out - math.pi / T.tan(math.pi * fraction), out)
    out = T.where((x < 0) & (fraction == 0) | (x == -math.inf), math.nan, T.where(x == math.inf, math.inf, out))
    return T.where(x == 0, T.where(1 / x > 0, -math.inf, math.inf), out)


def _zeta(s, q):
    """Return Hurwitz's zeta function for s > 1, q > 0: ten terms, then the Euler-Maclaurin formula."""
    total = T.zeros_like(s * q)
    for k in range(10):
        total = total + (q + k) ** -s
    a = q + 10
    total = total + a ** (1 - s) / (s - 1) + 0.5 * a**-s
    factor, power, factorial = s, a ** (-s - 1), 1.0
    for k, b in enumerate(BERNOULLI, 1):
        factorial *= 2 * k * (2 * k - 1)
        total = total + b / factorial * factor * power
        factor = factor * (s + 2 * k - 1) * (s + 2 * k)
        power = power / (a * a)
    return total


@decomposition("special.zeta")
def zeta(s, q):
    q_positive = q > 0
    negative = T.where(q == T.floor(q), math.inf, T.where(s == T.floor(s), 0.0, math.nan))
    # for q < 0 and whole s: the terms up to the first positive argument
    y, total = q, T.zeros_like(s * q)
    for _ in range(24):
        below = (y <= 0) & (y != T.floor(y))
        total = total + T.where(below, T.where(below, y, 1.0) ** -s, 0)
        y = T.where(below, y + 1, y)
    safe = T.where((y > 0) & (s > 1), y, 1.0)
    out = _zeta(T.where(s > 1, s, 2.0), safe) + total
    out = T.where(q_positive | (negative == 0), out, negative)
    return T.where(s == 1, math.inf, T.where((s < 1) | (s != s) | (q != q), math.nan, out))


@decomposition("_polygamma")
def polygamma(x, n):
    if n == 0:
        return T.digamma(x)
    order = T.full_like(x, n + 1)
    if n > 1:
        return (-1) ** (n + 1) * math.factorial(n) * zeta(order, x)
    y = T.where(x < 0.5, 1 - x, x)
    out = _zeta(T.full_like(x, 2), y)
    sine = T.sin(math.pi * x)  # not of the fraction: the result is then finite at negative integers, as in PyTorch
    return T.where(x < 0.5, (math.pi / sine) ** 2 - out, out)


# -------------------- modified Bessel functions: a series of positive terms, or an expansion for large arguments
SERIES, LARGE, TERMS = 44, 16.0, 12


def _bessel_i(order, scaled):
    terms = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(SERIES)][::-1]
    mu, expansion, term = 4 * order * order, [1.0], 1.0
    for k in range(1, TERMS):
        term *= -(mu - (2 * k - 1) ** 2) / (k * 8)
        expansion.append(term)

    def fn(x):
        y = x.abs()
        near, far = T.where(y < LARGE, y, 0.0), T.where(y < LARGE, LARGE, y)
        small = _horner(near * near / 4, terms) * (near / 2 if order else 1.0)
        large = _horner(1 / far, expansion[::-1]) / T.sqrt(2 * math.pi * far)
        if scaled:
            out = T.where(y < LARGE, small * T.exp(-near), T.where(y == math.inf, 0.0, large))
        else:
            half = T.exp(far / 2)  # in two factors: the square root keeps the product finite a little longer
            out = T.where(y < LARGE, small, T.where(y == math.inf, math.nan, large * half * half))
        out = T.where(x != x, x, out)
        return out * T.sign(x) if order else out

    return _wide(fn)


for _name, _order, _scaled in (
    ("i0", 0, False),
    ("special.i0e", 0, True),
    ("special.i1", 1, False),
    ("special.i1e", 1, True),
):
    decomposition(_name)(_bessel_i(_order, _scaled))


# ---------------------------------------------------------------- orthogonal polynomials: their recurrences
DEGREES = 512  # above this degree, PyTorch's own give NaN or have lost all digits


def _polynomial(first, step, shifted=False):
    """Return fn(x, n) for the recurrence p(0) = 1, p(1) = first(x), p(k + 1) = step(k, x, p(k), p(k - 1)).

    n may be a tensor with a degree for each element.
    """

    def fn(x, n):
        x = 2 * x - 1 if shifted else x
        degree = T.where(n.abs() < 2.0**63, T.trunc(n), -1.0)  # an invalid degree is treated as a negative one
        x, degree = T.broadcast_tensors(x, degree)
        before, p = T.ones_like(x), first(x)
        out = T.where(degree == 0, before, T.where(degree < 0, 0.0, p))
        for k in range(1, min(int(degree.amax().item()), DEGREES) if degree.numel() else 1):
            before, p = p, step(k, x, p, before)
            out = T.where(degree == k + 1, p, out)
        return T.where(degree > DEGREES, math.nan, out)

    return fn


_chebyshev = lambda k, x, p, b: 2 * x * p - b
POLYNOMIALS = {
    "chebyshev_polynomial_t": (lambda x: x, _chebyshev),
    "chebyshev_polynomial_u": (lambda x: 2 * x, _chebyshev),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _chebyshev),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _chebyshev),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda k, x, p, b: 2 * x * p - 2 * k * b),
    "hermite_polynomial_he": (lambda x: x, lambda k, x, p, b: x * p - k * b),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda k, x, p, b: ((2 * k + 1 - x) * p - k * b) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda k, x, p, b: ((2 * k + 1) * x * p - k * b) / (k + 1)),
}
for _name, (_first, _step) in POLYNOMIALS.items():
    decomposition(f"special.{_name}")(_polynomial(_first, _step))
    if _name.startswith("chebyshev"):
        decomposition(f"special.shifted_{_name}")(_polynomial(_first, _step, True))

decomposition("special.spherical_bessel_j0")(
    lambda x: T.where(x == 0, 1.0, T.where(x.abs() == math.inf, 0.0, T.sin(x) / x))
)


# ---------------------------------------------------------------- the error function, scaled and inverted
ROOT_2, ROOT_PI = math.sqrt(2), math.sqrt(math.pi)


def _erfcx(x):
    """Return exp(x^2) erfc(x): the product, and from 10 on the expansion by 1 / x^2."""
    near, far = T.where(x < 10, x, 10.0), T.where(x < 10, 10.0, x)
    terms, a = [1.0], 1.0
    for k in range(1, 14):
        a *= -(2 * k - 1) / 2
        terms.append(a)
    return T.where(x < 10, T.exp(near * near) * T.erfc(near), _horner(1 / (far * far), terms[::-1]) / (far * ROOT_PI))


def _log_ndtr(x):
    low = T.where(x < -1, x, -1.0)
    return T.where(
        x < -1, T.log(_erfcx(-low / ROOT_2) / 2) - low * low / 2, T.log1p(-T.erfc(T.where(x < -1, 1.0, x) / ROOT_2) / 2)
    )


def _ndtri(p):
    """Apply Newton's method to the logarithm of the distribution function.

    That is concave, so from the left the iteration never passes the root.
    """
    inside = (p > 0) & (p < 1)
    half = T.where(inside, T.minimum(p, 1 - p), 0.5)
    log = T.log(half)
    x = -T.sqrt(-2 * log)
    for _ in range(8):
        x = x - (_log_ndtr(x) - log) * _erfcx(-x / ROOT_2) * math.sqrt(math.pi / 2)
    x = T.where(half == 0.5, 0.0, T.where(p > 0.5, -x, x))
    return T.where(inside, x, T.where(p == 0, -math.inf, T.where(p == 1, math.inf, math.nan)))


decomposition("special.erfcx")(double(_erfcx))
decomposition("special.log_ndtr")(double(_log_ndtr))
decomposition("special.ndtri")(double(_ndtri))


# ---------------------------------------------------------------- incomplete gamma functions
CHECKS, MOST = 8, 1024  # terms between two checks for convergence; maximum number of terms


def _gamma_series(a, x):
    """Return the lower incomplete gamma function divided by x^a exp(-x) / gamma(a + 1).

    A sum of positive terms, for x < a + 1.
    """
    term = total = T.ones_like(x)
    for k in range(1, MOST):
        term = term * x / (a + k)
        total = total + term
        if k % CHECKS == 0 and not bool((term > total * 1e-16).any()):
            break
    return total


def _gamma_fraction(a, x):
    """Return the upper incomplete gamma function divided by x^a exp(-x) / gamma(a).

    The continued fraction is evaluated from the front.
    """
    b = x + 1 - a
    d = 1 / b
    c, h = T.full_like(x, 1e300), d
    for k in range(1, MOST):
        b = b + 2
        n = k * (a - k)
        d, c = 1 / (b + n * d), b + n / c
        h = h * d * c
        if k % CHECKS == 0 and not bool(((d * c - 1).abs() > 1e-15).any()):
            break
    return h


def _incomplete(a, x, upper):
    plain = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    low = plain & (x < a + 1)
    sa, sx = T.where(low, a, 1.0), T.where(low, x, 1.0)
    ta, tx = T.where(plain & ~low, a, 1.0), T.where(plain & ~low, x, 2.0)
    p = _gamma_series(sa, sx) * T.exp(sa * T.log(sx) - sx - T.lgamma(sa + 1))
    q = _gamma_fraction(ta, tx) * T.exp(ta * T.log(tx) - tx - T.lgamma(ta))
    out = T.where(low, 1 - p if upper else p, q if upper else 1 - q)
    # PyTorch's limits: the first condition that holds decides
    zero, one = (1.0, 0.0) if upper else (0.0, 1.0)
    first = (x == 0) & (a != 0) | (a == math.inf) & (x != math.inf)
    last = (a == 0) & (x > 0) | (x == math.inf) & (a != math.inf)
    edge = T.where(first, zero, T.where(last, one, math.nan))
    return T.where(plain, out, T.where((x < 0) | (a < 0), math.nan, edge))


decomposition("igamma")(double(lambda a, x: _incomplete(a, x, False)))
decomposition("igammac")(double(lambda a, x: _incomplete(a, x, True)))


def _slope(cdf, log_pdf, a):
    """Return -(d cdf / d a) / pdf, by a central difference."""
    h = T.minimum(a, T.ones_like(a)) * 1e-4
    return -(cdf(a + h) - cdf(a - h)) / (2 * h) / T.exp(log_pdf)


@decomposition("_standard_gamma_grad")
@double
def _standard_gamma_grad(a, x):
    return _slope(lambda a: _incomplete(a, x, False), (a - 1) * T.log(x) - x - T.lgamma(a), a)


def _beta_fraction(a, b, x):
    """Return the incomplete beta function divided by x^a (1 - x)^b / (a B(a, b)).

    The continued fraction is evaluated from the front. For x below (a + 1) / (a + b + 2).
    """
    c, d = T.ones_like(x), 1 / (1 - (a + b) * x / (a + 1))
    h = d
    for k in range(1, MOST):
        for n in (
            k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
            -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1)),
        ):
            d, c = 1 / (1 + n * d), 1 + n / c
            h = h * d * c
        if k % CHECKS == 0 and not bool(((d * c - 1).abs() > 1e-15).any()):
            break
    return h


def _log_beta(a, b):
    return T.lgamma(a) + T.lgamma(b) - T.lgamma(a + b)


def _incomplete_beta(a, b, x):
    turned = x > (a + 1) / (a + b + 2)
    p, q, y = T.where(turned, b, a), T.where(turned, a, b), T.where(turned, 1 - x, x)
    out = _beta_fraction(p, q, y) * T.exp(p * T.log(y) + q * T.log1p(-y) - _log_beta(p, q)) / p
    return T.where(turned, 1 - out, out)


@decomposition("_dirichlet_grad")
@double
def _dirichlet_grad(x, a, total):
    b = total - a
    return _slope(
        lambda a: _incomplete_beta(a, b, x), (a - 1) * T.log(x) + (b - 1) * T.log1p(-x) - _log_beta(a, b), a
    ) / (1 - x)
