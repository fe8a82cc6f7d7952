"""Activations on CPU.

Sequences of PyBoost primitives are used where the declared primitive has no CPU kernel, NumPy where large tensors need
it.
"""

import math

import numpy as np

from ....runtime.ops.activation import SELU_ALPHA, SELU_SCALE
from ....runtime.ops.common import numel
from ... import thresholds
from ...host import INTS, in_pieces, ms_dtype_of
from ...quiet import quiet
from ..arrays import select, special, total_last, zeroed
from ..backend import BACKEND
from ..table import decomposed, legacy, numpy, pyboost_, quick, without
from .pointwise import _prim, against


def _s(x, value):
    """Return a number as a 0-d tensor of x's dtype."""
    return BACKEND.number(value, ms_dtype_of(x))


def _do(name, x, *others):
    """Call a PyBoost primitive on x and other tensors or numbers."""
    return _prim(name)(x, *[o if hasattr(o, "asnumpy") else _s(x, o) for o in others])


def _select(condition, a, b):
    """Call Select; a number gets the dtype of the other branch."""
    return _prim("Select")(
        condition, a if hasattr(a, "asnumpy") else _s(b, a), b if hasattr(b, "asnumpy") else _s(a, b)
    )


def _kernel(name, primitive, why, dtypes="f32 f64", above=0):
    """Decorate a function (x, *args) that computes the operator by several primitives.

    `primitive` is the one that takes most of the time.
    """

    def deco(fn):
        pyboost_(name, primitive, why, lambda prim, *args: fn(*args), dtypes=dtypes, above=above)

    return deco


def _blocks(fn):
    """Call fn on flat pieces that fit in the cache.

    fn(*pieces, *numbers, out) writes its result into out.
    """

    def run(*args):
        out = np.empty(args[0].shape, args[0].dtype)
        if out.size:
            in_pieces(fn, *(a.reshape(-1) if isinstance(a, np.ndarray) else a for a in args), out.reshape(-1))
        return out

    return run


# Maximum(a, b) returns b unless a is greater. So that NaN is kept, b must be the clamped tensor
without("relu", "turns NaN into 0", "f16 f32 f64")
_maximum, _ZERO = against(np.maximum), {np.dtype(d): np.zeros((), d) for d in "fd"}
numpy(
    "relu",
    "ReLU turns NaN into 0, Maximum is 7 times slower at 64k elements",
    lambda x: _maximum(x, _ZERO[x.dtype]),
    dtypes="f32 f64",
)
without("relu_backward", "takes NaN for negative")


@numpy("relu_backward", "ReluGrad takes NaN for negative; Select is 9 times slower at 1M elements", dtypes="f32 f64")
def _relu_backward(g, y):
    return zeroed(y <= 0, g) if g.size <= thresholds.PIECE else _large_relu_backward(g, y)


@_blocks
def _large_relu_backward(g, y, out):
    bits = np.int32 if out.dtype.char == "f" else np.int64
    kept = out.view(bits)
    kept[...] = ~(y <= 0)
    kept *= g.view(bits)


pyboost_(
    "_C._nn.hardtanh",
    "Maximum",
    "Hardtanh has no CPU kernel",
    lambda p, x, low, high: _prim("Minimum")(_s(x, high), p(_s(x, low), x)),
    dtypes="i8 i16 i32 i64 f32 f64",
)
LEAKY = "LeakyReLUExt has no CPU kernel; Mul and Maximum are 6 times slower than NumPy at 64k elements"
numpy(
    "_C._nn.leaky_relu",
    LEAKY,
    lambda x, slope: (np.maximum if slope <= 1 else np.minimum)(x * x.dtype.type(slope), x),
    dtypes="f32 f64",
)
PIECES = "composed of comparisons, products and Select {} times slower at 64k elements"


@numpy("leaky_relu_backward", PIECES.format(11), dtypes="f32 f64")
@_blocks
def _leaky_relu_backward(g, x, slope, out):
    out[...] = select(x > 0, g, g * g.dtype.type(slope))


@quick("hardtanh_backward")
@_blocks
def _hardtanh_backward(g, x, low, high, out):
    out[...] = zeroed((x <= low) | (x >= high), g)


@numpy("elu_backward", PIECES.format(8), dtypes="f32 f64")
@_blocks
def _elu_backward(g, x, alpha, out):
    out[...] = select(x <= 0, g * np.exp(x) * g.dtype.type(alpha), g)


