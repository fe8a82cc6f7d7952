"""Fourier transforms as products with matrices of cosines and sines; long ones are split into two factors.

Complex numbers are represented by pairs of real tensors.
"""

import math

from .. import dtypes as dt
from ..registry import T, decomposition

DIRECT = 256  # number of points up to which a single matrix is used


def _waves(rows, columns, n, sign, like):
    """Return cos and sign * sin of 2 pi j k / n for j < rows, k < columns.

    The angles are reduced as integers, which keeps them exact.
    """
    j, k = T.arange(rows, device=like.device)[:, None], T.arange(columns, device=like.device)
    angle = ((j * k) % n).to(like.dtype) * (2 * math.pi / n)
    return T.cos(angle), T.sin(angle) * sign


def _times(x, w):
    """Return x @ w along the last dimension, by sums of products where matmul does not support the dtype."""
    return x @ w if x.dtype is dt.float32 else (x.unsqueeze(-1) * w).sum(-2)


def _transformed(re, im, sign, outputs=None):
    """Return the transform along the last dimension.

    im: None for real input.
    outputs: how many of the points are wanted, from the first.
    """
    n = re._shape[-1]
    factor = next((f for f in range(math.isqrt(n), 1, -1) if n % f == 0), 1) if n > DIRECT else 1
    if factor == 1:
        c, s = _waves(n, outputs or n, n, sign, re)
        if im is None:
            return _times(re, c), _times(re, s)
        return _times(re, c) - _times(im, s), _times(re, s) + _times(im, c)
    rest = n // factor  # point a * rest + b goes to frequency c + d * factor
    split = lambda t: None if t is None else t.reshape(*t._shape[:-1], factor, rest).mT
    re, im = _transformed(split(re), split(im), sign)  # over a: (..., b, c)
    c, s = _waves(rest, factor, n, sign, re)
    re, im = re * c - im * s, re * s + im * c
    re, im = _transformed(re.mT, im.mT, sign)  # over b: (..., c, d)
    re, im = (t.mT.reshape(*t._shape[:-2], n) for t in (re, im))
    return (re, im) if outputs is None else (re[..., :outputs], im[..., :outputs])


def _along(re, im, dim, sign, outputs=None):
    move = lambda t, a, b: None if t is None else t.movedim(a, b)
    re, im = _transformed(move(re, dim, -1), move(im, dim, -1), sign, outputs)
    return re.movedim(-1, dim), im.movedim(-1, dim)


def _scale(normalization, n):
    return (1.0, 1 / math.sqrt(n), 1 / n)[normalization]


def _count(shape, dims):
    return math.prod(shape[d] for d in dims)


def _joined(re, im, scale):
    return T.complex((re * scale).contiguous(), (im * scale).contiguous())


@decomposition("_fft_c2c")
def c2c(x, dim, normalization, forward):
    re, im = x.real, x.imag
    for d in dim:
        re, im = _along(re, im, d, -1 if forward else 1)
    return _joined(re, im, _scale(normalization, _count(x._shape, dim)))


@decomposition("_fft_r2c")
def r2c(x, dim, normalization, onesided):
    last = x._shape[dim[-1]]
    re, im = _along(x, None, dim[-1], -1, last // 2 + 1 if onesided else None)
    for d in dim[:-1]:
        re, im = _along(re, im, d, -1)
    return _joined(re, im, _scale(normalization, _count(x._shape, dim)))


@decomposition("_fft_c2r")
def c2r(x, dim, normalization, last_dim_size):
    re, im = x.real, x.imag
    for d in dim[:-1]:
        re, im = _along(re, im, d, 1)
    # the points that are not given are the conjugates of those that are: each counts twice, except the first one and,
    # for even n, the middle one
    d, n = dim[-1], last_dim_size
    re, im = (t.movedim(d, -1)[..., : n // 2 + 1] for t in (re, im))
    k = re._shape[-1]
    c, s = _waves(k, n, n, 1, re)
    at = T.arange(k, device=x.device)
    twice = T.where((at == 0) | (2 * at == n), 1.0, 2.0).to(re.dtype)
    out = _times(re * twice, c) - _times(im * twice, s)
    return (out * _scale(normalization, _count(x._shape, dim[:-1]) * n)).movedim(-1, d)
