"""Convolutions: legacy oneDNN primitives for float32, windows and matrix products in NumPy otherwise."""

import math
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ....runtime import pyboost
from ....runtime.compiled import optional
from ....runtime.ops.common import numel
from ....runtime.threads import on_all_cores
from ..arrays import HOLES, plus_in_place
from ..blas import matmul
from ..table import legacy, numpy

depthwise = optional("..depthwise", __package__)


# -------------------------------------------------------------------------------------------- NumPy, any rank and dtype
def windows(x, kernel, stride, padding, dilation):
    """Return a view (N, C, *out, *kernel) of the windows of the zero-padded x."""
    if any(padding):
        x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    out = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation)]
    st = x.strides
    return as_strided(
        x,
        (*x.shape[:2], *out, *kernel),
        (*st[:2], *(a * s for a, s in zip(st[2:], stride)), *(a * d for a, d in zip(st[2:], dilation))),
        writeable=False,
    )


def _columns(x, kernel, stride, padding, dilation, groups, size=None):
    """Return the matrices (groups, channels * kernel, N * out) that a convolution multiplies by its weight."""
    w = windows(x, kernel, stride, padding, dilation)
    k = len(kernel)
    if size is not None:
        w = w[(slice(None), slice(None), *(slice(0, n) for n in size))]
    n, c, out = w.shape[0], w.shape[1] // groups, w.shape[2 : 2 + k]
    w = (
        w.reshape(n, groups, c, *w.shape[2:])
        if groups == 1
        else as_strided(w, (n, groups, c, *w.shape[2:]), (w.strides[0], c * w.strides[1], *w.strides[1:]))
    )
    return w.transpose(1, 2, *range(3 + k, 3 + 2 * k), 0, *range(3, 3 + k)).reshape(
        groups, c * math.prod(kernel), n * math.prod(out)
    ), (n, *out)


def _channels(out, n, size):
    """Reshape (groups, channels, N * out) to (N, C, *out)."""
    return np.ascontiguousarray(np.moveaxis(out.reshape(-1, n, *size), 0, 1))