_kernel("threshold", "Select", "Threshold has no CPU kernel", f"{INTS} f32 f64")(
    lambda x, t, v: _select(_do("LessEqual", x, t), v, x)
)
without("hardshrink nn.functional.softshrink", "turns NaN into 0")
_kernel("hardshrink", "Select", "HShrink turns NaN into 0")(
    lambda x, l: _select(_do("LessEqual", _prim("Abs")(x), l), 0, x)
)
_kernel("nn.functional.softshrink", "Minimum", "SoftShrink turns NaN into 0")(
    lambda x, l: _do("Sub", x, _prim("Minimum")(_s(x, l), _prim("Maximum")(_s(x, -l), x)))
)
_kernel("prelu_kernel", "Select", "PReLU takes one weight for each channel only")(
    lambda x, w: _select(_do("Greater", x, 0), x, _do("Mul", x, w))
)


# ------------------------------------------------------------------------------------------------ exponential
def _elu(x, alpha, scale=1.0):
    return np.where(x > 0, x * scale, np.expm1(x) * alpha)


numpy(
    "_C._nn.elu",
    "EluExt has no CPU kernel; Elu takes alpha=1 only, with a relative error of 2e-2 near 0",
    _elu,
    dtypes="f32 f64",
)
numpy(
    "selu",
    "SeLUExt has no CPU kernel, SeLU is wrong",
    lambda x: _elu(x, SELU_ALPHA * SELU_SCALE, SELU_SCALE),
    dtypes="f32 f64",
)
decomposed("celu", "no PyBoost primitive, and CeLU has Elu's error", "f32 f64")
without("nn.functional.softplus", "2.7.2 has no CPU kernel, 2.10 is wrong for NaN")


@numpy(
    "nn.functional.softplus",
    "Softplus has a relative error of 1e-2 below 0, and gives infinity for NaN",
    dtypes="f32 f64",
)
@_blocks
def _softplus(x, beta, threshold, out):
    y = x if beta == 1 else x * beta
    soft = np.exp(y)
    np.log1p(soft, out=soft)
    if beta != 1:
        soft /= beta
    out[...] = select(y > threshold, x, soft)


@numpy("softplus_backward", PIECES.format(18), dtypes="f32 f64")
@_blocks
def _softplus_backward(g, x, beta, threshold, out):
    y = x if beta == 1 else x * beta
    s = np.exp(-y)
    s += 1
    out[...] = select(y > threshold, g, g / s)


@numpy(
    "nn.functional.logsigmoid",
    "LogSigmoid has no CPU kernel; composed of primitives nine times slower at 64k elements",
    dtypes="f32 f64",
)
@_blocks
def _logsigmoid(x, out):
    tail = np.abs(x)
    np.negative(tail, out=tail)
    np.log1p(np.exp(tail, out=tail), out=tail)
    np.minimum(x, 0, out=out)
    out -= tail


# ------------------------------------------------------------------------------------------------ gelu
_ROOT_2_PI = math.sqrt(2 / math.pi)
# Abramowitz and Stegun 7.1.26: erf(z) = 1 - t (a1 + t (a2 + ...)) exp(-z^2), t = 1 / (1 + p z), to 1.5e-7
_ERF = [c / 2 for c in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)]
_ERF_P = 0.3275911 * math.sqrt(0.5)
_SIGN = np.int32(-1 << 31)


def _np_cdf(x):
    """Return the normal cumulative distribution function and exp(-x^2 / 2)."""
    gauss = np.square(x)
    gauss *= -0.5
    np.exp(gauss, out=gauss)
    if x.dtype == np.float64:
        return special.ndtr(x), gauss
    t = np.abs(x)
    t *= _ERF_P
    t += 1
    np.reciprocal(t, out=t)
    half = t * -_ERF[0]
    for c in _ERF[1:]:
        half -= c
        half *= t
    half *= gauss
    half += 0.5
    half.view(np.int32)[...] |= x.view(np.int32) & _SIGN
    half += 0.5
    return half, gauss


def _np_gate(x):
    """Return (1 + tanh u) / 2 for u = sqrt(2 / pi) (x + 0.044715 x^3)."""
    s = np.square(x)
    s *= -2 * _ROOT_2_PI * 0.044715
    s -= 2 * _ROOT_2_PI
    s *= x
    np.exp(s, out=s)
    s += 1
    return np.reciprocal(s, out=s)


@_blocks
def _gelu(x, approximate, out):
    np.multiply(x, _np_gate(x) if approximate == "tanh" else _np_cdf(x)[0], out=out)


