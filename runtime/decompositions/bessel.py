"""Bessel and Airy functions in double precision.

They use quadratures that converge exponentially, series where those do not, and expansions for large arguments. The
trapezoidal rule over a period, or over a line on which the integrand falls like exp(-v^2), is exact to the dtype's
precision after a few dozen points.
"""

import math

from .. import dtypes as dt
from ..registry import SPECIAL, T, decomposition

EULER = 0.5772156649015329
# ---------------------------------------------------------------- first and second kind
FAR, POINTS, SERIES = (
    25.0,
    64,
    32,
)  # expansions from FAR on; points of the rule over half a period; terms of Neumann's series
ANGLES = [(k + 0.5) * math.pi / POINTS for k in range(POINTS // 2)]  # the other half of them has the same sines


def double(fn):
    """Return fn computed in float64, whatever the dtype of its arguments."""
    return lambda *args: fn(*(a.to(dt.float64) for a in args)).to(args[0].dtype)


def sum_of(terms):
    """Return the sum of tensors, without the 0 that Python's sum() starts with."""
    terms = iter(terms)
    total = next(terms)
    for t in terms:
        total = total + t
    return total


def _waves(x, order, weights):
    """Return (2 / POINTS) * sum of weight * cos(x sin t), or of sin for order 1."""
    wave = T.sin if order else T.cos
    return sum_of(wave(x * math.sin(t)) * (2 * w / POINTS) for t, w in zip(ANGLES, weights))


def _hankel(order, x, terms=24):
    """Return (P, Q) of the expansions sqrt(2 / (pi x)) (P cos(chi) -+ Q sin(chi)), by powers of 1 / x."""
    mu, a, inverse = 4 * order * order, 1.0, 1 / x
    parts, power = [T.ones_like(x), T.zeros_like(x)], T.ones_like(x)
    for k in range(1, terms):
        a *= (mu - (2 * k - 1) ** 2) / (8 * k)
        power = power * inverse
        parts[k % 2] = parts[k % 2] + power * (a * (-1) ** (k // 2))
    return parts


def _large(order, y, second):
    P, Q = _hankel(order, y)
    c, s = T.cos(y), T.sin(y)
    # chi = y - pi/4 (order 0), y - 3 pi/4 (order 1), expanded so that a large y loses no precision
    cos, sin = ((c + s), (s - c)) if order == 0 else ((s - c), (-s - c))
    wave = P * sin + Q * cos if second else P * cos - Q * sin
    return wave / T.sqrt(math.pi * y)


def _first_kind(order):
    weights = [math.sin(t) for t in ANGLES] if order else [1.0] * len(ANGLES)

    def fn(x):
        y = x.abs()
        near = _waves(T.where(y < FAR, y, 0.0), order, weights)
        out = T.where(y < FAR, near, T.where(y == math.inf, math.nan, _large(order, T.where(y < FAR, FAR, y), False)))
        out = T.where(x != x, x, out)
        return out * T.sign(x) if order else out

    return fn


def _second_kind(order):
    first = _first_kind(order)
    if order:
        weights = [
            sum((-1) ** k * (2 * k + 1) * math.sin((2 * k + 1) * t) / (k * (k + 1)) for k in range(1, SERIES))
            for t in ANGLES
        ]
    else:
        weights = [sum((-1) ** k * math.cos(2 * k * t) / k for k in range(1, SERIES)) for t in ANGLES]

    def fn(x):
        near = T.where((x > 0) & (x < FAR), x, 1.0)
        log = T.log(near / 2) + (EULER - 1 if order else EULER)
        small = (log * first(near) * 2 - _waves(near, order, weights) * (2 if order else 4)) / math.pi
        if order:
            small = small - _first_kind(0)(near) * 2 / (math.pi * near)
        out = T.where(x < FAR, small, T.where(x == math.inf, math.nan, _large(order, T.where(x < FAR, FAR, x), True)))
        return T.where(x == 0, -math.inf, T.where((x < 0) | (x != x), math.nan, out))

    return fn


# ---------------------------------------------------------------- modified, second kind
STEP, NEAR = 0.25, 2.0
NODES = [k * STEP for k in range(26)]  # exp(-v^2) is below 1e-17 beyond them


def _scaled_k(kernel, z):
    """exp(z) K(z) for z >= 2: the integral over t of exp(-z (cosh t - 1)) kernel, with v = sqrt(2 z) sinh(t / 2)."""
    return sum_of(
        (STEP if v else STEP / 2) * math.exp(-v * v) * 2 / T.sqrt(2 * z + v * v) * kernel(v, z) for v in NODES
    )


def _harmonic(n):
    return sum(1 / k for k in range(1, n + 1))


def _small_k(order, z):
    """Return the series around 0, by powers of (z / 2)^2."""
    square, log = z * z / 4, T.log(z / 2) + EULER
    term, total = T.ones_like(z), T.zeros_like(z)
    for k in range(20):
        both = 2 * log - _harmonic(k) - _harmonic(k + 1) if order else _harmonic(k) - log
        total = total + term * both / (k + 1 if order else 1)
        term = term * square / (k + 1) ** 2
    return 1 / z + total * z / 4 if order else total


def _modified_second_kind(order, scaled):
    kernel = (lambda v, z: 1 + v * v / z) if order else (lambda v, z: 1.0)

    def fn(x):
        near, far = T.where((x > 0) & (x < NEAR), x, 1.0), T.where(x >= NEAR, x, NEAR)
        small, large = _small_k(order, near), _scaled_k(kernel, far)
        out = T.where(x < NEAR, small * T.exp(near) if scaled else small, large if scaled else large * T.exp(-far))
        out = T.where(x == math.inf, 0.0, out)
        return T.where(x == 0, math.inf, T.where((x < 0) | (x != x), math.nan, out))

    return fn


for _name, _fn in {
    "bessel_j0": _first_kind(0),
    "bessel_j1": _first_kind(1),
    "bessel_y0": _second_kind(0),
    "bessel_y1": _second_kind(1),
    "modified_bessel_i0": lambda x: T.i0(x),
    "modified_bessel_i1": lambda x: SPECIAL.i1(x),
    "modified_bessel_k0": _modified_second_kind(0, False),
    "modified_bessel_k1": _modified_second_kind(1, False),
    "scaled_modified_bessel_k0": _modified_second_kind(0, True),
    "scaled_modified_bessel_k1": _modified_second_kind(1, True),
}.items():
    decomposition(f"special.{_name}")(double(_fn))


# ---------------------------------------------------------------- Airy's function
AT_0, SLOPE_AT_0 = 0.35502805388781723926, 0.25881940379280679840
LEFT, RIGHT, LAST = -7.5, 2.25, 103.892  # the power series holds between the first two; beyond LAST PyTorch has 0


def _airy_series(x):
    cube, f, g = x**3, T.ones_like(x), x
    out = f * AT_0 - g * SLOPE_AT_0
    for k in range(1, 45):
        f, g = f * cube / ((3 * k - 1) * (3 * k)), g * cube / (3 * k * (3 * k + 1))
        out = out + f * AT_0 - g * SLOPE_AT_0
    return out


def _airy_waves(y):
    """Return Ai(-y) for large y."""
    z = y * T.sqrt(y) * (2 / 3)
    u, inverse, power = 1.0, 1 / z, T.ones_like(z)
    parts = [T.ones_like(z), T.zeros_like(z)]
    for k in range(1, 20):
        u *= (6 * k - 5) * (6 * k - 1) / (72 * k)
        power = power * inverse
        parts[k % 2] = parts[k % 2] + power * (u * (-1) ** (k // 2))
    phase = z - math.pi / 4
    return (T.cos(phase) * parts[0] + T.sin(phase) * parts[1]) / (math.sqrt(math.pi) * T.sqrt(T.sqrt(y)))


def _third(v, z):
    return T.cosh(T.asinh(v / T.sqrt(2 * z)) * (2 / 3))


@decomposition("special.airy_ai")
@double
def airy_ai(x):
    y = T.where(x > RIGHT, T.where(x < LAST, x, LAST), RIGHT)
    z = y * T.sqrt(y) * (2 / 3)
    right = T.sqrt(y / 3) / math.pi * _scaled_k(_third, z) * T.exp(-z)
    left = _airy_waves(T.where((x < LEFT) & (x > -math.inf), -x, -LEFT))
    out = T.where(x > RIGHT, right, T.where(x < LEFT, left, _airy_series(T.where((x >= LEFT) & (x <= RIGHT), x, 0.0))))
    return T.where(x.abs() == math.inf, math.nan, T.where(x != x, x, T.where(x > LAST, 0.0, out)))
