"""Elementwise arithmetic, comparisons and mathematical functions."""

import cmath
import math

from ..call.autocast import FLOAT32, FLOAT32_ON_ACCELERATORS, WIDEST_ON_ACCELERATORS
from ..call.geometry import preserved_strides
from ..call.out import FOUND_DTYPE, SAME_SCALAR_TYPE, Out
from ..call.promotion import ALWAYS_BOOL, BOOL_TO_LONG, COMPLEX_TO_FLOAT, DEFAULT, INT_TO_FLOAT, promoted, result_dtype
from ..classes import NUMBERS
from ..context import CONTEXT
from ..declare import composite, op
from ..device import HOST
from ..signatures import mismatch
from ..warn import warn_once
from .common import T, Tensor, check_fill, check_filling_mask, check_number, conj, dt, numel, only
from .creation import OBJECT_DTYPE

LN2, LN10 = math.log(2), math.log(10)
HIDDEN = {"method": False, "inplace": False}
_SAME = lambda common, *args: (common, common)  # noqa: E731


def dtype_of(x):
    return x.dtype if isinstance(x, Tensor) else dt.scalar_dtype(x)


def _by_number(name, argument, number, tensor):
    """Return the naming function of a node whose number depends on whether the argument is a number or a tensor."""
    return lambda given, shapes: f"{name}Backward{number if shapes[argument] is None else tensor}"


def zero(g):
    """Return the gradient of a function that is constant almost everywhere."""
    return T.zeros_like(g)


def no_derivative(message, error=NotImplementedError):
    """Return a derivative that raises an error, for what PyTorch records but cannot differentiate."""

    def formula(g):
        raise error(message)

    return formula


def refuse(kind, error=NotImplementedError, **messages):
    """Return a promotion that raises errors for categories of dtypes: refuse(DEFAULT, complex="...", bool="...")."""
    barred = {("bool", "int", "float", "complex").index(k): m for k, m in messages.items()}

    def promote(common, *args):
        if common.category in barred:
            raise error(barred[common.category].replace("DTYPE", f"'{dt.scalar_name(common)}'"))
        return promoted(kind, common)

    return promote


def cpu(name, *categories):
    """DEFAULT promotion that raises the errors of PyTorch's CPU kernels for the given categories of dtypes."""
    return refuse(DEFAULT, **{c: f'"{name}" not implemented for DTYPE' for c in categories})


# ------------------------------------------------------------------------------------------------ arithmetic
def _no_bool_sub(common, self, other, *rest):
    if all(dtype_of(x) is dt.bool_ for x in (self, other)):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(isinstance(x, Tensor) and x.dtype is dt.bool_ or x.__class__ is bool for x in (self, other)):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    return common, common


_SCALED = {dt.float32, dt.float16, dt.bfloat16}


def _fold_alpha(self, other, alpha):
    """Replace other by other * alpha, so that the kernel can use alpha=1.

    Not for tensors of float32 and the half types: they have kernels that scale and add with one rounding, as PyTorch
    does. The kernels take alpha in float32, so it stays folded for float64.
    """
    if alpha == 1 and not isinstance(alpha, bool):
        return self, other, 1
    d = dt.promote_types(dtype_of(self), dtype_of(other)) if isinstance(other, Tensor) else dtype_of(self)
    if isinstance(alpha, bool) and d is not dt.bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and d.category < dt.FLOAT:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and d.category < dt.COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if d is dt.bool_ and isinstance(other, (Tensor, bool)):  # for bool, any alpha except 0 acts as True
        return self, other & bool(alpha), 1
    if d in _SCALED and isinstance(self, Tensor) and isinstance(other, Tensor):
        return self, other, float(d.np.type(alpha))
    return self, _in_result(other, self) * alpha, 1


def _in_result(t, other):
    """Cast a tensor to the common dtype of both operands before it is scaled: 2 * 250 does not fit in uint8."""
    if not isinstance(t, Tensor):
        return t
    d = result_dtype((t, other))
    return T._to_copy(t, d) if t.dtype is not d and dt.promote_types(t.dtype, d) is d else t


_add_grads = {"self": lambda g: g, "other": lambda g, alpha: g if alpha == 1 else g * alpha.conjugate()}
_ADD = dict(numbers_between=True, promote=DEFAULT, prepare=_fold_alpha, derivative=_add_grads, saves_given=True)
_WITH_ALPHA = {
    name: op(f"_{name}_scaled(Tensor self, Tensor other, Scalar alpha) -> Tensor", primitive, promote=promote, **HIDDEN)
    for name, primitive, promote in (("add", "AddExt", DEFAULT), ("sub", "SubExt", _no_bool_sub))
}
op(
    "add(Tensor|Scalar self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
    "Add",
    numbers=True,
    scaled=_WITH_ALPHA["add"],
    **_ADD,
)


def _fold_sub_alpha(self, other, alpha):
    if alpha != 1:  # checked first, because scaling turns a bool number into an int
        _no_bool_sub(None, self, other)
    return _fold_alpha(self, other, alpha)


_sub_grads = {"self": lambda g: g, "other": lambda g, alpha: -g if alpha == 1 else g * -alpha.conjugate()}
_SUB = dict(
    numbers_between=True, promote=_no_bool_sub, prepare=_fold_sub_alpha, derivative=_sub_grads, saves_given=True
)
op(
    "sub(Tensor|Scalar self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
    "Sub",
    numbers=True,
    scaled=_WITH_ALPHA["sub"],
    alias=("subtract",),
    **_SUB,
)
_rsub = op(
    "_rsub(Tensor|Scalar self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
    "Sub",
    scaled=_WITH_ALPHA["sub"],
    **HIDDEN,
    **_SUB,
    aten="sub.Tensor",
    node=_by_number("Rsub", "self", 1, 0),
)


@composite("rsub(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor", method=False, out=False)
def rsub(self, other, alpha):
    return _rsub.call(other, self, alpha)


