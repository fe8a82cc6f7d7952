"""Elementwise operators on CPU.

Small tensors use MindSpore's primitives. Where a primitive is at least three times slower than NumPy at 64k elements,
NumPy is used from `above` elements on. The ratios were measured with MindSpore 2.7.2 on two cores.
"""

import numpy as np

from ....runtime import pyboost
from ....runtime.dtypes import FROM_NP, bool_
from ....runtime.ops.common import T
from ....runtime.ops.misc import adam_numbers
from ... import thresholds
from ...host import COMPLEXES, INTS, UNSIGNED, alias, astype, in_pieces, ms_dtype_of
from ..arrays import number_in, select
from ..backend import BACKEND
from ..table import SPREAD, composite, decomposed, instead, legacy, numpy, pyboost_, update, without

LACKING = "the primitive lacks the dtype"
REST = f"{UNSIGNED} {COMPLEXES}"  # dtypes that PyBoost's elementwise primitives do not, or not all, take
ORDERED = "lt le gt ge maximum minimum _clamp_min _clamp_max atan2 hypot fmax floor ceil trunc _round sign".split()


def _slower(ratio):
    return f"the primitive is {ratio} times slower than NumPy at 64k elements"


_primitives: dict = {}


def _prim(name):
    p = _primitives.get(name)
    if p is None:
        p = _primitives[name] = pyboost.primitive(name)
    return p


def against(ufunc):
    """Wrap ufunc(a, b) for a large array and one number, by applying it in pieces against a row of that number.

    NumPy does not vectorize maximum and minimum otherwise.
    """

    def fn(a, b):
        if b.ndim or a.size < thresholds.ROW:
            return ufunc(a, b)
        row, out = np.full(thresholds.ROW, b, a.dtype), np.empty(a.shape, a.dtype)
        in_pieces(lambda piece, out: ufunc(piece, row[: len(piece)], out=out), a, out, size=len(row))
        return out

    return fn


def _inverse(x):
    """Return 1 / x; np.reciprocal gives NaN for a complex 0, where PyTorch gives infinity."""
    return 1 / x


