"""The von Mises distribution."""

import math

import torch

from . import constraints
from .distribution import Distribution
from .utils import lazy_property

# coefficients of the approximations to the modified Bessel functions I0 and I1 in Abramowitz and Stegun, 9.8.1 to 9.8.4
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (
        0.39894228,
        0.1328592e-1,
        0.225319e-2,
        -0.157565e-2,
        0.916281e-2,
        -0.2057706e-1,
        0.2635537e-1,
        -0.1647633e-1,
        0.392377e-2,
    ),
    (
        0.39894228,
        -0.3988024e-1,
        -0.362018e-2,
        0.163801e-2,
        -0.1031555e-1,
        0.2282967e-1,
        -0.2895312e-1,
        0.1787654e-1,
        -0.420059e-2,
    ),
)


def _polynomial(y, coefficients):
    result = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = c + y * result
    return result


def _log_modified_bessel_fn(x, order=0):
    small = _polynomial((x / 3.75) ** 2, _SMALL[order]) * (x.abs() if order else 1)
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return torch.where(x < 3.75, small.log(), large)


class VonMises(Distribution):
    """The von Mises distribution, the counterpart of the normal distribution on the circle."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    mean = mode = property(lambda self: self.loc)

    def __init__(self, loc, concentration, validate_args=None):
        self._setup(validate_args, loc=loc, concentration=concentration)

    def _log_prob(self, value):
        return (
            self.concentration * torch.cos(value - self.loc)
            - math.log(2 * math.pi)
            - _log_modified_bessel_fn(self.concentration)
        )

    @lazy_property
    def variance(self):
        return (
            1 - (_log_modified_bessel_fn(self.concentration, 1) - _log_modified_bessel_fn(self.concentration, 0)).exp()
        )

    @torch.no_grad()
    def sample(self, sample_shape=torch.Size()):
        """Draw samples by Best and Fisher's rejection method, in double precision."""
        shape, loc, kappa = self._extended_shape(sample_shape), self.loc.double(), self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        r = torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
        x, done = (
            torch.zeros(shape, dtype=loc.dtype, device=loc.device),
            torch.zeros(shape, dtype=torch.bool, device=loc.device),
        )
        while not done.all():
            u1, u2, u3 = torch.rand((3,) + shape, dtype=loc.dtype, device=loc.device).unbind()
            z = torch.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