_mul_grads = {"self": lambda g, other: g * conj(other), "other": lambda g, self: g * conj(self)}
op(
    "mul(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    "Mul",
    numbers=True,
    promote=DEFAULT,
    alias=("multiply",),
    derivative=_mul_grads,
    exact=1,
    wraps=True,
)
_div_grads = {"self": lambda g, other: g / conj(other), "other": lambda g, self, other: -g * conj(self / other / other)}
_div = op(
    "_div(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    "Div",
    numbers=True,
    promote=INT_TO_FLOAT,
    derivative=_div_grads,
    exact=1,
    wraps=True,
)
_floor_divide_grads = {
    k: no_derivative("derivative for aten::floor_divide is not implemented", RuntimeError) for k in ("self", "other")
}
_FLOOR_DIVIDE = dict(promote=cpu("div_floor_cpu", "bool", "complex"), derivative=_floor_divide_grads)
_floor_divide = op(
    "floor_divide(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    "FloorDiv",
    numbers=True,
    exact=1,
    sparse="coo coalesced",
    no_forward="aten::floor_divide",
    **_FLOOR_DIVIDE,
)
_div_round_promote = lambda common, self, other, mode: cpu(f"div_{mode}_cpu", "bool", "complex")(common)
_DIV_ROUND = dict(
    promote=_div_round_promote,
    derivative={"self": zero, "other": zero},
    numbers=True,
    method=False,
    inplace=False,
    exact=1,
)
_DIV_ROUND_NAMES = dict(aten="div.Tensor_mode", node="DivBackward2")
_div_round = op(
    "_div_round(Tensor|Scalar self, Tensor|Scalar other, str rounding_mode) -> Tensor",
    "DivMod",
    **_DIV_ROUND,
    **_DIV_ROUND_NAMES,
)


# PyTorch rounds a quotient of half types to the type before it truncates it.
_trunc_quotient = op(
    "_trunc_quotient(Tensor self, Tensor other) -> Tensor",
    promote=DEFAULT,
    opmath=False,
    **HIDDEN,
    derivative={"self": zero, "other": zero},
)


@composite(
    "div(Tensor|Scalar self, Tensor|Scalar other, *, str? rounding_mode=None) -> Tensor",
    alias=("divide",),
    inplace=True,
    operator=_div,
    pointwise=True,
    sparse="coo values",
)
def div(self, other, rounding_mode=None):
    if rounding_mode is None:
        return _div.call(self, other)
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    if (
        rounding_mode == "trunc"
        and isinstance(other, Tensor)
        and other._shape
        and result_dtype((self, other)) in dt.OPMATH
    ):
        return _trunc_quotient.call(self, other)
    return _div_round.call(self, other, rounding_mode)


composite(
    "true_divide(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    inplace=True,
    operator=_div,
    pointwise=True,
    sparse="coo values",
)(lambda self, other: _div.call(self, other))
_remainder_promote = cpu("remainder_cpu", "bool", "complex")
_remainder_grads = {"self": lambda g: g, "other": lambda g, self, other: -g * _div_round.call(self, other, "floor")}
_REMAINDER = dict(promote=_remainder_promote, derivative=_remainder_grads, node=_by_number("Remainder", "other", 0, 1))
op("remainder(Tensor|Scalar self, Tensor|Scalar other) -> Tensor", "RemainderTensorTensor", **_REMAINDER)
_fmod_grads = {"self": lambda g: g, "other": lambda g, self, other: -g * T.div(self, other, rounding_mode="trunc")}
_FMOD = dict(promote=cpu("fmod_cpu", "bool", "complex"), derivative=_fmod_grads, node=_by_number("Fmod", "other", 0, 1))
op("fmod(Tensor self, Tensor|Scalar other) -> Tensor", "FmodTensor", **_FMOD)
op(
    "gcd(Tensor self, Tensor other) -> Tensor",
    "Gcd",
    promote=cpu("gcd_cpu", "bool", "float", "complex"),
    inplace_function=True,
)
op(
    "lcm(Tensor self, Tensor other) -> Tensor",
    "Lcm",
    promote=cpu("lcm_cpu", "bool", "float", "complex"),
    inplace_function=True,
)
_neg_promote = refuse(
    DEFAULT,
    RuntimeError,
    bool="Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
    "use the `~` or `logical_not()` operator instead.",
)
_NEG = dict(derivative=lambda g: -g, promote=_neg_promote)
op(
    "neg(Tensor self) -> Tensor",
    "Neg",
    alias=("negative",),
    out=FOUND_DTYPE,
    inplace_function=True,
    sparse="values",
    **_NEG,
)


@composite("positive(Tensor self) -> Tensor", out=False, sparse="values")
def positive(self):
    if self.dtype is dt.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


_ABS = dict(promote=COMPLEX_TO_FLOAT, derivative=lambda g, self: g * T.sgn(self))
op("abs(Tensor self) -> Tensor", "Abs", alias=("absolute",), inplace_function=("abs_",), sparse="coalesced", **_ABS)
_RECIPROCAL = dict(promote=INT_TO_FLOAT, derivative=lambda g, out: -g * conj(out * out))
op(
    "reciprocal(Tensor self) -> Tensor",
    "Reciprocal",
    inplace_function=True,
    autocast=FLOAT32_ON_ACCELERATORS,
    **_RECIPROCAL,
)
op(
    "square(Tensor self) -> Tensor",
    "Square",
    node="PowBackward0",
    promote=BOOL_TO_LONG,
    derivative=lambda g, self: g * conj(self * 2),
    inplace_function=True,
    sparse="coo coalesced",
)
op(
    "sqrt(Tensor self) -> Tensor",
    "Sqrt",
    promote=INT_TO_FLOAT,
    derivative=lambda g, out: g / conj(out * 2),
    inplace_function=True,
    sparse="coalesced",
)
_rsqrt_grad = lambda g, out: g * -0.5 * conj(out * out * out)
op(
    "rsqrt(Tensor self) -> Tensor",
    "Rsqrt",
    promote=INT_TO_FLOAT,
    derivative=_rsqrt_grad,
    inplace_function=True,
    autocast=FLOAT32_ON_ACCELERATORS,
)


