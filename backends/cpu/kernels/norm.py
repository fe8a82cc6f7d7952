"""Normalizations.

Legacy BatchNorm and PyBoost's GroupNorm are used for small sizes, NumPy on blocks of rows otherwise.
"""

import math

import numpy as np

from ....runtime import pyboost
from ... import thresholds
from ...host import alias
from ..arrays import ones, total_last
from ..blas import dot
from ..table import legacy, numpy, pyboost_, without


def merged(shape, stats, params):
    """Merge neighbouring dimensions of the same role.

    Returns the merged shape, and which of its dimensions are in stats and in params.
    """
    roles = [(d in stats, d in params) for d in range(len(shape))]
    sizes, kinds = [], []
    for s, r in zip(shape, roles):
        if kinds and kinds[-1] == r:
            sizes[-1] *= s
        else:
            sizes.append(s)
            kinds.append(r)
    return sizes, tuple(i for i, k in enumerate(kinds) if k[0]), tuple(i for i, k in enumerate(kinds) if k[1])


def _blocks(sizes, stats):
    """Return slices of the first dimension; a single one where the statistics run over it."""
    rows = max(sizes[0], 1) if 0 in stats else max(thresholds.PIECE // max(int(np.prod(sizes[1:])), 1), 1)
    return [slice(i, i + rows) for i in range(0, sizes[0], rows)]


def _one_if(sizes, dims):
    return [1 if i in dims else s for i, s in enumerate(sizes)]


def _sum(a, dims):
    """Sum over dims and keep them with size 1, by BLAS where rows or columns are contiguous."""
    shape = _one_if(a.shape, dims)
    if dims == (0,):
        return dot(ones(a.dtype, len(a)), a.reshape(len(a), -1)).reshape(shape)
    if dims and dims[-1] == a.ndim - 1:
        k = a.ndim - 1
        while k - 1 in dims:
            k -= 1
        a, dims = total_last(a.reshape(*a.shape[:k], -1)), dims[: len(dims) - a.ndim + k]
    return (np.add.reduce(a, axis=dims) if dims else a).reshape(shape)


def _sum_of_products(a, b, dims):
    """Compute _sum(a * b, dims), without storing a * b where dims are the first or the last dimension."""
    k = a.ndim
    if dims == (k - 1,) and 0 < a.shape[-1] <= 4096:
        return np.einsum("...i,...i->...", a, b)[..., None]
    if dims == (0,) and a.size:
        return np.einsum("ij,ij->j", a.reshape(len(a), -1), b.reshape(len(a), -1)).reshape(_one_if(a.shape, dims))
    return _sum(a * b, dims)


def _mean_of_products(a, b, dims, n):
    return _sum_of_products(a, b, dims) * a.dtype.type(1 / n) if n else np.full(_one_if(a.shape, dims), np.nan, a.dtype)


def _mean(a, dims, n):
    return _sum(a, dims) * a.dtype.type(1 / n) if n else np.full(_one_if(a.shape, dims), np.nan, a.dtype)


# ---- one mean and one weight for each channel: computed in blocks of channels, so that all steps but the first and the
# last stay in the cache


def _channels(sizes, stats, params, *arrays):
    """Reshape contiguous arrays (N, C, ...) to (N, C, pieces, R), and return them with slices of C.

    The result is None for other statistics or small arrays.
    """
    if params != (0, 2) or stats not in (params, ()) or sizes[2] < 32 or math.prod(sizes) <= thresholds.NORM:
        return None
    n, c, r = sizes
    pieces = next((k for k in range(-(-r // 2048), r // 1024 + 1) if r % k == 0), 1)
    step = max(thresholds.CHANNELS // (n * r), 1)
    return [a.reshape(n, c, pieces, r // pieces) for a in arrays], [slice(i, i + step) for i in range(0, c, step)]


def _over_channels(*factors):
    """Sum one array (N, c, pieces, R), or the product of two, for each channel; the result is (1, c, 1, 1)."""
    return np.einsum(",".join(["ncpr"] * len(factors)) + "->ncp", *factors).sum((0, 2)).reshape(1, -1, 1, 1)


def _with_scratch(blocks, x):
    """Yield each block of channels, with a contiguous temporary array of its size."""
    flat = np.empty(x[:, blocks[0]].size, x.dtype)
    for b in blocks:
        shape = x[:, b].shape
        yield b, flat[: math.prod(shape)].reshape(shape)


def _standardise_channels(arrays, blocks, mean, rstd, weight, bias, eps):
    x, out = arrays
    count = x.dtype.type(x.size // x.shape[1])
    mean, rstd, weight, bias = (None if a is None else a.reshape(1, -1, 1, 1) for a in (mean, rstd, weight, bias))
    for b, d in _with_scratch(blocks, x):
        mean[:, b] = _over_channels(x[:, b]) / count
        np.subtract(x[:, b], mean[:, b], out=d)
        rstd[:, b] = scale = 1 / np.sqrt(_over_channels(d, d) / count + x.dtype.type(eps))
        if weight is not None:
            scale = scale * weight[:, b]
        if bias is None:
            np.multiply(d, scale, out=out[:, b])
        else:
            d *= scale
            np.add(d, bias[:, b], out=out[:, b])


def _backward_of_channels(arrays, blocks, mean, rstd, weight, gw, gb, stats):
    g, x, out = arrays
    count = x.dtype.type(x.size // x.shape[1])
    mean, rstd, weight, gw, gb = (None if a is None else a.reshape(1, -1, 1, 1) for a in (mean, rstd, weight, gw, gb))
    for b, d in _with_scratch(blocks, x):
        r = rstd[:, b]
        np.subtract(x[:, b], mean[:, b], out=d)
        gw[:, b] = along = _over_channels(g[:, b], d) * r
        gb[:, b] = total = _over_channels(g[:, b])
        if stats:
            d *= along * r / count
            np.subtract(g[:, b], d, out=d)
            d -= total / count
        np.multiply(d if stats else g[:, b], r if weight is None else r * weight[:, b], out=out[:, b])


def standardise(x, weight, bias, stats, params, eps, center=True):
    """Return ((x - mean) * rstd * weight + bias, mean, rstd); without center no mean is subtracted."""
    sizes, stats, params = merged(x.shape, stats, params)
    x3, out = x.reshape(sizes), np.empty(sizes, x.dtype)
    n = int(np.prod([sizes[i] for i in stats]))
    stat, per = _one_if(sizes, stats), _one_if(sizes, params)
    mean, rstd = np.empty(stat, x.dtype), np.empty(stat, x.dtype)
    weight, bias = (None if p is None else np.asarray(p).reshape(per) for p in (weight, bias))
    channels = _channels(sizes, stats, params, x3, out) if center and stats else None
    if channels:
        _standardise_channels(*channels, mean, rstd, weight, bias, eps)
        return out.reshape(x.shape), mean, rstd
    blocks = _blocks(sizes, stats)
    for b in blocks:
        d = out[b]
        if center:
            mean[b] = _mean(x3[b], stats, n)
            np.subtract(x3[b], mean[b], out=d)
        of = d if center else x3[b]
        rstd[b] = r = 1 / np.sqrt(_mean_of_products(of, of, stats, n) + x.dtype.type(eps))
        np.multiply(of, r, out=d)
        if weight is not None:
            d *= weight if per[0] == 1 else weight[b]
        if bias is not None:
            d += bias if per[0] == 1 else bias[b]
    return out.reshape(x.shape), mean, rstd


@numpy(
    "_C.norm_backward",
    "LayerNormGrad is off by 5e-5 and 12 times slower at 64k elements; BatchNormGrad and GroupNormGrad serve one "
    "layout each",
)
def norm_backward(g, x, mean, rstd, weight, stats, params, affine):
    full = x.shape
    sizes, stats, params = merged(full, stats, params)
    g, x, out = g.reshape(sizes), x.reshape(sizes), np.empty(sizes, x.dtype)
    stat, per = _one_if(sizes, stats or params), _one_if(sizes, params)
    n = int(np.prod([sizes[i] for i in stats]))
    mean, rstd = (None if a is None else a.reshape(stat) for a in (mean, rstd))
    weight = None if weight is None else weight.reshape(per)
    gw, gb = (np.zeros(per, x.dtype) for _ in range(2))
    channels = None if mean is None else _channels(sizes, stats, params, g, x, out)
    if channels:
        _backward_of_channels(*channels, mean, rstd, weight, gw, gb, stats)
        return (out.reshape(full), gw, gb)[: 1 + 2 * affine]
    blocks = _blocks(sizes, stats)
    room = np.empty_like(out[blocks[0]]) if blocks else None
    for b in blocks:
        at, of = (b if shape[0] != 1 else slice(None) for shape in (per, stat))
        gx, r, d = g[b], rstd[of], out[b]
        xh = room[: len(d)]
        np.multiply(x[b] if mean is None else np.subtract(x[b], mean[of], out=xh), r, out=xh)
        if affine:
            gw[at] += _sum_of_products(gx, xh, params)
            gb[at] += _sum(gx, params)
        if weight is not None:
            gx = np.multiply(gx, weight[at], out=d)
        if stats:
            xh *= _mean_of_products(gx, xh, stats, n)
            if mean is not None:
                gx = np.subtract(gx, _mean(gx, stats, n), out=d)
            gx = np.subtract(gx, xh, out=d)
        np.multiply(gx, r, out=d)
    return (out.reshape(full), gw, gb)[: 1 + 2 * affine]


# ------------------------------------------------------------------------------------------------ layer and rms
without("native_layer_norm", "LayerNormExt ends the process where weight is None, and has no CPU kernel otherwise")


@numpy("native_layer_norm", "LayerNormExt has no CPU kernel; the legacy LayerNorm is 6 times slower at 61k elements")
def native_layer_norm(x, shape, weight, bias, eps):
    n, k = x.ndim, len(shape)
    if not 0 < x.size <= thresholds.NORM:
        return standardise(x, weight, bias, range(n - k, n), range(n - k), eps)
    rows = x.reshape(-1, math.prod(shape))
    of = rows.dtype.type(rows.shape[1])
    mean = np.add.reduce(rows, 1, keepdims=True)
    mean /= of
    out = rows - mean
    rstd = np.add.reduce(np.square(out), 1, keepdims=True)
    rstd /= of
    rstd += rows.dtype.type(eps)
    np.sqrt(rstd, out=rstd)
    np.reciprocal(rstd, out=rstd)
    out *= rstd
    out = out.reshape(x.shape)
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    stat = (*x.shape[: n - k], *(1,) * k)
    return out, mean.reshape(stat), rstd.reshape(stat)


@numpy("_fused_rms_norm", "RmsNorm has no CPU kernel; six primitives take 10 times as long at 64k elements")
def rms_norm(x, shape, weight, eps):
    n, k = x.ndim, len(shape)
    return standardise(x, weight, None, range(n - k, n), range(n - k), eps, center=False)[::2]


# ------------------------------------------------------------------------------------------------ group and batch
def group_norm(x, weight, bias, N, C, HxW, group, eps):
    out, mean, rstd = standardise(x.reshape(N, group, C // group, HxW), weight, bias, (2, 3), (0, 3), eps)
    return out.reshape(x.shape), mean, rstd


def _group(prim, x, weight, bias, N, C, HxW, group, eps):
    if 0 in x.shape:
        return group_norm(*(None if p is None else alias(p) for p in (x, weight, bias)), N, C, HxW, group, eps)
    weight, bias = (
        pyboost.tensor_from_array(np.full(C, fill, alias(x).dtype)) if p is None else p
        for p, fill in ((weight, 1), (bias, 0))
    )
    return prim(x, group, weight, bias, eps)


without("native_group_norm", "GroupNorm needs weight and bias, and fails on empty inputs")
pyboost_("native_group_norm", "GroupNorm", "weight and bias are filled in where absent", fn=_group, dtypes="f32")
numpy("native_group_norm", "GroupNorm is 3.7 times slower at 64k elements", group_norm, above=32768)
numpy("native_group_norm", "GroupNorm needs float32 parameters of the input's dtype", group_norm)


def _update(running, new, momentum):
    if running is not None:
        running *= running.dtype.type(1 - momentum)
        running += (new * momentum).astype(running.dtype)


def _running(x, mean, var, running_mean, running_var, momentum):
    n = x.size // max(x.shape[1], 1)
    if n:
        _update(running_mean, mean, momentum)
        _update(running_var, var * var.dtype.type(n / (n - 1) if n > 1 else np.nan), momentum)


def _batch(prim, x, weight, bias, running_mean, running_var, training, momentum, eps):
    if 0 in x.shape or not 0 < eps <= 1:
        return batch_norm(
            *(None if p is None else alias(p) for p in (x, weight, bias, running_mean, running_var)),
            training,
            momentum,
            eps,
        )
    c = x.shape[1]
    given = [p is not None for p in (running_mean, running_var)]
    w, b, m, v = (
        pyboost.tensor_from_array(np.full(c, fill, np.float32)) if p is None else p
        for p, fill in ((weight, 1), (bias, 0), (running_mean, 0), (running_var, 1))
    )
    if training:
        m, v = (pyboost.tensor_from_array(np.zeros(c, np.float32)) for _ in range(2))
    shape = tuple(x.shape)
    if len(shape) > 4:
        x = pyboost.tensor_from_array(alias(x).reshape(*shape[:2], -1))
    out = prim.of(training, eps, 0.0)(x, w, b, m, v)
    if not training:
        none = np.empty(0, np.float32)
        return out[0], none, none
    mean, var = alias(out[3]), alias(out[4])
    if any(given):
        _running(alias(x), mean, var, alias(running_mean), alias(running_var), momentum)
    return out[0], mean, 1 / np.sqrt(var + np.float32(eps))


legacy("_C.native_batch_norm", "BatchNorm", "BatchNormExt has no CPU kernel", fn=_batch, dtypes="f32")


@numpy("_C.native_batch_norm", "the legacy BatchNorm lacks the dtype")
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    dims = (0, *range(2, x.ndim))
    if not x.shape[1]:
        return np.empty_like(x), np.empty(0, x.dtype), np.empty(0, x.dtype)
    if training:
        out, mean, rstd = standardise(x, weight, bias, dims, dims, eps)
        mean, rstd = mean.reshape(-1), rstd.reshape(-1)
        _running(x, mean, 1 / (rstd * rstd) - eps, running_mean, running_var, momentum)
        return out, mean, rstd
    per = (-1,) + (1,) * (x.ndim - 2)
    scale = 1 / np.sqrt(running_var + x.dtype.type(eps)) * (1 if weight is None else weight)
    shift = (0 if bias is None else bias) - running_mean * scale
    scale, shift, out = scale.reshape(per), shift.reshape(per), np.empty(x.shape, np.result_type(x, scale, shift))
    each = math.prod(x.shape[1:])
    samples = max(thresholds.CHANNELS // max(each, 1), 1)
    rows = x.shape[1] if each <= thresholds.CHANNELS else max(thresholds.CHANNELS // (each // x.shape[1]), 1)
    for i in range(0, len(x), samples):
        for k in range(0, x.shape[1], rows):
            b, of = (slice(i, i + samples), slice(k, k + rows)), slice(k, k + rows)
            np.multiply(x[b], scale[of], out=out[b])
            out[b] += shift[of]
    return out, np.empty(0), np.empty(0)


numpy(
    "_C.native_batch_norm",
    "BatchNorm with given statistics is 4 times slower at 1M elements, with its own twice",
    batch_norm,
    above=65536,
)