# ------------------------------------------------------------------------------------------ slow for large tensors
# name: (NumPy's function, elements from which it is used, how much slower the primitive is at 64k elements, dtypes)
for _name, (_fn, _above, _ratio, _dtypes) in {
    "sqrt": (np.sqrt, 32768, 3.4, "f32 f64"),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 8192, 9.5, "f32 f64"),
    "exp": (np.exp, 2048, 17, "f64"),
    "log": (np.log, 2048, 37, "f64"),
    "sin": (np.sin, 1024, 40, "f32 f64"),
    "cos": (np.cos, 1024, 31, "f32 f64"),
    "tan": (np.tan, 1024, 30, "f32 f64"),
    "sinh": (np.sinh, 1024, 42, "f32 f64"),
    "cosh": (np.cosh, 2048, 22, "f32 f64"),
    "asin": (np.arcsin, 1024, 50, "f32 f64"),
    "acos": (np.arccos, 1024, 44, "f32 f64"),
    "atan": (np.arctan, 1024, 26, "f32 f64"),
    "asinh": (np.arcsinh, 1024, 29, "f32 f64"),
    "acosh": (np.arccosh, 1024, 20, "f32 f64"),
    "atanh": (np.arctanh, 1024, 41, "f32 f64"),
    "floor": (np.floor, 4096, 20, "f32 f64"),
    "ceil": (np.ceil, 4096, 20, "f32 f64"),
    "trunc": (np.trunc, 4096, 18, "f32 f64"),
    "_round": (np.rint, 4096, 28, "f32 f64"),
    "square": (np.square, 16384, 9, "f32 f64"),
    "sign": (lambda x: ((x > 0).view(np.int8) - (x < 0).view(np.int8)).astype(x.dtype), 4096, 7, "f32 f64"),
    "reciprocal": (_inverse, 16384, 6, "f32 f64"),
    "neg": (np.negative, 16384, 9, "i32 i64 f32 f64"),
    "abs": (np.abs, 16384, 9, "i32 i64 f32 f64"),
    "sinc": (np.sinc, 4096, 6, "f32 f64"),
    "isfinite": (np.isfinite, 4096, 26, "f32 f64"),
    "isnan": (np.isnan, 8192, 15, "f32 f64"),
    "isinf": (np.isinf, 8192, 15, "f32 f64"),
    "add": (np.add, 2048, 76, INTS),
    "sub": (np.subtract, 2048, 65, INTS),
    "_rsub": (np.subtract, 2048, 65, INTS),
    "mul": (np.multiply, 2048, 48, INTS),
    "_div": (np.divide, 1024, 190, "f32 f64"),
    "eq": (np.equal, 16384, 9.7, f"bool {INTS} f32 f64"),
    "ne": (np.not_equal, 16384, 10, f"bool {INTS} f32 f64"),
    "lt": (np.less, 16384, 10, f"bool {INTS} f32 f64"),
    "le": (np.less_equal, 16384, 10, f"bool {INTS} f32 f64"),
    "gt": (np.greater, 16384, 9, f"bool {INTS} f32 f64"),
    "ge": (np.greater_equal, 16384, 9, f"bool {INTS} f32 f64"),
    "maximum": (against(np.maximum), 4096, 7.7, INTS),
    "minimum": (against(np.minimum), 4096, 7, INTS),
    "_clamp_min": (against(np.maximum), 4096, 7.7, INTS),
    "_clamp_max": (against(np.minimum), 4096, 7, INTS),
    "logical_and": (np.logical_and, 16384, 14, "bool"),
    "logical_or": (np.logical_or, 16384, 14, "bool"),
    "logical_xor": (np.logical_xor, 16384, 14, "bool"),
    "logical_not": (np.logical_not, 16384, 15, "bool"),
    "bitwise_and": (np.bitwise_and, 16384, 18, "bool"),
    "bitwise_or": (np.bitwise_or, 16384, 18, "bool"),
    "bitwise_xor": (np.bitwise_xor, 16384, 18, "bool"),
    "bitwise_not": (np.bitwise_not, 16384, 15, "bool"),
    "atan2": (np.arctan2, 1024, 77, "f32 f64"),
    "hypot": (np.hypot, 8192, 4, "f32 f64"),
    "fmax": (np.fmax, 4096, 27, "f32 f64"),
}.items():
    numpy(_name, _slower(_ratio), _fn, dtypes=_dtypes, above=_above)
    numpy(_name, LACKING, _fn, dtypes=UNSIGNED if _name in ORDERED else REST)
    if _name == "sign":
        numpy("sgn", _slower(_ratio), _fn, dtypes=_dtypes, above=_above)

for _name, _fn in {"add": np.add, "sub": np.subtract, "_rsub": np.subtract, "mul": np.multiply}.items():
    numpy(
        _name,
        "the primitive's loop for broadcasting is 45 times slower; after writing the operand out still twice",
        _fn,
        dtypes="f32 f64",
        above=SPREAD,
    )

# --------------------------------------------------------------------------------- missing, inexact, or without a dtype
for _name, _fn, _error in (
    ("exp", np.exp, "a relative error of 6e-6 (PyTorch 1e-7), and is 17 times slower"),
    ("log", np.log, "a relative error of 6e-2 near 1, and is 37 times slower"),
    ("tanh", np.tanh, "an absolute error of 1e-4, and is 61 times slower"),
):
    without(_name, f"the primitive has {_error} in float32", "f32")
    numpy(_name, f"the primitive has {_error} at 64k elements", _fn, dtypes="f32")