# ------------------------------------------------------------------------------------------------ pow
def _pow_promote(common, self, exponent):
    if common is dt.bool_ and isinstance(exponent, Tensor):
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if common.category == dt.INT and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if not isinstance(exponent, Tensor):
        check_number(exponent, common)
    return common, common


# constant_attributes: the values of the numbers change neither the promotion nor the checks.
_POW_TENSOR_SCALAR = dict(
    promote=lambda common, self, e: _pow_promote(result_dtype((self, e)), self, e),
    derivative=lambda g, self, exponent: (
        zero(g)
        if exponent == 0
        else g * conj(self * exponent if exponent == 2 else T.pow(self, exponent - 1) * exponent)
    ),
    constant_attributes=True,
)
_pow_scalar = op(
    "_pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", "PowTensorScalar", **HIDDEN, **_POW_TENSOR_SCALAR
)
_pow_grads = {
    "self": lambda g, self, exponent: T.where(exponent == 0, 0, g * conj(exponent * T.pow(self, exponent - 1))),
    "exponent": lambda g, self, exponent, out: _grad_exponent(g, self, exponent, out),
}
_pow = op(
    "_pow.Tensor_Tensor(Tensor|Scalar self, Tensor exponent) -> Tensor",
    "Pow",
    promote=_pow_promote,
    **HIDDEN,
    derivative=_pow_grads,
    node=_by_number("Pow", "self", 2, 1),
)


def _grad_exponent(g, self, exponent, out):
    if not isinstance(self, Tensor):
        log = (
            -math.inf
            if self == 0
            else cmath.log(self)
            if isinstance(self, complex) or self > 0 or out.dtype.is_complex
            else math.nan
        )
        grad = g * conj(out * (log.real if not out.dtype.is_complex and isinstance(log, complex) else log))
        return T.where(exponent >= 0, 0, grad) if self == 0 else grad
    at_zero = self == 0 if out.dtype.is_complex else (self == 0) & (exponent >= 0)
    return T.where(at_zero, 0, g * conj(out * (self.to(out.dtype) if out.dtype.is_complex else self).log()))


@composite(
    "pow(Tensor|Scalar self, Tensor|Scalar exponent) -> Tensor",
    inplace=True,
    pointwise=True,
    autocast=FLOAT32_ON_ACCELERATORS,
)
def pow_(self, exponent):
    if isinstance(self, Tensor) and exponent.__class__ in NUMBERS and exponent.__class__ is not complex:
        if exponent.__class__ is float and self.dtype in dt.OPMATH:
            exponent = T.full((), exponent, dtype=self.dtype).item()
        return _pow_scalar.call(self, exponent)
    if not isinstance(self, Tensor) and isinstance(exponent, Tensor):
        exponent = exponent.contiguous()  # PyTorch's result of number ** tensor is contiguous
    return _pow.call(self, T.full((), exponent) if exponent.__class__ is complex else exponent)


@composite("Tensor.float_power_(Tensor self, Tensor|Scalar exponent) -> Tensor")
def float_power_(self, exponent):
    d = dt.complex128 if self.dtype.is_complex or dtype_of(exponent).is_complex else dt.float64
    if self.dtype is not d:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dt.scalar_name(self.dtype)} but the operation's result "
            f"requires dtype {dt.scalar_name(d)}"
        )
    return self.pow_(exponent)


@composite("float_power(Tensor|Scalar self, Tensor|Scalar exponent) -> Tensor", out=SAME_SCALAR_TYPE)
def float_power(self, exponent):
    d = dt.complex128 if any(dtype_of(x).is_complex for x in (self, exponent)) else dt.float64
    return T.pow(
        *[x.to(d) if isinstance(x, Tensor) else complex(x) if d.is_complex else float(x) for x in (self, exponent)]
    )


@composite(
    "ldexp(Tensor self, Tensor other) -> Tensor",
    inplace=True,
    inplace_function=True,
    derivative={"self": lambda g, other: g * conj(T.pow(2.0, other)), "other": lambda g, out: g * conj(out) * LN2},
)
def ldexp(self, other):
    if self.dtype.category == dt.FLOAT and other.dtype.category < dt.FLOAT:
        if other.dtype is dt.bool_:
            raise NotImplementedError("\"ldexp\" not implemented for 'Bool'")
        other = other.to(self.dtype)
    return self * T.pow(2.0, other)


# ---------------------------------------------------------------------------------------------- comparison, logic, bits
for _name, (_prim, *_alias) in {
    "eq": ("Equal",),
    "ne": ("NotEqual", "not_equal"),
    "lt": ("Less", "less"),
    "le": ("LessEqual", "less_equal"),
    "gt": ("Greater", "greater"),
    "ge": ("GreaterEqual", "greater_equal"),
}.items():
    op(
        f"{_name}(Tensor self, Tensor|Scalar other) -> Tensor",
        _prim,
        promote=ALWAYS_BOOL
        if _name in ("eq", "ne")
        else refuse(ALWAYS_BOOL, complex=f'"{_name}_cpu" not implemented for DTYPE'),
        alias=tuple(_alias),
        constant=True,
    )
for _name in ("and", "or", "xor"):
    op(f"logical_{_name}(Tensor self, Tensor other) -> Tensor", f"Logical{_name.title()}", promote=ALWAYS_BOOL)
    _promote = cpu(f"bitwise_{_name}_cpu", "float", "complex")
    op(
        f"bitwise_{_name}(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
        f"Bitwise{_name.title()}Tensor",
        promote=_promote,
    )
