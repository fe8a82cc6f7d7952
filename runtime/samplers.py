"""Samplers that draw number after number: how many draws an element takes depends on the numbers themselves.

PyTorch's stream has to be followed draw by draw, so these are plain loops over elements. This file is ordinary Python;
where a C compiler was there when the package was installed, the same file is compiled by Cython with the C types that
samplers.pxd declares, some thirty times faster (`COMPILED`). Arrays are array.array("d") in both cases, which Python
indexes faster than NumPy's. Formulas and orders of draws are those of PyTorch's CPU kernels.
"""

import math
from array import array

COMPILED = not __file__.endswith((".py", ".pyc"))
LARGEST = 1 << 16
INFINITY = float("inf")
SQUEEZE = 0.03310000151395798  # 0.0331 as a float32 number, which PyTorch has here


class Stream:
    """Uniform float64 numbers in [0, 1), one by one.

    draw(n) returns an array of the next n numbers. It is called for blocks of growing size; `used` says how many
    numbers were handed out. `waiting` is the second normal of the last pair where `has_waiting` is true.
    """

    def __init__(self, draw, waiting):
        self.draw = draw
        self.block = array("d")
        self.size, self.at, self.before = 0, 0, 0
        self.has_waiting = waiting is not None
        self.waiting = waiting if waiting is not None else 0.0

    def refill(self):
        """Draw the next block, of twice the size of the last one up to LARGEST."""
        self.before += self.at
        self.size = min(max(2 * self.size, 64), LARGEST)
        self.block = array("d", self.draw(self.size).tobytes())
        self.at = 0

    def used(self):
        """Return how many numbers were handed out."""
        return self.before + self.at

    def uniform(self):
        """Return the next number."""
        if self.at == self.size:
            self.refill()
        u = self.block[self.at]
        self.at += 1
        return u

    def normal(self):
        """Return the next standard normal number; two numbers make a pair, the cosine first."""
        if self.has_waiting:
            self.has_waiting = False
            return self.waiting
        theta = 2 * math.pi * self.uniform()
        r = math.sqrt(-2 * math.log1p(-self.uniform()))
        self.waiting = r * math.sin(theta)
        self.has_waiting = True
        return r * math.cos(theta)


def _log(x):
    return math.log(x) if x > 0 else -INFINITY


def _small_poisson(stream, rate):
    """Draw by a product of uniforms, for rates below 10."""
    k, product, floor = 0.0, 1.0, math.exp(-rate)
    if rate == 0:
        return k
    while True:
        product *= stream.uniform()
        if not product > floor:
            return k
        k += 1


def _large_poisson(stream, rate):
    """Draw by Hoermann's transformed rejection, for rates of 10 and above."""
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inv_alpha, accept = math.log(1.1239 + 1.1328 / (b - 3.4)), 0.9277 - 3.6224 / (b - 2)
    while True:
        x = stream.uniform() - 0.5
        v = stream.uniform()
        us = 0.5 - abs(x)
        k = math.floor((2 * a / us + b) * x + rate + 0.43) if us > 0 else -1.0
        if us >= 0.07 and v <= accept:
            return k
        if k < 0 or us < 0.013 and v > us:
            continue
        if _log(v) + log_inv_alpha - math.log(a / (us * us) + b) <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


def poisson(stream, rates):
    """Return a Poisson sample for each rate."""
    out = array("d", bytes(8 * len(rates)))
    for i in range(len(rates)):
        rate = rates[i]
        out[i] = _large_poisson(stream, rate) if rate >= 10 else _small_poisson(stream, rate)
    return out


def _one_gamma(stream, power, d, c):
    """Draw a Gamma sample by Marsaglia and Tsang's method; `power` is 0 for shapes of 1 and above.

    A shape below 1 is drawn as a shape above 1 times a uniform to the power of 1 / shape.
    """
    scale = math.pow(1 - stream.uniform(), power) if power != 0 else 1.0
    while True:
        x = stream.normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        w = 1 - stream.uniform()
        xx = x * x
        if w < 1 - SQUEEZE * xx * xx or _log(w) < 0.5 * xx + d * (1 - v + _log(v)):
            return scale * d * v


def gamma(stream, alphas, powers, ds, cs):
    """Return a Gamma(alpha, 1) sample for each alpha, 0 where alpha is 0."""
    out = array("d", bytes(8 * len(alphas)))
    for i in range(len(alphas)):
        if alphas[i] != 0:
            out[i] = _one_gamma(stream, powers[i], ds[i], cs[i])
    return out


_STIRLING = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling(k):
    """Return the remainder of Stirling's formula for the logarithm of k!."""
    if k < 10:
        return _STIRLING[int(k)]
    k1 = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / k1) / k1) / (k + 1)


def _small_binomial(stream, n, log_q):
    """Draw a binomial sample by summing the geometric gaps between successes until they exceed n."""
    total, k = 0.0, 0.0
    while True:
        x = stream.uniform()
        total += math.ceil(math.log(x) / log_q) if x > 0 else INFINITY
        if total > n:
            return k
        k += 1


def _large_binomial(stream, n, q, sd, r, mean, m):
    """Draw a binomial sample by Hoermann's transformed rejection with squeeze, for means of 10 and above."""
    b = 1.15 + 2.53 * sd
    a = -0.0873 + 0.0248 * b + 0.01 * q
    alpha, accept = (2.83 + 5.1 / b) * sd, 0.92 - 4.2 / b
    while True:
        x = stream.uniform() - 0.5
        v = stream.uniform()
        us = 0.5 - abs(x)
        k = math.floor((2 * a / us + b) * x + mean + 0.5) if us > 0 else -1.0
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= accept:
            return k
        bound = (
            (m + 0.5) * math.log((m + 1) / (r * (n - m + 1)))
            + (n + 1) * math.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * math.log(r * (n - k + 1) / (k + 1))
            + _stirling(m)
            + _stirling(n - m)
            - _stirling(k)
            - _stirling(n - k)
        )
        if _log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def binomial(stream, counts, probs, qs, log_qs, sds, rs, means, modes):
    """Return a Binomial(count, prob) sample for each pair.

    What follows from both is computed by the caller in their dtype: q, the smaller of prob and 1 - prob, log1p(-q), the
    standard deviation, r = q / (1 - q), the mean count * q, and the mode floor((count + 1) * q).
    """
    out = array("d", bytes(8 * len(counts)))
    for i in range(len(counts)):
        n, p = counts[i], probs[i]
        if n <= 0 or p <= 0:
            continue
        if p >= 1:
            out[i] = n
        elif p != p:
            out[i] = p
        else:
            if means[i] >= 10:
                k = _large_binomial(stream, n, qs[i], sds[i], rs[i], means[i], modes[i])
            else:
                k = _small_binomial(stream, n, log_qs[i])
            out[i] = n - k if p > 0.5 else k
    return out
