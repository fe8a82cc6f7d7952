"""Random numbers on the host, in PyTorch's sequence, which no MindSpore kernel reproduces."""

import numpy as np

from ....runtime import generator as g
from ..arrays import MOST_DIMS
from ..table import numpy

WHY = "no kernel draws PyTorch's numbers"
F32 = np.dtype(np.float32)


def _dropout(gen, n, dtype, p):
    """Draw a dropout mask scaled by 1 / (1 - p), computed in the tensor's own precision."""
    keep = g.bernoulli(gen, n, F32 if dtype.itemsize < 4 else dtype, 1 - p)
    keep /= keep.dtype.type(1 - p)
    return keep.astype(dtype, copy=False)


FILLERS = {
    "uniform": g.uniform,
    "normal": g.normal,
    "exponential": g.exponential,
    "geometric": g.geometric,
    "log_normal": g.log_normal,
    "cauchy": g.cauchy,
    "random": g.random_,
    "integers": g.random_from_to,
    "bernoulli": g.bernoulli,
    "dropout": _dropout,
    "permutation": g.randperm,
}


@numpy("_draw", WHY)
def draw(kind, size, params, generator, dtype, device):
    n = 1
    for s in size:
        n *= s
    drawn = FILLERS[kind](generator, n, dtype.np, *params)
    # the backend reshapes to more dimensions than NumPy supports
    return drawn.reshape(size) if len(size) <= MOST_DIMS else drawn


numpy("_C._bernoulli", WHY, lambda p, dtype, generator: g.bernoulli_tensor(generator, p, dtype.np).reshape(p.shape))
numpy("_C.poisson", WHY, lambda rates, generator: g.poisson(generator, rates))
numpy("_C.binomial", WHY, lambda count, prob, generator: g.binomial(generator, count, prob))
numpy("_C._standard_gamma", WHY, lambda alpha, generator: g.standard_gamma(generator, alpha))
numpy("_C._sample_dirichlet", WHY, lambda alpha, generator: g.dirichlet(generator, alpha))
numpy("_C.multinomial", WHY, lambda p, n, replacement, generator: g.multinomial(generator, p, n, replacement))


def _slope(cdf, pdf, a):
    """Return -(d cdf / d a) / pdf by a central difference; the caller passes double precision."""
    h = 1e-4 * np.minimum(a, 1)
    return -(cdf(a + h) - cdf(a - h)) / (2 * h) / pdf


@numpy("_standard_gamma_grad", "no primitive")
def _standard_gamma_grad(alpha, x):
    from scipy import special

    a, x = alpha.astype(np.float64), x.astype(np.float64)
    return _slope(lambda a: special.gammainc(a, x), np.exp((a - 1) * np.log(x) - x - special.gammaln(a)), a)


@numpy("_dirichlet_grad", "no primitive")
def _dirichlet_grad(x, alpha, total):
    from scipy import special

    x, a = x.astype(np.float64), alpha.astype(np.float64)
    b = total - a
    return _slope(
        lambda a: special.betainc(a, b, x),
        np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b)),
        a,
    ) / (1 - x)