op("logical_not(Tensor self) -> Tensor", "LogicalNot", promote=ALWAYS_BOOL)
op("bitwise_not(Tensor self) -> Tensor", "BitwiseNot", promote=cpu("bitwise_not_cpu", "float", "complex"))
op(
    "bitwise_left_shift(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    "LeftShift",
    promote=cpu("lshift_cpu", "bool", "float", "complex"),
)
op(
    "bitwise_right_shift(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    "RightShift",
    promote=cpu("rshift_cpu", "bool", "float", "complex"),
)
op(
    "isnan(Tensor self) -> Tensor",
    "NotEqual",
    promote=ALWAYS_BOOL,
    call=lambda p, x: p(x, x),
    inplace=False,
    out=False,
    sparse="coalesced",
)
op("isinf(Tensor self) -> Tensor", "IsInf", promote=ALWAYS_BOOL, inplace=False, out=False, sparse="coalesced")
op("isfinite(Tensor self) -> Tensor", "IsFinite", promote=ALWAYS_BOOL, inplace=False, out=False)
_ONLY_BOOL = Out("{name} does not support non-boolean outputs.")
_isneginf_promote = refuse(ALWAYS_BOOL, RuntimeError, complex="isneginf does not support complex inputs.")
op(
    "isneginf(Tensor self) -> Tensor",
    "IsNegInf",
    inplace=False,
    promote=_isneginf_promote,
    out=_ONLY_BOOL,
    sparse="coalesced",
)
_isposinf_promote = refuse(ALWAYS_BOOL, RuntimeError, complex="isposinf does not support complex inputs.")
op(
    "isposinf(Tensor self) -> Tensor",
    "IsPosInf",
    inplace=False,
    promote=_isposinf_promote,
    out=_ONLY_BOOL,
    sparse="coalesced",
)
_signbit_promote = refuse(ALWAYS_BOOL, complex="signbit is not implemented for complex tensors.")
op("signbit(Tensor self) -> Tensor", None, inplace=False, promote=_signbit_promote, out=_ONLY_BOOL, sparse="coalesced")


def _same_dtype(common, self, other, *rest):
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{dt.scalar_name(self.dtype)} did not match {dt.scalar_name(other.dtype)}")
    return common, dt.bool_


_isclose_call = lambda p, a, b, rtol, atol, equal_nan: p.of(rtol, atol, equal_nan)(a, b)
op(
    "_isclose(Tensor self, Tensor other, float rtol, float atol, bool equal_nan) -> Tensor",
    "IsClose",
    promote=_same_dtype,
    call=_isclose_call,
    **HIDDEN,
)


@composite(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor", out=False
)
def isclose(self, other, rtol, atol, equal_nan):
    for k, v in (("rtol", rtol), ("atol", atol)):
        if v < 0:
            raise RuntimeError(f"{k} must be greater than or equal to zero, but got {v}")
    return T._isclose(self, other, rtol, atol, equal_nan)


@composite("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool")
def allclose(self, other, rtol, atol, equal_nan):
    return T.isclose(self, other, rtol, atol, equal_nan).all().item()


@composite("equal(Tensor self, Tensor other) -> bool")
def equal(self, other):
    if self.device is not other.device:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{self.device} and {other.device}! (when checking argument in method torch.equal)"
        )
    return (
        self._shape == other._shape
        and (self.dtype is other.dtype or dt.promote_types(self.dtype, other.dtype) is not None)
        and (numel(self._shape) == 0 or T.eq(self, other).all().item())
    )


composite("isreal(Tensor self) -> Tensor", out=False)(
    lambda self: T.imag(self) == 0 if self.dtype.is_complex else T.ones_like(self, dtype=dt.bool_)
)


# ------------------------------------------------------------------------------------------------ rounding, signs
for _name in ("floor", "ceil", "trunc"):
    _promote = refuse(
        DEFAULT,
        complex=f"{_name} is not supported for complex inputs",
        bool=f'"{_name}_vml_cpu" not implemented for DTYPE',
    )
    _ROUNDING = dict(
        derivative=zero, alias=("fix",) if _name == "trunc" else (), out=FOUND_DTYPE, inplace_function=True
    )
    op(f"{_name}(Tensor self) -> Tensor", _name.title(), promote=_promote, sparse="coalesced", **_ROUNDING)
op(
    "frac(Tensor self) -> Tensor",
    "Frac",
    derivative=lambda g: g,
    promote=cpu("frac_cpu", "bool", "int", "complex"),
    out=FOUND_DTYPE,
    inplace_function=True,
    sparse="coalesced",
)
_round = op(
    "_round(Tensor self) -> Tensor",
    "Round",
    derivative=zero,
    **HIDDEN,
    promote=cpu("round_vml_cpu", "bool", "complex"),
    out=FOUND_DTYPE,
)


@composite(
    "round(Tensor self, *, int? decimals=None) -> Tensor",
    alias=("special.round",),
    inplace=True,
    pointwise=True,
    out=FOUND_DTYPE,
    inplace_function=True,
    sparse="coalesced",
)
def round_(self, decimals):
    if decimals is not None:
        only("round_cpu" if decimals else "round_vml_cpu", self, dt.FLOAT, dt.COMPLEX)
    return _round_decimals.call(self, decimals) if decimals else _round.call(self)


_round_decimals = op(
    "_round.decimals(Tensor self, int decimals) -> Tensor",
    "Round",
    promote=DEFAULT,
    derivative=zero,
    **HIDDEN,
    out=FOUND_DTYPE,
    node="RoundBackward1",
)
_sign_promote = refuse(
    DEFAULT,
    complex="Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
)
op("sign(Tensor self) -> Tensor", "Sign", derivative=zero, promote=_sign_promote, out=FOUND_DTYPE, sparse="coalesced")


def _sgn_backward(g, self, out):
    if not self.dtype.is_complex:
        return T.zeros(g._shape, dtype=g.dtype, device=g.device)  # contiguous, whatever the strides of g are
    size = T.abs(self)
    return T.where(size == 0, 0, (g - out * T.real(conj(out) * g)) / size)


op("sgn(Tensor self) -> Tensor", "Sign", promote=DEFAULT, derivative=_sgn_backward, sparse="coalesced")
_copysign_grads = {"self": lambda g, self, out: g * T.where(self == 0, 0, out / self), "other": zero}
op(
    "copysign(Tensor self, Tensor|Scalar other) -> Tensor",
    None,
    promote=INT_TO_FLOAT,
    derivative=_copysign_grads,
    node=_by_number("Copysign", "other", 1, 0),
)