without("_clamp", "ClampTensor loses NaN")
decomposed("_clamp", "Maximum and Minimum keep NaN")
without("expm1 log1p", "no exact digit near 0, which the function is for")
numpy(
    "expm1",
    "Expm1 computes exp(x) - 1: near 0, which the function is for, no digit is exact",
    np.expm1,
    dtypes="f32 f64 c64 c128",
)
numpy(
    "log1p",
    "Log1p computes log(1 + x): near 0, which the function is for, no digit is exact",
    np.log1p,
    dtypes="f32 f64",
)
without("logical_xor", "takes NaN for 0", "c64 c128")
without("reciprocal rsqrt square mul", "infinity or 0 for complex numbers with a NaN part", "c64 c128")
without("sigmoid", "0 where exp(-x) overflows and PyTorch gives NaN", "c64 c128")
for _name, _legacy in {
    "acos": "ACos",
    "asin": "Asin",
    "atan": "Atan",
    "acosh": "Acosh",
    "asinh": "Asinh",
    "atan2": "Atan2",
    "hypot": "Hypot",
    "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor",
    "bitwise_not": "Invert",
    "fmax": "Fmax",
    "lcm": "Lcm",
}.items():
    legacy(_name, _legacy, "PyBoost has no CPU kernel", broadcasts=False)
for _name, (_fn, _dtypes) in {
    "gcd": (np.gcd, "u8 i8"),
    "lcm": (np.lcm, "u8 i8 i16"),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), "c64 c128"),
    "isinf": (np.isinf, f"bool {INTS}"),
    "sign": (np.sign, "u8 i8 i16"),
    "_where": (np.where, "u16 u32 u64 c128"),
    "masked_fill": (lambda x, mask, v: np.where(mask, v, x), "u16 u32 u64 c128"),
}.items():
    numpy(_name, LACKING, _fn, dtypes=_dtypes)
BRANCHES = (
    "Select and MaskedFill branch for every element: 3 to 4 times slower at 64k elements than selection by bits, "
    "9 times at 1M"
)
instead("_where", BRANCHES, select, f"bool {INTS} f16 bf16 f32 f64 c64")
instead("masked_fill", BRANCHES, lambda x, mask, v: select(mask, v, x), f"bool {INTS} f16 bf16 f32 f64 c64")
pyboost_("bitwise_not", "LogicalNot", "BitwiseNot has no CPU kernel", dtypes="bool")
composite("floor ceil trunc _round", why="integers stay as they are", dtypes=INTS)(lambda x: x.clone())
decomposed("frac", "Frac has no CPU kernel", "f32 f64")
decomposed("isneginf", "IsNegInf has no CPU kernel", "f32 f64")
decomposed("isposinf", "no primitive", "f32 f64")
composite("isneginf isposinf", why="integers are finite", dtypes=f"bool {INTS}")(lambda x: T.zeros_like(x, dtype=bool_))
numpy("exp2", "Exp2 has no CPU kernel, and exp(x ln 2) is not exact at whole numbers", np.exp2, dtypes="f32 f64")


@numpy("exp2", "Exp2 has no CPU kernel", dtypes="c64 c128")
def exp2(x):
    scaled = np.empty_like(x)  # each part alone, because a complex product turns infinities into NaN
    scaled.real, scaled.imag = x.real * np.log(2), x.imag * np.log(2)
    return np.exp(scaled)


numpy(
    "log2",
    "Log2 has no CPU kernel, and log(x) / ln 2 is not exact at powers of two",
    np.log2,
    dtypes="f32 f64 c64 c128",
)
numpy(
    "log10",
    "Log10 has no CPU kernel, and log(x) / ln 10 is not exact at powers of ten",
    np.log10,
    dtypes="f32 f64 c64 c128",
)
numpy("fmin", "Fmin has no CPU kernel; -fmax(-a, -b) is wrong for the least integer", np.fmin)
numpy("copysign", "no primitive", np.copysign, dtypes="f32 f64")
numpy("frexp", "no primitive", np.frexp, dtypes="f32 f64")


@numpy("signbit", "no primitive")
def _signbit(x):
    return np.signbit(x) if x.dtype.kind == "f" else x < 0 if x.dtype.kind == "i" else np.zeros(x.shape, bool)


without("bitwise_left_shift bitwise_right_shift", "wrong for counts below 0 or beyond the width")


