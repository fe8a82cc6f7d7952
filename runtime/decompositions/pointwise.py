"""Elementwise operators."""

import math

from .. import dtypes as dt
from ..registry import T, decomposition
from ..tensor import Tensor


def _lcm(a, b):
    g = T.gcd(a, b)
    return (a // T.where(g == 0, 1, g) * b).abs()


def _shift(by, beyond):
    """Return a shift by powers of two, in two steps, since the dtype may not hold 2 ** n itself."""

    def fn(a, n):
        like = a if isinstance(a, Tensor) else n
        a, n = (t if isinstance(t, Tensor) else T.full((), t, dtype=like.dtype, device=like.device) for t in (a, n))
        within = (n >= 0) & (n < 8 * a.dtype.itemsize)
        n = n.masked_fill(~within, 0)
        return T.where(within, by(by(a, 2 ** (n // 2)), 2 ** (n - n // 2)), beyond(a))

    return fn


def _logit(x, eps):
    p = x if eps is None or eps < 0 else T.clamp(x, eps, 1 - eps)
    return T.log(p / (1 - p))


def _hypot(a, b):
    """Scale by the larger operand, since squares of large numbers overflow."""
    a, b = a.abs(), b.abs()
    large, ratio = T.maximum(a, b), T.minimum(a, b) / T.maximum(a, b)
    out = T.where(large == 0, large, large * T.sqrt(1 + ratio * ratio))
    return out.masked_fill((a == math.inf) | (b == math.inf), math.inf)


for _name, _fn in {
    "_clamp": lambda x, low, high: T.clamp_max(T.clamp_min(x, low), high),
    "_div_round": lambda a, b, mode: T.floor_divide(a, b) if mode == "floor" else T.trunc(T._div(a, b)),
    "_trunc_quotient": lambda a, b: T.trunc(T._div(a, b)),
    "celu": lambda x, alpha: T.where(x > 0, x, T.expm1(x / alpha) * alpha),
    "frac": lambda x: x - T.trunc(x),
    "isneginf": lambda x: x == -math.inf,
    "isposinf": lambda x: x == math.inf,
    "logit": _logit,
    "prelu_kernel": lambda x, w: T.where(x > 0, x, x * w),
    "fmax": lambda a, b: T.where(a != a, b, T.where(b != b, a, T.maximum(a, b))),
    "hypot": _hypot,
    "fmin": lambda a, b: T.where(a != a, b, T.where(b != b, a, T.minimum(a, b))),
    "signbit": lambda x: (x < 0) | (x == 0) & (1 / x < 0),
    "copysign": lambda a, b: T.where(T.signbit(b), -T.abs(a), T.abs(a)),
    "heaviside": lambda x, v: T.where(x == 0, v, (x > 0).to(x.dtype)),
    "_complex": lambda re, im: T.view_as_complex(T.stack(T.broadcast_tensors(re, im), -1)),
    "_conj": lambda x: T.complex(x.real, -x.imag),
    "angle": lambda x: (
        T.atan2(x.imag, x.real) if x.dtype.is_complex else T.where(x != x, x, (x < 0).to(x.dtype) * math.pi)
    ),
    "lcm": _lcm,
    "bitwise_left_shift": _shift(T.mul, lambda a: 0),
    "bitwise_right_shift": _shift(T.floor_divide, lambda a: -(a < 0).to(a.dtype)),
    "special.entr": lambda x: T.where(x > 0, -x * T.log(x), T.where(x == 0, x * 0, T.where(x < 0, -math.inf, x))),
    "special.xlog1py": lambda x, y: T.where(x == 0, 0, x * T.log1p(y)),
}.items():
    decomposition(_name)(_fn)


# ---------------------------------------------------------------- the bits of floating-point numbers
_BITS = {dt.float16: dt.int16, dt.bfloat16: dt.int16, dt.float32: dt.int32, dt.float64: dt.int64}


@decomposition("frexp")
def frexp(x):
    """Use the logarithm, which may be off by one, and powers of two.

    The exponent is halved so that no power overflows.
    """
    y = x.to(dt.float64)
    plain = (y != 0) & (y.abs() < math.inf)
    safe = T.where(plain, y, 0.5)
    exponent = T.floor(T.log2(safe.abs())) + 1
    half = T.floor(exponent / 2)
    mantissa = safe * T.exp2(-half) * T.exp2(half - exponent)
    for low, high, factor in ((1.0, math.inf, 0.5), (0.0, 0.5, 2.0)):
        off = (mantissa.abs() >= low) & (mantissa.abs() < high)
        mantissa, exponent = (
            T.where(off, mantissa * factor, mantissa),
            T.where(off, exponent - math.copysign(1, factor - 1), exponent),
        )
    return T.where(plain, mantissa, y).to(x.dtype), T.where(plain, exponent, 0.0).to(dt.int32)


@decomposition("nextafter")
def nextafter(x, y):
    """Return the neighbour, whose bits are those of the number plus or minus one.

    The neighbours of zero are the smallest numbers of either sign.
    """
    x, y = T.broadcast_tensors(x, y)
    bits = x.contiguous().view(_BITS[x.dtype])
    away = (y > x) == (x > 0)
    least = T.ones_like(bits).view(x.dtype)
    moved = T.where(x == 0, T.where(y > 0, least, -least), (bits + T.where(away, 1, -1).to(bits.dtype)).view(x.dtype))
    return T.where((x != x) | (y != y), x + y, T.where(x == y, y, moved))