def _heaviside_promote(common, self, values):
    if common.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if self.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return common, common


_heaviside_grads = {
    k: no_derivative("derivative for aten::heaviside is not implemented", RuntimeError) for k in ("self", "values")
}
op(
    "heaviside(Tensor self, Tensor values) -> Tensor",
    None,
    promote=_heaviside_promote,
    derivative=_heaviside_grads,
    out=SAME_SCALAR_TYPE,
    no_forward="aten::heaviside",
)


# ------------------------------------------------------------------------------------------------ extrema
def _tie(keeps):
    """The gradients of maximum or minimum, halved between equal operands. keeps(a, b) is True where a is not chosen."""
    return {
        "self": lambda g, self, other: T.where(self == other, g / 2, g).masked_fill_(keeps(self, other), 0),
        "other": lambda g, self, other: T.where(self == other, g / 2, g).masked_fill_(keeps(other, self), 0),
    }


def _first_wins(wins):
    """The gradients of fmax or fmin: the first operand is chosen where it wins or the other is NaN."""
    return {
        "self": lambda g, self, other: T.where(wins(self, other) | other.isnan(), g, 0),
        "other": lambda g, self, other: T.where(wins(self, other) | other.isnan(), 0, g),
    }


for _name, _prim, _derivative in (
    ("maximum", "Maximum", _tie(lambda a, b: a < b)),
    ("minimum", "Minimum", _tie(lambda a, b: a > b)),
    ("fmax", "Fmax", _first_wins(lambda a, b: a >= b)),
    ("fmin", "Fmin", _first_wins(lambda a, b: a <= b)),
):
    _promote = refuse(DEFAULT, RuntimeError, complex=f"{_name} not implemented for complex tensors.")
    op(f"{_name}(Tensor self, Tensor other) -> Tensor", _prim, derivative=_derivative, inplace=False, promote=_promote)


def _clamp_promote(common, self, *limits):
    if common.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    if common is dt.bool_ and not isinstance(limits[0], Tensor):
        raise NotImplementedError("\"clamp_scalar_cpu\" not implemented for 'Bool'")
    return common, common


_clamp_min_grads = {
    "self": lambda g, self, min: T.where(self >= min, g, 0),
    "min": lambda g, self, min: T.where(self < min, g, 0),
}
_clamp_min = op(
    "_clamp_min(Tensor self, Tensor|Scalar min) -> Tensor",
    "Maximum",
    promote=_clamp_promote,
    **HIDDEN,
    derivative=_clamp_min_grads,
)
_clamp_max_grads = {
    "self": lambda g, self, max: T.where(self <= max, g, 0),
    "max": lambda g, self, max: T.where(self > max, g, 0),
}
_clamp_max = op(
    "_clamp_max(Tensor self, Tensor|Scalar max) -> Tensor",
    "Minimum",
    promote=_clamp_promote,
    **HIDDEN,
    derivative=_clamp_max_grads,
)
_clamp_grads = {
    "self": lambda g, self, min, max: T.where(
        self >= min if max is None else self <= max if min is None else (self >= min) & (self <= max), g, 0
    ),
    "min": lambda g, self, min, max: T.where(self < min if max is None else (self < min) & (min < max), g, 0),
    "max": lambda g, self, min, max: T.where(self > max if min is None else (self > max) | (max < min), g, 0),
}
_clamp = op(
    "_clamp(Tensor self, Tensor min, Tensor max) -> Tensor",
    "ClampTensor",
    promote=_clamp_promote,
    **HIDDEN,
    derivative=_clamp_grads,
)
_clamp_name = lambda given, shapes: "ClampBackward1" if shapes["min"] is shapes["max"] is None else "ClampBackward0"
_CLAMP = dict(
    alias=("clip",), inplace=True, pointwise=True, inplace_function=True, derivative=_clamp_grads, node=_clamp_name
)


def _real_limit(limit):
    """Return a complex number as the real number that it is, and any other limit as it is."""
    if limit.__class__ is not complex:
        return limit
    check_number(limit, dt.float64)
    return limit.real


@composite("clamp(Tensor self, Tensor|Scalar? min=None, Tensor|Scalar? max=None) -> Tensor", **_CLAMP)
def clamp(self, min, max):
    if not self.dtype.is_complex:
        min, max = _real_limit(min), _real_limit(max)
        given = [limit for limit in (min, max) if isinstance(limit, Tensor)]
        if any(limit.dtype.is_complex for limit in given):
            kernel = "clamp" if min is not None and max is not None else "maximum" if max is None else "minimum"
            name = dt.scalar_name(result_dtype((self, *given)))
            raise NotImplementedError(f"\"{kernel}_cpu\" not implemented for '{name}'")
    return _clamped(self, min, max)


def _clamped(self, min, max):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    wide = [isinstance(limit, Tensor) and (limit._shape != () or limit._requires_grad) for limit in (min, max)]
    if any(wide) and any(limit is not None and not isinstance(limit, Tensor) for limit in (min, max)):
        raise mismatch("clamp", False, (self, min, max), {})
    if min.__class__ is float and min != min or max.__class__ is float and max != max:
        return self * math.nan
    for limit in (min, max):
        if limit.__class__ in (int, float) and dt.scalar_dtype(limit).category <= self.dtype.category:
            check_number(limit, self.dtype)
    if self.dtype is dt.bool_ and min is not None and max is not None and result_dtype((self, min, max)) is dt.bool_:
        only("clamp_cpu", self, dt.INT, dt.FLOAT)
    if isinstance(min, Tensor) and isinstance(max, Tensor):
        return _clamp.call(self, min, max)
    if min is not None:
        self = _clamp_min.call(self, min)
    return self if max is None else _clamp_max.call(self, max)


