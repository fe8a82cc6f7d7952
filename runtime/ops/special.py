"""torch.special, and the special functions of the torch namespace."""

import math

from ..call.autocast import FLOAT32_ON_ACCELERATORS
from ..call.out import CONTIGUOUS
from ..call.promotion import INT_TO_FLOAT
from ..declare import BY_PARTS, composite, op
from .common import SPECIAL, T, dt
from .pointwise import cpu, no_derivative

_ROOT2, _ROOT_PI = math.sqrt(2), math.sqrt(math.pi)


def _one(name, prim, derivative, *alias, **options):
    op(f"{name}(Tensor self) -> Tensor", prim, promote=INT_TO_FLOAT, derivative=derivative, alias=alias, **options)


# ------------------------------------------------------------------------------------------------ error function
_one(
    "erf",
    "Erf",
    lambda g, self: T.exp(-(self * self)) * (2 / _ROOT_PI) * g,
    "special.erf",
    inplace_function=True,
    sparse="coalesced",
)
_one("erfc", "Erfc", lambda g, self: T.exp(-(self * self)) * (-2 / _ROOT_PI) * g, "special.erfc", inplace_function=True)
_one(
    "erfinv",
    "Erfinv",
    lambda g, self: T.exp(T.erfinv(self).square()) * (_ROOT_PI / 2) * g,
    "special.erfinv",
    autocast=FLOAT32_ON_ACCELERATORS,
    sparse="coalesced",
)
_one("special.erfcx", None, lambda g, self, out: (self * out * 2 - 2 / _ROOT_PI) * g)
_one("special.ndtri", None, lambda g, out: g * (T.exp(out * out * 0.5) * math.sqrt(2 * math.pi)))
_one("special.log_ndtr", None, lambda g, self: g / SPECIAL.erfcx(self / -_ROOT2) * math.sqrt(2 / math.pi))


@composite("special.ndtr(Tensor self) -> Tensor", out=CONTIGUOUS)
def ndtr(self):
    return T.erfc(self * -math.sqrt(0.5)) * 0.5


# ------------------------------------------------------------------------------------------------ gamma and zeta
_one("lgamma", "Lgamma", lambda g, self: g * T.digamma(self), "special.gammaln")
_one("digamma", "Digamma", lambda g, self: g * T.polygamma(1, self), "special.digamma", "special.psi")
_polygamma_grad = lambda g, self, n: g * T.polygamma(n + 1, self)
_polygamma = op(
    "_polygamma(Tensor self, int n) -> Tensor",
    None,
    promote=INT_TO_FLOAT,
    method=False,
    inplace=False,
    derivative=_polygamma_grad,
)


@composite("polygamma(int n, Tensor self) -> Tensor", alias=("special.polygamma",), method=False)
def polygamma(n, self):
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return _polygamma.call(self, n)


composite("Tensor.polygamma(Tensor self, int n) -> Tensor", inplace=True)(lambda self, n: polygamma(n, self))


@composite("mvlgamma(Tensor self, int p) -> Tensor", alias=("special.multigammaln",), inplace=True, derivative=BY_PARTS)
def mvlgamma(self, p):
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if self.dtype is dt.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    d = self.dtype if self.dtype.category == dt.FLOAT else dt.get_default_dtype()
    steps = T.arange(-p / 2 + 0.5, 0.5, 0.5, dtype=d, device=self.device)
    return (self.unsqueeze(-1) + steps).lgamma().sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def _igamma_grad(sign):
    return lambda g, self, other: g * (T.exp((self - 1) * T.log(other) - other - T.lgamma(self)) * sign)


for _name, _alias, _sign in (("igamma", "special.gammainc", 1), ("igammac", "special.gammaincc", -1)):
    _grads = {
        "self": no_derivative(f"the derivative for '{_name}: input' is not implemented."),
        "other": _igamma_grad(_sign),
    }
    _IGAMMA = dict(
        promote=cpu(f"{_name}_cpu", "bool", "int", "complex"), alias=(_alias,), derivative=_grads, no_forward=_name
    )
    op(f"{_name}(Tensor self, Tensor other) -> Tensor", None, **_IGAMMA)
_zeta_grads = {
    "self": no_derivative("the derivative for 'zeta' is not implemented."),
    "other": lambda g, self, other: g * -self * SPECIAL.zeta(self + 1, other),
}
_ZETA = dict(promote=INT_TO_FLOAT, derivative=_zeta_grads)
op(
    "special.zeta(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    None,
    inplace=False,
    no_forward="special_zeta",
    **_ZETA,
)
_one("special.entr", None, lambda g, self: g * (-1 - T.log(self)))
_xlog1py_grads = {
    "self": lambda g, self, other: T.where((self == 0) & (other <= -1), 0, SPECIAL.xlog1py(g, other)),
    "other": lambda g, self, other: g * (self / (other + 1)),
}
_XLOG1PY = dict(promote=INT_TO_FLOAT, derivative=_xlog1py_grads)
op("special.xlog1py(Tensor|Scalar self, Tensor|Scalar other) -> Tensor", None, inplace=False, **_XLOG1PY)


# ------------------------------------------------------------------------------------------------ Bessel functions
_one("i0", "BesselI0", lambda g, self: g * SPECIAL.i1(self), "special.i0", inplace_function=True)
_one("special.i0e", "BesselI0e", lambda g, self, out: g * (SPECIAL.i1e(self) - T.sgn(self) * out))
_one("special.i1", "BesselI1", lambda g, self, out: g * _at_zero(self, lambda x: T.i0(self) - out / x))
_one(
    "special.i1e",
    "BesselI1e",
    lambda g, self, out: g * _at_zero(self, lambda x: SPECIAL.i0e(self) - out * (T.sgn(self) + 1 / x)),
)


def _at_zero(self, f):
    """Return f(self), but 0.5 where self is too small to divide by."""
    large = T.abs(self) > dt.finfo(self.dtype).eps
    return T.where(large, f(T.where(large, self, 1)), 0.5)


# PyTorch does not differentiate these functions either.
for _name in """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1
 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0
 """.split():
    arg = "x" if _name in ("airy_ai", "spherical_bessel_j0") or _name.startswith("scaled") else "self"
    op(f"special.{_name}(Tensor {arg}) -> Tensor", None, promote=INT_TO_FLOAT, inplace=False)
for _name in """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
 shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
 """.split():
    op(f"special.{_name}(Tensor|Scalar x, Tensor|Scalar n) -> Tensor", None, promote=INT_TO_FLOAT, inplace=False)