@_blocks
def _gelu_backward(g, x, approximate, out):
    if approximate == "tanh":
        # s + s (1 - s) 2 x u'
        s = _np_gate(x)
        np.subtract(1, s, out=out)
        out *= s
        u = np.square(x)
        u *= 6 * _ROOT_2_PI * 0.044715
        u += 2 * _ROOT_2_PI
        u *= x
        out *= u
        out += s
    else:
        s, gauss = _np_cdf(x)
        np.multiply(gauss, x, out=out)
        out *= _ROOT_2_PI / 2
        out += s
    out *= g


GELU = "GeluExt and GeluGradExt have no CPU kernel; Erf's composite and GeLU are 4 and 12 times slower at 64k elements"
numpy("nn.functional.gelu", GELU, _gelu, dtypes="f32 f64")
numpy("gelu_backward", GELU, _gelu_backward, dtypes="f32 f64")


# ------------------------------------------------------------------------------------------------ smooth activations
without("_C._nn.silu", "0 where exp(-x) overflows and PyTorch gives NaN", "c64 c128")
numpy(
    "_C._nn.silu",
    "SiLU gives 0 where exp(-x) overflows and PyTorch NaN",
    lambda x: x / (1 + np.exp(-x)),
    dtypes="c64 c128",
)
without("silu_backward", "3 times slower at 64k elements, 6 times at 1M", "f32 f64")
numpy(
    "silu_backward",
    "SiLUGrad lacks the dtype",
    lambda g, x: np.conj((s := 1 / (1 + np.exp(-x))) * (1 + x * (1 - s))) * g,
    dtypes="c64 c128",
)


@numpy("_C._nn.silu", "SiLU is 3 times slower at 1M elements", dtypes="f32 f64", above=1 << 18)
@_blocks
def _np_silu(x, out):
    np.negative(x, out=out)
    np.exp(out, out=out)
    out += 1
    np.divide(x, out, out=out)


@numpy("silu_backward", "SiLUGrad is 3 times slower at 64k elements, 6 times at 1M", dtypes="f32 f64")
@_blocks
def _np_silu_backward(g, x, out):
    s = np.negative(x)
    np.exp(s, out=s)
    s += 1
    np.reciprocal(s, out=s)
    np.subtract(1, s, out=out)
    out *= x
    out += 1
    out *= s
    out *= g


numpy("tanh_backward", "TanhGrad lacks the dtype", lambda g, y: g * np.conj(1 - y * y), dtypes="c64 c128")
without("tanh_backward", "TanhGrad takes no conjugate", "c64 c128")
without("_C._nn.hardswish", "gives 0 for minus infinity")
_kernel("_C._nn.hardswish", "HSigmoid", "HSwish gives 0 for minus infinity")(
    lambda x: _do("Mul", x, _prim("HSigmoid")(x))
)
without("hardswish_backward", "wrong at 3 and -3")
_kernel("hardswish_backward", "Select", "HSwishGrad is wrong at 3 and -3")(
    lambda g, x: _select(
        _do("LessEqual", x, -3), 0, _select(_do("Less", x, 3), _do("Mul", g, _do("Add", _do("Mul", x, 1 / 3), 0.5)), g)
    )
)
legacy(
    "_C._nn.mish",
    "Mish",
    "MishExt has no CPU kernel; Mish gives NaN for infinity",
    lambda p, x: _select(_do("LessEqual", x, 20), p(x), x),
    dtypes="f32",
)
numpy("_C._nn.mish", "Mish is wrong in float64", lambda x: x * np.tanh(np.logaddexp(x, 0)), dtypes="f64")


# ------------------------------------------------------------------------------------------------ softmax
_along = {}
_ZEROS = {np.dtype(t): np.zeros(thresholds.ROW, t) for t in "fd"}


def _softmax(prim, x, dim):
    a = x._array()
    if not a.shape:
        x = x._mstensor()
        return _do("Add", _do("Sub", x, x), 1)
    if not _finite(a):
        with quiet():
            if not np.isfinite(a.max(dim)).all():
                # at a row without a finite maximum the primitive stops, and leaves the rest unwritten
                return np.exp(_np_log_softmax(a, dim))
    f = _along.get(dim)
    if f is None:
        f = _along[dim] = prim.of(dim)
    return f(x._mstensor())