_CLAMP_ONE = dict(inplace=True, pointwise=True, inplace_function=True)
_CLAMP_MIN = dict(derivative=_clamp_min_grads, node=_by_number("ClampMin", "min", 0, 1), **_CLAMP_ONE)
_CLAMP_MAX = dict(derivative=_clamp_max_grads, node=_by_number("ClampMax", "max", 0, 1), **_CLAMP_ONE)
composite("clamp_min(Tensor self, Tensor|Scalar min) -> Tensor", **_CLAMP_MIN)(
    lambda self, min: _clamped(self, min, None)
)
composite("clamp_max(Tensor self, Tensor|Scalar max) -> Tensor", **_CLAMP_MAX)(
    lambda self, max: _clamped(self, None, max)
)


# ------------------------------------------------------------------------------------------------ selection
_where_grads = {
    "self": lambda g, condition: T.where(condition, g, 0),
    "other": lambda g, condition: T.where(condition, 0, g),
}
_WHERE = dict(promote=lambda common, condition, *values: (common, common), derivative=_where_grads)
_where = op(
    "_where(Tensor condition, Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    "Select",
    **HIDDEN,
    keep=(0,),
    **_WHERE,
)


@composite(
    "where(Tensor condition, Tensor|Scalar? input=None, Tensor|Scalar? other=None) -> Tensor",
    method=False,
    pointwise=True,
)
def where(condition, input, other):
    if input is None or other is None:
        if input is not other:
            raise mismatch("where", False, (condition, input if other is None else other), {})
        return T.nonzero(condition, as_tuple=True)
    if condition.dtype is not dt.bool_:
        if condition.dtype is not dt.uint8:
            raise RuntimeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{dt.scalar_name(condition.dtype)}"
            )
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead."
        )
        condition = condition.to(dt.bool_)
    for value in (input, other):
        if value.__class__ in (int, float, complex) and not abs(value) < 128:  # which fits every dtype
            check_fill(value, result_dtype((input, other)), (), HOST)  # PyTorch fills a tensor without dimensions
    return _where.call(condition, input, other)


composite("Tensor.where(Tensor self, Tensor condition, Tensor|Scalar other) -> Tensor")(
    lambda self, condition, other: where(condition, self, other)
)


def _mask_prepare(self, mask, value):
    check_filling_mask(mask.dtype)
    if isinstance(value, Tensor) and value._shape:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(value._shape)} "
            f"dimension(s)."
        )
    check_number(value, self.dtype)
    return self, mask, value


_masked_fill_promote = lambda common, self, mask, value: (self.dtype, self.dtype)
_masked_fill_grads = {"self": lambda g, mask: T.masked_fill(g, mask, 0), "value": lambda g, mask: T.where(mask, g, 0)}
_MASKED_FILL = dict(
    prepare=_mask_prepare,
    promote=_masked_fill_promote,
    derivative=_masked_fill_grads,
    keep=(1,),
    contiguous=True,
    out=False,
    reads_first=(2,),
)
_MASKED_FILL |= {"node": _by_number("MaskedFill", "value", 0, 1), "expanded": "tensor[mask] = scalar"}
op("masked_fill(Tensor self, Tensor mask, Tensor|Scalar value) -> Tensor", "MaskedFill", **_MASKED_FILL)


def _lerp_promote(common, self, end, weight):
    """Check that self, end and weight have one dtype, where a 0-d weight tensor may have another."""
    of_tensor = isinstance(weight, Tensor)
    for name, t in (("end", end), ("weight", weight if of_tensor and weight._shape else self)):
        if t.dtype is not self.dtype:
            raise RuntimeError(
                f"expected dtype {dt.c_name(self.dtype)} for `{name}` but got dtype {dt.c_name(t.dtype)}"
            )
    if not of_tensor:
        check_number(weight, self.dtype, "float" if self.dtype in dt.OPMATH else None)
        common = self.dtype
    if common.category < dt.FLOAT or common is dt.complex32:
        raise NotImplementedError(
            f"\"lerp_kernel_{'tensor' if of_tensor else 'scalar'}\" not implemented for '{dt.scalar_name(common)}'"
        )
    return common, common


_lerp_grads = {
    "self": lambda g, weight: g * (1 - conj(weight)),
    "end": lambda g, weight: g * conj(weight),
    "weight": lambda g, self, end: g * conj(end - self),
}
op(
    "lerp(Tensor self, Tensor end, Tensor|Scalar weight) -> Tensor",
    "Lerp",
    promote=_lerp_promote,
    derivative=_lerp_grads,
    exact=2,
    node=_by_number("Lerp", "weight", 0, 1),
)


def _addcmul_promote(common, self, tensor1, tensor2, value):
    check_number(value, common)
    return common, common


_addcmul_grads = {
    "self": lambda g: g,
    "tensor1": lambda g, tensor2, value: g * conj(tensor2 * value),
    "tensor2": lambda g, tensor1, value: g * conj(tensor1 * value),
}
_ADDCMUL = dict(numbers_between=True, promote=_addcmul_promote, derivative=_addcmul_grads)
op(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    "AddcmulExt",
    autocast=WIDEST_ON_ACCELERATORS,
    **_ADDCMUL,
)


def _addcdiv_promote(common, self, tensor1, tensor2, value):
    if tensor1.dtype.category < dt.FLOAT and tensor2.dtype.category < dt.FLOAT:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            "* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs."
        )
    return common, common


_addcdiv_grads = {
    "self": lambda g: g,
    "tensor1": lambda g, tensor2, value: g * conj(value / tensor2),
    "tensor2": lambda g, tensor1, tensor2, value: -g * conj(value * tensor1 / (tensor2 * tensor2)),
}
_ADDCDIV = dict(numbers_between=True, promote=_addcdiv_promote, derivative=_addcdiv_grads)
op(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    "AddcdivExt",
    autocast=WIDEST_ON_ACCELERATORS,
    **_ADDCDIV,
)
_NAN_TO_NUM = dict(
    promote=DEFAULT,
    call=lambda p, x, *numbers: p.of(*numbers)(x),
    derivative=lambda g, self: g * T.isfinite(self),
    out=SAME_SCALAR_TYPE,
)
_nan_to_num = op(
    "_nan_to_num(Tensor self, float nan, float posinf, float neginf) -> Tensor", "NanToNum", **HIDDEN, **_NAN_TO_NUM
)


