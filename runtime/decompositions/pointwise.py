"""Elementwise operators."""

import math

from ..registry import T, decomposition
from ..tensor import Tensor


def _lcm(a, b):
    g = T.gcd(a, b)
    return (a // T.where(g == 0, 1, g) * b).abs()


def _shift(by, beyond):
    """By powers of two, in two steps: 2 ** n itself may be no number of the dtype."""

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
    """Scaled by the larger: squares of large numbers overflow."""
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
    "angle": lambda x: T.atan2(x.imag, x.real) if x.dtype.is_complex else T.where(x != x, x, (x < 0).to(x.dtype) * math.pi),
    "lcm": _lcm,
    "bitwise_left_shift": _shift(T.mul, lambda a: 0),
    "bitwise_right_shift": _shift(T.floor_divide, lambda a: -(a < 0).to(a.dtype)),
    "special.entr": lambda x: T.where(x > 0, -x * T.log(x), T.where(x == 0, x * 0, T.where(x < 0, -math.inf, x))),
    "special.xlog1py": lambda x, y: T.where(x == 0, 0, x * T.log1p(y)),
}.items():
    decomposition(_name)(_fn)