@numpy("bitwise_left_shift", "LeftShift is wrong for counts below 0 or beyond the width", dtypes=INTS)
def _left_shift(a, b):
    bits = 8 * a.itemsize
    return np.where((b < 0) | (b >= bits), 0, np.left_shift(a, b & bits - 1))


@numpy("bitwise_right_shift", "RightShift is wrong for counts below 0 or beyond the width", dtypes=INTS)
def _right_shift(a, b):
    bits = 8 * a.itemsize
    beyond = (b < 0) | (b >= bits)
    return (
        np.right_shift(a, np.where(beyond, bits - 1, b))
        if a.dtype.kind == "i"
        else np.where(beyond, 0, np.right_shift(a, b & bits - 1))
    )


# ----------------------------------------------------------------------------------------------- NaN, zeros, infinities
def _div(prim, a, b):
    """Divide by Div, except for divisors of zero: Div takes -0 for 0 and gives -inf for NaN / 0."""
    if BACKEND.number_of.get(id(b)):
        return prim(a, b)
    divisors = alias(b)
    if np.count_nonzero(divisors) == divisors.size:
        return prim(a, b)
    return _prim("Select")(
        _prim("Equal")(b, BACKEND.number(0, ms_dtype_of(b))), _prim("Mul")(a, _prim("Reciprocal")(b)), prim(a, b)
    )


without("_div", "NaN / 0 and 1 / -0 are wrong")
pyboost_("_div", "Div", "NaN / 0 and 1 / -0 are wrong", _div, dtypes="f32 f64")


LOST = "the primitive loses a NaN in its first operand, and is 7 times slower at 64k elements"
for _names, _fn in (("maximum _clamp_min", np.maximum), ("minimum _clamp_max", np.minimum)):
    without(_names, LOST, "f32 f64")
    numpy(_names, LOST, against(_fn), dtypes="f32 f64")
legacy("nextafter", "NextAfter", "no PyBoost primitive of that name", dtypes="f64", broadcasts=False)
numpy("nextafter", "NextAfter does not leave infinity in float32", np.nextafter, dtypes="f32")
legacy("heaviside", "Heaviside", "no PyBoost primitive of that name", dtypes=INTS, broadcasts=False)
numpy(
    "heaviside",
    "Heaviside takes small floats for 0, and lacks bool",
    lambda x, v: np.where(x == 0, v, x > 0),
    dtypes="bool f32 f64",
)


@numpy("nextafter", "NextAfter lacks the half types", dtypes="f16 bf16")
def _half_nextafter(x, y):
    """Step the integer formed by the bits of a half number by one."""
    wide_x, wide_y = x.astype(np.float32), y.astype(np.float32)
    bits = x.view(np.int16).astype(np.int32)
    step = np.where(bits < 0, -(bits & 0x7FFF), bits) + np.where(wide_y > wide_x, 1, -1)
    out = np.where(step < 0, -step | 0x8000, step).astype(np.uint16).view(x.dtype)
    return np.where(np.isnan(wide_x) | np.isnan(wide_y), np.array(np.nan, x.dtype), np.where(wide_y == wide_x, y, out))


# ------------------------------------------------------------------------------------------------ division of integers
def _nonzero(b):
    if not b.all():
        raise RuntimeError("ZeroDivisionError")


def _checked(prim, a, b):
    if not BACKEND.number_of.get(id(b)):
        _nonzero(alias(b))
    return prim(a, b)


without("floor_divide", "infinite and zero divisors of floats are wrong; integers are checked for zero first")
pyboost_("floor_divide", "FloorDiv", "division by zero must raise before the kernel", _checked, dtypes="u8 i8 i16 i32")
numpy("floor_divide", "FloorDiv is wrong for infinite and zero divisors", np.floor_divide, dtypes="f32 f64")
legacy(
    "remainder",
    "FloorMod",
    "RemainderTensorTensor has no CPU kernel",
    _checked,
    dtypes="u8 i8 i16 i32",
    broadcasts=False,
)
numpy(
    "remainder",
    "FloorMod gives NaN for infinite divisors",
    lambda a, b: np.where((r := np.remainder(a, b)) == 0, np.copysign(r, a), r),
    dtypes="f32 f64",
)
legacy("fmod", "TruncateMod", "FmodTensor has no CPU kernel", dtypes="f16 f32 f64", broadcasts=False)
legacy("fmod", "TruncateMod", "FmodTensor has no CPU kernel", _checked, dtypes="u8 i8 i32", broadcasts=False)