@composite(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    inplace=True,
    out=SAME_SCALAR_TYPE,
    inplace_function=True,
    sparse="coo coalesced",
)
def nan_to_num(self, nan, posinf, neginf):
    if self.dtype.category < dt.FLOAT:
        return self.clone()
    if CONTEXT.grad and self.requires_grad and self.dtype.is_complex:
        raise RuntimeError("nan_to_num does not support automatic differentiation for outputs with complex dtype.")
    limit = dt.finfo(self.dtype).max
    return _nan_to_num.call(self, nan or 0.0, limit if posinf is None else posinf, -limit if neginf is None else neginf)


# -------------------------------------------------------------------------------------------- functions of one argument
_tanh_backward_grads = {
    "grad_output": lambda g, output: _tanh_backward.call(g, conj(output)),
    "output": lambda g, grad_output, output: conj(g) * grad_output * conj(output) * -2,
}
_TANH_BACKWARD = dict(promote=DEFAULT, call=lambda p, g, y: p(y, g), derivative=_tanh_backward_grads)
_tanh_backward = op(
    "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    "TanhGrad",
    function=False,
    method=False,
    inplace=False,
    **_TANH_BACKWARD,
)
_sigmoid_backward_grads = {
    "grad_output": lambda g, output: _sigmoid_backward.call(g, conj(output)),
    "output": lambda g, grad_output, output: conj(g) * grad_output * conj(1 - output * 2),
}
_SIGMOID_BACKWARD = dict(
    promote=DEFAULT,
    call=lambda p, g, y: p(y, g),
    derivative=_sigmoid_backward_grads,
    function=False,
    method=False,
    inplace=False,
)
_sigmoid_backward = op(
    "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", "SigmoidGrad", **_SIGMOID_BACKWARD
)


def _one(name, prim, derivative, alias=(), promote=INT_TO_FLOAT, **options):
    op(
        f"{name}(Tensor self) -> Tensor",
        prim,
        promote=promote,
        derivative=derivative,
        alias=alias,
        **{"inplace_function": True, **options},
    )


_one("exp", "Exp", lambda g, out: g * conj(out), autocast=FLOAT32_ON_ACCELERATORS)
_one("exp2", "Exp2", lambda g, out: g * conj(out) * LN2, ("special.exp2",))
_one(
    "expm1",
    "Expm1",
    lambda g, out: g * conj(out + 1),
    ("special.expm1",),
    autocast=FLOAT32_ON_ACCELERATORS,
    sparse="coalesced",
)
_one("log", "Log", lambda g, self: g / conj(self), autocast=FLOAT32_ON_ACCELERATORS)
_one("log2", "Log2", lambda g, self: g / conj(self * LN2), autocast=FLOAT32_ON_ACCELERATORS)
_one("log10", "Log10", lambda g, self: g / conj(self * LN10), autocast=FLOAT32_ON_ACCELERATORS)
_one(
    "log1p",
    "Log1p",
    lambda g, self: g / conj(self + 1),
    ("special.log1p",),
    autocast=FLOAT32_ON_ACCELERATORS,
    sparse="coalesced",
)
_one("sin", "Sin", lambda g, self: g * conj(self.cos()), sparse="coalesced")
_one("cos", "Cos", lambda g, self: -g * conj(self.sin()))
_one("tan", "Tan", lambda g, out: g * conj(out * out + 1), autocast=FLOAT32_ON_ACCELERATORS, sparse="coalesced")
_one("sinh", "Sinh", lambda g, self: g * conj(self.cosh()), autocast=FLOAT32_ON_ACCELERATORS, sparse="coalesced")
_one("cosh", "Cosh", lambda g, self: g * conj(self.sinh()), autocast=FLOAT32_ON_ACCELERATORS)
_one("tanh", "Tanh", lambda g, out: _tanh_backward.call(g, out), sparse="coalesced")
_one(
    "asin",
    "AsinExt",
    lambda g, self: g * conj((1 - self * self).rsqrt()),
    ("arcsin",),
    autocast=FLOAT32_ON_ACCELERATORS,
    sparse="coalesced",
)
_one(
    "acos",
    "AcosExt",
    lambda g, self: g * -conj((1 - self * self).rsqrt()),
    ("arccos",),
    autocast=FLOAT32_ON_ACCELERATORS,
)
_one("atan", "AtanExt", lambda g, self: g / conj(self * self + 1), ("arctan",), sparse="coalesced")
for _name, _prim, _derivative, _sparse in (
    ("asinh", "AsinhExt", lambda g, self: g * conj((self * self + 1).rsqrt()), "coalesced"),
    ("acosh", "AcoshExt", lambda g, self: g * conj((self * self - 1).rsqrt()), None),
    ("atanh", "Atanh", lambda g, self: g / conj(1 - self * self), "coalesced"),
):
    _irreversible = lambda self, name=_name: NotImplementedError(
        f"the derivative for 'inplace version of {name}' is not implemented."
    )
    _one(_name, _prim, _derivative, (f"arc{_name[1:]}",), irreversible=_irreversible, sparse=_sparse)
_one("sigmoid", "Sigmoid", lambda g, out: _sigmoid_backward.call(g, out), ("special.expit",))


def _sinc_backward(g, self):
    x = self * math.pi
    square = x * self
    return T.where(square == 0, 0, g * conj((x * x.cos() - x.sin()) / square))


_one("sinc", "Sinc", _sinc_backward, ("special.sinc",))


@composite(
    "deg2rad(Tensor self) -> Tensor",
    inplace=True,
    inplace_function=True,
    sparse="coalesced",
    derivative=lambda g: T.deg2rad(g),
)
def deg2rad(self):
    return _scaled("deg2rad", self, math.pi / 180)


@composite(
    "rad2deg(Tensor self) -> Tensor",
    inplace=True,
    inplace_function=True,
    sparse="coalesced",
    derivative=lambda g: T.rad2deg(g),
)
def rad2deg(self):
    return _scaled("rad2deg", self, 180 / math.pi)