def _ungrouped(x, groups):
    """Reshape (N, C, ...) to (groups, C / groups, N * rest)."""
    n, c = x.shape[:2]
    rest = math.prod(x.shape[2:])
    return np.moveaxis(x.reshape(n, groups, c // groups, rest), 0, 2).reshape(groups, c // groups, n * rest)


def forward(x, w, stride, padding, dilation, groups):
    if _is_compiled(w.shape, groups, x.dtype):
        return _sums(x, w, stride, padding, dilation)
    cols, (n, *size) = _columns(x, w.shape[2:], stride, padding, dilation, groups)
    return _channels(matmul(w.reshape(groups, w.shape[0] // groups, -1), cols), n, size)


def transposed(x, w, stride, padding, dilation, size, groups):
    if _is_compiled(w.shape, groups, x.dtype):
        return _sums_back(x, w, stride, padding, dilation, size, groups)
    n, kernel = x.shape[0], w.shape[2:]
    k = len(kernel)
    wt = w.reshape(groups, w.shape[0] // groups, -1).transpose(0, 2, 1)
    cols = matmul(wt, _ungrouped(x, groups)).reshape(groups, w.shape[1], *kernel, n, *x.shape[2:])
    full = [
        max(d * (m - 1) + s * (i - 1) + 1, o + 2 * p)
        for d, m, s, i, o, p in zip(dilation, kernel, stride, x.shape[2:], size, padding)
    ]
    out = np.zeros((groups, w.shape[1], n, *full), x.dtype)
    for at in product(*map(range, kernel)):
        where = tuple(slice(a * d, a * d + s * (i - 1) + 1, s) for a, d, s, i in zip(at, dilation, stride, x.shape[2:]))
        out[(..., *where)] += cols[(slice(None), slice(None), *at)]
    out = out[(..., *(slice(p, p + o) for p, o in zip(padding, size)))]
    return np.ascontiguousarray(out.reshape(-1, n, *out.shape[-k:]).swapaxes(0, 1))


def _long_columns(x, kernel, padding, dilation, groups):
    """Return _columns() for a stride of 1 with its columns in the order of the padded input's memory, and how to view
    results for them.

    The matrix has columns for the positions between two rows of the result too, which mean nothing, but its rows are
    copied in long runs. The second result is (length, strides): elements of a column of one image, and how many of
    them lie between neighbours along each dimension.
    """
    x = np.ascontiguousarray(np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)]) if any(padding) else x)
    steps = [math.prod(x.shape[i + 1 :]) for i in range(2, x.ndim)]
    length = sum((n - d * (k - 1) - 1) * st for n, k, d, st in zip(x.shape[2:], kernel, dilation, steps)) + 1
    n, c, size = x.shape[0], x.shape[1] // groups, x.itemsize
    within = *(d * st * size for d, st in zip(dilation, steps)), x.strides[0], size
    w = as_strided(x, (groups, c, *kernel, n, length), (c * x.strides[1], x.strides[1], *within), writeable=False)
    return w.reshape(groups, c * math.prod(kernel), n * length), (length, steps)


def for_weight(x, g, kernel, stride, padding, dilation, groups):
    if _is_compiled((groups, x.shape[1] // groups, *kernel), groups, x.dtype):
        return _dots(x, g, kernel, stride, padding, dilation)
    out = [n + 2 * p - d * (k - 1) for n, k, p, d in zip(x.shape[2:], kernel, padding, dilation)]
    if (
        out == list(g.shape[2:])
        and max(stride) == 1
        and min(out) > 2 * max(d * (k - 1) for d, k in zip(dilation, kernel))
    ):
        cols, (length, steps) = _long_columns(x, kernel, padding, dilation, groups)
        n, channels = g.shape[:2]
        rows = np.zeros((channels, n, length), g.dtype)
        strides = *rows.strides[:2], *(st * g.itemsize for st in steps)
        as_strided(rows, (channels, n, *out), strides)[...] = g.swapaxes(0, 1)
        found = matmul(rows.reshape(groups, channels // groups, n * length), cols.transpose(0, 2, 1))
        return found.reshape(channels, x.shape[1] // groups, *kernel)
    cols, _ = _columns(x, kernel, stride, padding, dilation, groups, g.shape[2:])
    return matmul(_ungrouped(g, groups), cols.transpose(0, 2, 1)).reshape(g.shape[1], x.shape[1] // groups, *kernel)


# ------------------------------------------------------------------------- one input channel in each group, compiled
def _is_compiled(weight, groups, dtype):
    """Whether depthwise.c has the convolution with a weight of this shape: one input channel in each group."""
    alone = weight[1] == 1 and groups > 1 and 3 <= len(weight) <= 4
    return alone and depthwise is not None and dtype.char in "fd"


def _in_two(sizes, default):
    """Return the sizes along rows and columns, of which one dimension has the columns alone."""
    return (default, *sizes) if len(sizes) == 1 else tuple(sizes)


def _spread(x, at, step, size):
    """Return zeros (..., *size) with the elements of x at places at + i * step of each of the last two dimensions.

    Elements with places outside are left out.
    """
    out, to, of = np.zeros((*x.shape[:-2], *size), x.dtype), [...], [...]
    for a, s, end, n in zip(at, step, size, x.shape[-2:]):
        first = max(0, -(a // s))
        last = max(first, min(n, (end - 1 - a) // s + 1))
        of.append(slice(first, last))
        to.append(slice(a + first * s, a + last * s, s) if last > first else slice(0, 0))
    out[tuple(to)] = x[tuple(of)]
    return out


def _planes(x, at, spread, size, kernel, stride, dilation):
    """Lay out an array (N, C, H, W) for depthwise.c, padded for `size` windows; see its comment for the layout.

    at, spread: where its elements lie, as for _spread(). Returns the array and (rows, phases, columns, *size, *kernel,
    step, *dilation), where the last of `size` is the number of columns that are computed.
    """
    (step, phases), wide = stride, -(-size[1] // 8) * 8
    rows = (size[0] - 1) * step + (kernel[0] - 1) * dilation[0] + 1
    columns = (kernel[1] - 1) * dilation[1] // phases + wide
    x = _spread(x, at, spread, (rows, columns * phases))
    if phases > 1:
        x = np.ascontiguousarray(x.reshape(*x.shape[:-1], columns, phases).swapaxes(-1, -2))
    return x, (rows, phases, columns, size[0], wide, *kernel, step, *dilation)


def _sums(x, w, stride, padding, dilation):
    """Convolve where each group has one input channel."""
    (n, c), given = x.shape[:2], x.shape[2:]
    kernel, stride, dilation, padding = (
        _in_two(v, i) for v, i in ((w.shape[2:], 1), (stride, 1), (dilation, 1), (padding, 0))
    )
    size = [
        (m + 2 * p - d * (k - 1) - 1) // s + 1
        for m, p, d, k, s in zip(_in_two(given, 1), padding, dilation, kernel, stride)
    ]
    x = x.reshape(n, c, *_in_two(given, 1))
    x, sizes = _planes(x, padding, (1, 1), size, kernel, stride, dilation)
    out = np.empty((n, w.shape[0], *sizes[3:5]), x.dtype)
    depthwise.sums(x, np.ascontiguousarray(w), out, (n * c, c, w.shape[0] // c, *sizes))
    return np.ascontiguousarray(out[..., : size[1]]).reshape(n, w.shape[0], *size[-len(given) :])


def _sums_back(g, w, stride, padding, dilation, size, groups):
    """Convolve backwards where each group has one channel of the result, which has the given size."""
    n, k = len(g), len(size)
    kernel, stride, dilation, padding, size = (
        _in_two(v, i) for v, i in ((w.shape[2:], 1), (stride, 1), (dilation, 1), (padding, 0), (size, 1))
    )
    at = [d * (m - 1) - p for d, m, p in zip(dilation, kernel, padding)]
    g = g.reshape(*g.shape[:2], *_in_two(g.shape[2:], 1))
    g, sizes = _planes(g, at, stride, size, kernel, (1, 1), dilation)
    out = np.empty((n, w.shape[0], *sizes[3:5]), g.dtype)
    w = np.ascontiguousarray(w[(..., *(slice(None, None, -1),) * k)])
    depthwise.sums(g, w, out, (n * len(w), len(w), 1, *sizes))
    out = out[..., : size[1]]
    if len(w) > groups:
        out = out.reshape(n, groups, -1, *size).sum(2)
    return np.ascontiguousarray(out).reshape(n, groups, *size[-k:])


def _dots(x, g, kernel, stride, padding, dilation):
    """Return the gradient of the weight where each group has one input channel."""
    (n, c), of_weight = x.shape[:2], (g.shape[1], 1, *kernel)
    x, g = (a.reshape(*a.shape[:2], *_in_two(a.shape[2:], 1)) for a in (x, g))
    kernel, stride, dilation, padding = (
        _in_two(v, i) for v, i in ((kernel, 1), (stride, 1), (dilation, 1), (padding, 0))
    )
    x, sizes = _planes(x, padding, (1, 1), g.shape[2:], kernel, stride, dilation)
    out = np.empty(of_weight, x.dtype)
    depthwise.dots(x, _spread(g, (0, 0), (1, 1), sizes[3:5]), out, (n * c, c, g.shape[1] // c, *sizes))
    return out


def _biased(out, bias):
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))
    return out


def _size(xs, ws, stride, padding, dilation, extra):
    return [
        (n - 1) * s - 2 * p + d * (k - 1) + 1 + e
        for n, k, s, p, d, e in zip(xs[2:], ws[2:], stride, padding, dilation, extra)
    ]


WHY = (
    "the legacy Conv2D lacks the dtype; a composite would copy the same windows, and MatMulExt is 2.7 times slower "
    "than np.matmul in float64"
)


@numpy("convolution", WHY)
def convolution(x, w, bias, stride, padding, dilation, is_transposed, extra, groups):
    if is_transposed:
        return _biased(
            transposed(
                x, w, stride, padding, dilation, _size(x.shape, w.shape, stride, padding, dilation, extra), groups
            ),
            bias,
        )
    return _biased(forward(x, w, stride, padding, dilation, groups), bias)


numpy("_C.convolution_weight", WHY, for_weight)


# ------------------------------------------------------------------------------------------------ oneDNN, float32
def _flat(t):
    """Return the MindSpore tensor of a tensor, with (N, C, L) reshaped to (N, C, 1, L)."""
    return (
        pyboost.tensor_from_array(np.ascontiguousarray(t._array())[:, :, None]) if len(t._shape) == 3 else t._mstensor()
    )


def _pads(padding):
    return tuple(p for p in padding for _ in (0, 1))


@lru_cache(64)
def _size_tensor(size):
    """Return a size as a cached tensor.

    With a tuple MindSpore leaks 500 bytes in each call, which fragments the memory between large blocks.
    """
    return pyboost.tensor_from_array(np.array(size, np.int64))


def _conv(prim, x, w, bias, stride, padding, dilation, is_transposed, extra, groups):
    HOLES.look()
    xs, ws = x._shape, w._shape
    k = len(ws) - 2
    # then a convolution with the flipped weight gives the same sum
    turnable = groups == max(stride) == 1 and all(p <= d * (m - 1) for p, d, m in zip(padding, dilation, ws[2:]))
    if (
        0 in xs
        or 0 in ws
        or k > 3
        or (k == 3 and (groups > 1 or is_transposed and not turnable))
        or any(e >= s for e, s in zip(extra, stride))
    ):
        bias = None if bias is None else bias._array()
        return convolution(x._array(), w._array(), bias, stride, padding, dilation, is_transposed, extra, groups)
    kernel, stride2, dilation2, padding2 = (
        (a,) * (k == 1) + tuple(b) for a, b in ((1, ws[2:]), (1, stride), (1, dilation), (0, padding))
    )
    around = tuple(d * (m - 1) - p for p, d, m in zip(padding2, dilation2, kernel))
    work = numel(xs) // xs[1] * numel(ws) // (1 if is_transposed else math.prod(stride))
    if k == 3 and not is_transposed:
        prim = pyboost.primitive("Conv3D", legacy=True).of(
            ws[0], kernel, 1, "pad", _pads(padding), stride2, dilation2, groups
        )
        args = _flat(x), _flat(w)
    elif is_transposed and turnable and (k == 3 or numel(ws) < numel(xs)):
        # up to 1.5 times as fast as Conv2DBackpropInput; there is none for three dimensions
        turned = w._array().reshape(*ws[:2], *kernel).swapaxes(0, 1)
        turned = np.ascontiguousarray(turned[(..., *(slice(None, None, -1),) * len(kernel))])
        prim = pyboost.primitive("Conv3D" if k == 3 else "Conv2D", legacy=True).of(
            ws[1], kernel, 1, "pad", _pads(around), stride2, dilation2, 1
        )
        args = _flat(x), pyboost.tensor_from_array(turned)
    elif is_transposed:
        size = (xs[0], ws[1] * groups, *(1,) * (k == 1), *_size(xs, ws, stride, padding, dilation, extra))
        prim = pyboost.primitive("Conv2DBackpropInput", legacy=True).of(
            ws[0], kernel, "pad", _pads(padding2), None, 1, stride2, dilation2, groups
        )
        args = _flat(x), _flat(w), _size_tensor(size)
    else:
        prim = prim.of(ws[0], kernel, 1, "pad", _pads(padding2), stride2, dilation2, groups)
        args = _flat(x), _flat(w)
    if bias is not None:
        bias = bias._array().reshape(-1, *(1,) * k)  # read before the kernel runs, which evicts the processor's caches
    out = on_all_cores(prim, work)(*args)
    shape = out._shape if k > 1 else (*out._shape[:2], out._shape[3])
    return pyboost.array_of(out, shape, x.dtype.np) if bias is None else plus_in_place(out, shape, x.dtype, bias)


def _conv_weight(prim, x, g, kernel, stride, padding, dilation, groups):
    HOLES.look()
    xs, gs, k = x._shape, g._shape, len(kernel)
    count = [(n + 2 * p - d * (m - 1) - 1) // s + 1 for n, m, s, p, d in zip(xs[2:], kernel, stride, padding, dilation)]
    if k > 2 or 0 in xs or 0 in gs or count != list(gs[2:]):
        return for_weight(x._array(), g._array(), kernel, stride, padding, dilation, groups)
    k2, s2, d2, p2 = ((a,) * (k == 1) + tuple(b) for a, b in ((1, kernel), (1, stride), (1, dilation), (0, padding)))
    shape = (gs[1], xs[1] // groups, *k2)
    prim = prim.of(gs[1], k2, "pad", _pads(p2), _pads(p2), 1, s2, (1, 1, *d2), groups)
    return on_all_cores(prim, numel(gs) * math.prod(shape[1:]))(_flat(g), _flat(x), shape)


legacy("convolution", "Conv2D", "Convolution has no CPU kernel", fn=_conv, dtypes="f32", tensors=True)
legacy(
    "_C.convolution_weight",
    "Conv2DBackpropFilter",
    "ConvolutionGrad has no CPU kernel",
    fn=_conv_weight,
    dtypes="f32",
    tensors=True,
)
ALONE = "Conv2D and its gradients are 4 to 80 times slower where a group has one input channel"


numpy(
    "convolution",
    ALONE,
    convolution,
    dtypes="f32",
    when=lambda x, w, bias, stride, padding, dilation, transposed, extra, groups: (
        _is_compiled(w._shape, groups, x.dtype.np) and 0 not in x._shape and 0 not in w._shape
    ),
)
numpy(
    "_C.convolution_weight",
    ALONE,
    for_weight,
    dtypes="f32",
    when=lambda x, g, kernel, stride, padding, dilation, groups: (
        _is_compiled((groups, x._shape[1] // groups, *kernel), groups, x.dtype.np)
        and 0 not in x._shape
        and 0 not in g._shape
    ),
)