def _exactly(fn):
    """Wrap an integer operator to raise PyTorch's error for a zero divisor."""

    def kernel(a, b, *mode):
        _nonzero(b)
        return fn(a, b, *mode)

    return kernel


numpy("fmod", "TruncateMod lacks the dtype", _exactly(np.fmod), dtypes="i16 i64")
for _name, _fn in {
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "_div_round": lambda a, b, mode: (
        np.floor_divide(a, b) if mode == "floor" else np.floor_divide(a - np.fmod(a, b), b)
    ),
}.items():
    numpy(_name, "the primitives compute int64 in floating point", _exactly(_fn), dtypes="i64")


without("_div_round", "DivMod is inexact for int64, and zero divisors must raise before the kernel")
legacy(
    "_div_round",
    "TruncateDiv",
    "DivMod is inexact for int64",
    dtypes="u8 i8 i16 i32",
    broadcasts=False,
    fn=lambda p, a, b, mode: _checked(p if mode == "trunc" else _prim("FloorDiv"), a, b),
)
decomposed("_div_round", "DivMod is wrong for zero and infinite divisors", "f32 f64")
decomposed("_trunc_quotient", "every step in the half type", "f16 bf16")


# ------------------------------------------------------------------------------------------------ powers
_POWERS = {
    2: lambda x: _prim("Square")(x),
    3: lambda x: _prim("Mul")(x, _prim("Square")(x)),
    0.5: lambda x: _prim("Sqrt")(x),
    -0.5: lambda x: _prim("Rsqrt")(x),
    -1: lambda x: _prim("Reciprocal")(x),
}
_NP_POWERS = {
    2: np.square,
    3: lambda x: x * np.square(x),
    0.5: np.sqrt,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1: _inverse,
    -2: lambda x: 1 / np.square(x),
}


def _power(prim, x, e):
    """Compute integer and half-integer powers by the primitives that PyTorch's kernel uses too.

    Pow is 10 to 20 times slower.
    """
    simple = _POWERS.get(e)
    return prim(x, BACKEND.number(e, ms_dtype_of(x))) if simple is None else simple(x)


def _np_power(x, e):
    if not isinstance(e, np.ndarray):
        return (
            _NP_POWERS[e](x) if x.dtype.kind in "fc" and e in _NP_POWERS else np.power(x, np.array(e).astype(x.dtype))
        )
    if e.dtype.kind == "i" and (e < 0).any():
        return np.where(
            e < 0, np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (e & 1), 0)), np.power(x, np.maximum(e, 0))
        )
    return np.power(x, e)


without("_pow.Tensor_Tensor", "computes integers in floating point", INTS)
without("_pow.Tensor_Scalar", "whole and half powers go to cheaper primitives, integers overflow as in C")
pyboost_(
    "_pow.Tensor_Scalar", "Pow", "PowTensorScalar is 10 to 20 times slower for whole powers", _power, dtypes="f32 f64"
)
numpy("_pow.Tensor_Scalar", _slower(9), _np_power, dtypes="f32 f64", above=16384)
numpy(
    "_pow.Tensor_Scalar _pow.Tensor_Tensor",
    "Pow computes integers in floating point, and loses NaN in complex",
    _np_power,
    dtypes=f"{INTS} {COMPLEXES}",
)


# ----------------------------------------------------------------------------------------- several operands, attributes
without("lerp", "not exact at weight 1")


@numpy("lerp", "Lerp is not exact at weight 1, and nine times slower at 64k elements", dtypes="f32 f64 c64 c128")
def _lerp(a, b, w):
    if w.size == 1:
        return a + w * (b - a) if abs(w.item()) < 0.5 else b - (b - a) * (1 - w)
    return np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w))