def _scaled(name, self, factor):
    if self.dtype.is_complex:
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return self * factor


def _logit_backward(g, self, eps):
    low = 0 if eps is None or eps < 0 else eps
    outside = (self < low) | (self > 1 - low)  # not NaN
    return T.where(outside, math.nan if eps is None or eps < 0 else 0, g / (self * (1 - self)))


op(
    "logit(Tensor self, float? eps=None) -> Tensor",
    None,
    promote=INT_TO_FLOAT,
    derivative=_logit_backward,
    alias=("special.logit",),
    inplace_function=True,
)


def _frexp_meta(self):
    if self.dtype.category != dt.FLOAT:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    st = preserved_strides(self)
    return [(self._shape, self.dtype, st), (self._shape, dt.int32, st)]


_FREXP_DTYPES = Out(
    (
        "torch.frexp() expects mantissa to have dtype {want} but got {got}",
        "torch.frexp() expects exponent to have int dtype but got {got}",
    )
)
_FREXP = dict(meta=_frexp_meta, derivative=lambda g0, out1: g0 / T.exp2(out1))
op(
    "frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    None,
    opmath=False,
    non_differentiable=(1,),
    out=_FREXP_DTYPES,
    **_FREXP,
)


# ------------------------------------------------------------------------------------------- functions of two arguments
def _atan2_backward(g, self, other, needs):
    square = self * self + other * other
    scale = square.reciprocal().masked_fill(square == 0, 0)
    return g * other * scale if needs[0] else None, g * -self * scale if needs[1] else None


_atan2_grads = {("self", "other"): _atan2_backward}
op(
    "atan2(Tensor self, Tensor other) -> Tensor",
    "Atan2Ext",
    promote=INT_TO_FLOAT,
    derivative=_atan2_grads,
    alias=("arctan2",),
    autocast=WIDEST_ON_ACCELERATORS,
)
_hypot_grads = {"self": lambda g, self, out: g * (self / out), "other": lambda g, other, out: g * (other / out)}
op(
    "hypot(Tensor self, Tensor other) -> Tensor",
    None,
    promote=cpu("hypot_cpu", "bool", "int", "complex"),
    derivative=_hypot_grads,
)
_nextafter_grads = {"self": lambda g, self, other: T.where(self == other, 0, g), "other": zero}
op(
    "nextafter(Tensor self, Tensor other) -> Tensor",
    None,
    promote=cpu("nextafter_cpu", "bool", "int", "complex"),
    opmath=False,
    derivative=_nextafter_grads,
)
_logaddexp_grads = {
    "self": lambda g, self, other: g / conj(T.exp(other - self) + 1),
    "other": lambda g, self, other: g / conj(T.exp(self - other) + 1),
}
op(
    "logaddexp(Tensor self, Tensor other) -> Tensor",
    "LogAddExp",
    promote=cpu("logaddexp_cpu", "bool", "int"),
    inplace=False,
    derivative=_logaddexp_grads,
)
_logaddexp2_promote = cpu("logaddexp2_cpu", "bool", "int", "complex")
_logaddexp2_grads = {
    "self": lambda g, self, other: g / (T.exp2(other - self) + 1),
    "other": lambda g, self, other: g / (T.exp2(self - other) + 1),
}
op(
    "logaddexp2(Tensor self, Tensor other) -> Tensor",
    "LogAddExp2",
    promote=_logaddexp2_promote,
    inplace=False,
    derivative=_logaddexp2_grads,
)
_xlogy_grads = {
    "self": lambda g, self, other: T.xlogy(g, other).masked_fill((self == 0) & (other <= 0), 0),
    "other": lambda g, self, other: g * (self / other),
}
_XLOGY = dict(promote=INT_TO_FLOAT, derivative=_xlogy_grads)
op(
    "xlogy(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    "Xlogy",
    alias=("special.xlogy",),
    inplace_function=True,
    **_XLOGY,
)


# ------------------------------------------------------------------------------------------------ complex numbers
def _polar_promote(common, abs, angle):
    if common not in (dt.float32, dt.float64) or abs.dtype is not angle.dtype:
        if all(t.dtype in (dt.float16, dt.float32, dt.float64) for t in (abs, angle)) and abs.dtype is not angle.dtype:
            raise RuntimeError(
                f"Expected object of scalar type {dt.scalar_name(abs.dtype)} but got scalar type "
                f"{dt.scalar_name(angle.dtype)} for second argument"
            )
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {dt.scalar_name(abs.dtype)} and "
            f"{dt.scalar_name(angle.dtype)}"
        )
    return common, common.to_complex()


_polar_grads = {
    "abs": lambda g, out: T.real(conj(g) * T.sgn(out)),
    "angle": lambda g, out: T.real(conj(g) * (out * 1j)),
}
op(
    "polar(Tensor abs, Tensor angle) -> Tensor",
    "Polar",
    **HIDDEN,
    promote=_polar_promote,
    derivative=_polar_grads,
    out=OBJECT_DTYPE,
    autocast=FLOAT32,
)
_conj = op("_conj(Tensor self) -> Tensor", "Conj", promote=DEFAULT, derivative=lambda g: conj(g), **HIDDEN)


@composite(
    "conj_physical(Tensor self) -> Tensor", inplace=True, out=FOUND_DTYPE, inplace_function=True, sparse="values"
)
def conj_physical(self):
    return _conj.call(self) if self.dtype.is_complex else self


def _angle_backward(g, self):
    if not self.dtype.is_complex:
        return T.zeros_like(self)
    size = self.abs()
    return T.where(size == 0, 0, T.complex(-self.imag, self.real) * (g / (size * size)))


_angle_promote = lambda common, self: tuple(
    f(promoted(INT_TO_FLOAT, common)[0]) for f in (lambda d: d, dt.dtype.to_real)
)
op(
    "angle(Tensor self) -> Tensor",
    "Angle",
    promote=_angle_promote,
    inplace=False,
    derivative=_angle_backward,
    sparse="compressed",
)