def _finite(a):
    """Whether all elements are finite, which means that their product with 0 is 0.

    The result may be False for finite elements whose sum overflows.
    """
    n = a.size
    if n <= thresholds.ROW and a.flags.c_contiguous:
        return a.reshape(n).dot(_ZEROS[a.dtype][:n]) == 0
    with quiet():
        total = np.add.reduce(a, axis=None)
        return total - total == 0


def _by_rows(fn):
    """Call fn(*pieces, out) on some rows along a dimension at a time, so that they fit in the cache."""

    def run(*args):
        *arrays, dim = args
        moved = [np.moveaxis(a, dim, -1) for a in arrays]
        n = moved[0].shape[-1]
        flat, step = [np.ascontiguousarray(m).reshape(-1, n) for m in moved], max(thresholds.SOFTMAX_ROWS // n, 1)
        out = np.empty(flat[0].shape, flat[0].dtype)
        for i in range(0, len(out), step):
            fn(*[a[i : i + step] for a in flat], out[i : i + step])
        return np.ascontiguousarray(np.moveaxis(out.reshape(moved[0].shape), -1, dim))

    return run


@_by_rows
def _np_log_softmax(x, out):
    np.subtract(x, x.max(-1, keepdims=True), out=out)
    out -= np.log(total_last(np.exp(out)))[:, None]


def np_softmax(x, dim):
    return _exp_shares(x, x.max(dim, keepdims=True), dim) if x.shape else x - x + 1


def _exp_shares(x, top, dim):
    """Return exp(x - top) divided by its sum along the dimension."""
    out = x - top
    np.exp(out, out=out)
    out /= np.add.reduce(out, dim, keepdims=True)
    return out


def np_safe_softmax(x, dim, dtype):
    """Compute np_softmax, but return zeros for rows in which all elements are -inf."""
    top = x.max(dim, keepdims=True)
    none = top == -np.inf
    if not none.any():
        return _exp_shares(x, top, dim)
    out = _exp_shares(x, np.where(none, 0, top), dim)
    np.copyto(out, 0, where=none)
    return out


FEW_ELEMENTS = 8192
WRONG_ROWS = "rows of -inf, NaN or inf are wrong"
AMONG_FEW = WRONG_ROWS + ", and looking for them takes longer than few elements"
without("_softmax", WRONG_ROWS)
numpy("_softmax", AMONG_FEW, np_softmax, dtypes="f32 f64", when=lambda x, dim: numel(x._shape) <= FEW_ELEMENTS)
numpy(
    "_safe_softmax",
    AMONG_FEW,
    np_safe_softmax,
    dtypes="f32 f64",
    when=lambda x, dim, dtype: x._shape and dtype in (None, x.dtype) and numel(x._shape) <= FEW_ELEMENTS,
)
pyboost_(
    "_softmax",
    "Softmax",
    "rows without a finite maximum are computed by NumPy, because they are wrong",
    _softmax,
    dtypes="f32 f64",
    tensors=True,
)
without("_log_softmax", "LogSoftmax is off by 7e-6 in float32 and computes float64 in float32")
numpy(
    "_log_softmax",
    "LogSoftmax is off by 7e-6, which float32 tolerances of 1.3e-6 see in gradients; composed of primitives it takes "
    "six calls",
    lambda x, dim: _np_log_softmax(x, dim) if x.shape else x - x,
    dtypes="f32 f64",
)
decomposed("_softmax_backward_data", "SoftmaxBackward has no CPU kernel")


@_by_rows
def _np_softmax_backward(g, y, out):
    np.multiply(g, y, out=out)
    np.subtract(g, total_last(out)[:, None], out=out)
    out *= y


@_by_rows
def _np_log_softmax_backward(g, y, out):
    np.exp(y, out=out)
    out *= total_last(g)[:, None]
    np.subtract(g, out, out=out)


numpy(
    "_softmax_backward_data",
    "composed of primitives 2 to 10 times slower at 1M elements",
    above=4096,
    dtypes="f32 f64",
    fn=lambda g, y, dim, dtype: _np_softmax_backward(g, y, dim),
)
without("_log_softmax_backward_data", "the axis is an attribute")
pyboost_(
    "_log_softmax_backward_data",
    "LogSoftmaxGrad",
    "the axis is an attribute",
    lambda p, g, out, dim, dtype: p.of(dim)(out, g) if g.shape else _do("Sub", g, g),
    dtypes="f32",
)
numpy(
    "_log_softmax_backward_data",
    "LogSoftmaxGrad computes float64 in float32",
    dtypes="f64",
    fn=lambda g, y, dim, dtype: _np_log_softmax_backward(g, y, dim) if g.shape else g - g,
)