numpy(
    "addcmul",
    "AddcmulExt has no CPU kernel, Addcmul is 21 times slower at 64k elements",
    lambda x, a, b, v: x + (a * b if v == 1 else number_in(x, v) * a * b),
)
numpy(
    "addcdiv",
    "AddcdivExt has no CPU kernel, Addcdiv is 41 times slower at 64k elements",
    lambda x, a, b, v: x + (a / b if v == 1 else number_in(x, v) * a / b),
)
# in-place operators, because MindSpore's Inplace primitives have no CPU kernels
_PASS = "no Inplace primitive has a CPU kernel; the primitive and a copy take 11 times as long at 64k elements"


def _in_blocks(fn):
    """Call fn(out, *others) piece by piece, so that its temporaries stay in the cache."""

    def run(out, *others):
        if out.size <= _BLOCK or not all(a.flags.c_contiguous for a in (out, *others) if a.ndim):
            return fn(out, *others)
        in_pieces(fn, out, *others, size=_BLOCK)

    return run


_BLOCK = 16384
for _name, _fn in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "_div": np.divide}.items():
    _scaled = _in_blocks(lambda out, b, alpha, fn=_fn: fn(out, b * alpha, out))
    update(_name, _PASS)(
        lambda out, b, alpha=1, fn=_fn, scaled=_scaled: fn(out, b, out) if alpha == 1 else scaled(out, b, alpha)
    )


@update("addcmul", _PASS)
@_in_blocks
def _add_product(out, a, b, v):
    out += a * b if v == 1 else number_in(out, v) * a * b


@update("addcdiv", _PASS)
@_in_blocks
def _add_quotient(out, a, b, v):
    out += a / b if v == 1 else number_in(out, v) * a / b


@_in_blocks  # the formula of `_adam_` in runtime/ops/misc.py, on pieces that fit in the processor's cache
def _adam(out, grad, average, square, weight1, beta2, weight2, root, eps, step_size, keep):
    out *= keep
    _approach(average, grad, weight1)
    square *= beta2
    square += weight2 * grad * grad
    below = np.sqrt(square)
    below /= root
    below += eps
    quotient = average * -step_size
    quotient /= below
    out += quotient


PACKED = 2048  # largest size of parameters that are concatenated, so that a dozen calls update all of them


def _together(step, rows, written):
    """Call step(*row) for each row of arrays of equal size.

    Small rows are concatenated and computed in one call; the columns `written` are then copied back.
    """
    small = [row for row in rows if row[0].size <= PACKED and row[0].flags.c_contiguous]
    if len(small) > 1:
        rows = [row for row in rows if row[0].size > PACKED or not row[0].flags.c_contiguous]
        whole = [np.concatenate(column, None) for column in zip(*small)]
        step(*whole)
    else:
        small = []
    for row in rows:
        step(*row)
    start = 0
    for row in small:
        end = start + row[0].size
        for column in written:
            row[column][...] = whole[column][start:end].reshape(row[column].shape)
        start = end


@update(
    "_adam_step_", "one pass over parameters instead of seven over each: a fifth of the time from 64 to 64k elements"
)
def _adam_step(params, grads, averages, squares, counts, lr, beta1, beta2, decay, eps, decoupled, maximize):
    for count in counts:
        count += 1
    steps = [float(count) for count in counts]
    one = params[0].dtype.type
    for step in set(steps):
        numbers = tuple(map(one, adam_numbers(step, lr, beta1, beta2, eps, decay, decoupled)))

        def update_one(p, grad, average, square, numbers=numbers):
            if maximize:
                grad = -grad
            if decay and not decoupled:
                grad = grad + p * one(decay)
            _adam(p, grad, average, square, *numbers)

        _together(
            update_one, [row[:4] for row in zip(params, grads, averages, squares, steps) if row[4] == step], (0, 2, 3)
        )


@_in_blocks
def _sgd(p, grad, buffer, size, momentum, keep, decay, nesterov):
    if decay:
        grad = grad + p * decay
    buffer *= momentum
    buffer += grad if keep == 1 else grad * keep
    p -= (grad + buffer * momentum if nesterov else buffer) * size


@update("_sgd_step_", "one pass over parameters instead of three over each, in pieces that stay in the cache")
def _sgd_step(params, grads, buffers, lr, momentum, dampening, decay, nesterov, maximize):
    numbers = tuple(map(params[0].dtype.type, (lr, momentum, 1 - dampening, decay, nesterov)))
    _together(
        lambda p, grad, buffer: _sgd(p, -grad if maximize else grad, buffer, *numbers),
        list(zip(params, grads, buffers)),
        (0, 2),
    )


def _approach(out, b, w):
    if w.ndim:
        out[...] = _lerp(out, b, w)
    elif abs(w) < 0.5:
        out += w * (b - out)
    else:
        out[...] = b - (b - out) * (1 - w)


update("lerp", _PASS)(_in_blocks(_approach))
without("_isclose _nan_to_num _round.decimals", "the numbers are attributes: a primitive for each")


@numpy("_isclose", "IsClose takes the tolerances as attributes, and no integers")
def _isclose(a, b, rtol, atol, equal_nan):
    close = a == b
    if equal_nan:
        close |= (a != a) & (b != b)
    if rtol == 0 and atol == 0:
        return close
    if a.dtype.kind not in "fc":
        return close | (np.abs(a.astype(np.int64) - b.astype(np.int64)) <= atol + np.abs(rtol * b.astype(np.float64)))
    return close | np.isfinite(a - b) & (np.abs(a - b) <= atol + np.abs(rtol * b))


@numpy("_nan_to_num", "NanToNum takes the numbers as attributes, and lacks float64", dtypes="f32 f64 c64 c128")
def _nan_to_num(x, nan, posinf, neginf):
    if x.dtype.kind == "c":
        return np.stack([_nan_to_num(part, nan, posinf, neginf) for part in (x.real, x.imag)], -1).view(x.dtype)[..., 0]
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


decomposed("logit", "Logit takes eps as an attribute", "f32 f64")


@numpy("_round.decimals", "Round takes no decimals on CPU", dtypes="f32 f64")
def _round_decimals(x, n):
    ten = x.dtype.type(10.0 ** abs(n))
    return np.rint(x * ten) / ten if n > 0 else np.rint(x / ten) * ten


# ------------------------------------------------------------------------------------------------ complex numbers
without("polar", "does not broadcast")
pyboost_("polar", "Polar", "does not broadcast", dtypes="f32 f64", broadcasts=False)
legacy("angle", "Angle", "PyBoost has no CPU kernel", dtypes="c64")
legacy("_conj", "Conj", "PyBoost has no CPU kernel", dtypes="c64")
numpy("_conj", "Conj lacks complex128", np.conj, dtypes="c128")


@numpy("angle", "Angle takes complex64 only", dtypes="f32 f64 c128")
def _angle(x):
    return np.angle(x) if x.dtype.kind == "c" else np.where(x != x, x, np.where(x < 0, x.dtype.type(np.pi), 0))


numpy("sgn", "Sign lacks the dtype", np.sign, dtypes="u8 i8 i16")


# ------------------------------------------------------------------------------------------------ eight-bit floats
EIGHT_BITS = "f8_e4m3fn f8_e5m2 f8_e4m3fnuz f8_e5m2fnuz"  # PyTorch has these operators alone for them


def _of_eight_bits(fn):
    """Return an elementwise function on arrays of eight-bit floats, which computes in float32."""

    def kernel(*arrays):
        r = fn(*[a.astype(np.float32) for a in arrays])
        return astype(r, FROM_NP[arrays[0].dtype]) if r.dtype == np.float32 else r

    return kernel


for _name, _fn in {"eq": np.equal, "ne": np.not_equal, "isnan": np.isnan, "abs": np.abs, "mul": np.multiply}.items():
    numpy(_name, "no primitive takes eight-bit floats", _of_eight_bits(_fn), dtypes=EIGHT_BITS)
