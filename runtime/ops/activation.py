"""Activation functions: torch.relu and similar ones, and their nn.functional forms with an `inplace` argument."""

import functools
import math
import warnings

from ..call.autocast import FLOAT32_ON_ACCELERATORS, LOWER
from ..call.geometry import result_strides
from ..call.inplace import inplace as run_inplace
from ..call.out import FOUND_DTYPE, SAME_DTYPE, SAME_SCALAR_TYPE
from ..call.promotion import DEFAULT
from ..context import CONTEXT
from ..declare import composite, op
from ..registry import ATEN
from .common import F, T, changed, check_number, dt, only, wrap_dim
from .pointwise import cpu, zero

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _floats(name):
    return cpu(name + "_cpu", "bool", "int")


def _reals(name):
    return cpu(name + "_cpu", "bool", "int", "complex")


def _hidden(schema, prim, **kw):
    """Declare an operator that only derivative formulas and composites call."""
    return op(schema, prim, function=False, method=False, inplace=False, **{"promote": DEFAULT, **kw})


def _in_opmath(formula):
    """Run a formula in the opmath dtype of its inputs, where they are of a half type.

    The formula has several steps, and would otherwise round at each of them. PyTorch's single kernel rounds only once.
    """

    @functools.wraps(formula)
    def wide(g, self, *args):
        dtype = dt.OPMATH.get(self.dtype)
        return formula(g, self, *args) if dtype is None else formula(g.to(dtype), self.to(dtype), *args).to(self.dtype)

    return wide


def _functional(schema, o, check=None, **options):
    """Declare nn.functional.NAME(input, ..., inplace=False) on top of an operator."""

    @composite(f"nn.functional.{schema}", out=False, in_place=o if options.get("inplace") else None, **options)
    def call(input, *args):
        if check is not None:
            check(input, *args)
        return run_inplace(o, input, (input, *args[:-1])) if args[-1] else o.call(input, *args[:-1])


# ------------------------------------------------------------------------------------------------ piecewise linear
def _no_bool_relu(common, self):
    if common is dt.bool_:
        raise RuntimeError("Boolean inputs not supported for relu")
    if common.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    return common, common


_relu_backward = _hidden(
    "relu_backward(Tensor grad_output, Tensor result) -> Tensor",
    "ReluGrad",
    last_leads=True,
    aten="threshold_backward.default",
    aten_constants=(("threshold", 0),),
    derivative={"grad_output": lambda g, result: _relu_backward.call(g, result), "result": zero},
)
_relu_grad = lambda g, out: _relu_backward.call(g, out)
_relu = op(
    "relu(Tensor self) -> Tensor",
    "ReLU",
    promote=_no_bool_relu,
    derivative=_relu_grad,
    inplace_function=True,
    sparse="coalesced",
)
_functional("relu(Tensor input, bool inplace=False) -> Tensor", _relu, inplace=True)


def _hardtanh_promote(common, self, low, high):
    if common.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    if common is dt.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if common.category == dt.INT and not common.is_signed and low < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if common.category == dt.FLOAT:
        check_number(low, common)
        check_number(high, common)
    return common, common


def _ordered(input, low, high, inplace):
    if low > high:
        raise ValueError("min_val cannot be greater than max_val")


_hardtanh_backward = _hidden(
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
    None,
    constant_attributes=True,
    derivative={
        "grad_output": lambda g, self, min_val, max_val: _hardtanh_backward.call(g, self, min_val, max_val),
        "self": zero,
    },
)
_hardtanh_grad = lambda g, self, min_val, max_val: _hardtanh_backward.call(g, self, min_val, max_val)
_hardtanh = op(
    "_C._nn.hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    "Hardtanh",
    promote=_hardtanh_promote,
    derivative=_hardtanh_grad,
)
_functional(
    "hardtanh(Tensor input, float min_val=-1.0, float max_val=1.0, bool inplace=False) -> Tensor",
    _hardtanh,
    _ordered,
    inplace=True,
)
composite("nn.functional.relu6(Tensor input, bool inplace=False) -> Tensor", out=False)(
    lambda input, inplace: F.hardtanh(input, 0, 6, inplace)
)
_leaky_relu_backward = _hidden(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope) -> Tensor",
    None,
    last_leads=True,
    constant_attributes=True,
    aten_constants=(("self_is_result", False),),
    derivative={
        "grad_output": lambda g, self, negative_slope: _leaky_relu_backward.call(g, self, negative_slope),
        "self": zero,
    },
)
_NEGATIVE = (
    "In-place {} backward calculation is triggered with a negative slope which is not supported. "
    "This is caused by calling in-place forward function with a negative slope, please call out-of-place version "
    "instead."
)


def _irreversible_leaky_relu(self, negative_slope):
    if negative_slope < 0:
        more = (
            "File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
            "backward calculation with negative slope"
        )
        return RuntimeError(f"{_NEGATIVE.format('leakyReLu')} {more}")


def _irreversible_elu(self, alpha=1):
    if alpha < 0:
        return RuntimeError(_NEGATIVE.format("elu"))


_LEAKY_RELU = dict(
    promote=_reals("leaky_relu"),
    irreversible=_irreversible_leaky_relu,
    derivative=lambda g, self, negative_slope: _leaky_relu_backward.call(g, self, negative_slope),
)
_leaky_relu = op(
    "_C._nn.leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    "LeakyReLUExt",
    constant_attributes=True,
    **_LEAKY_RELU,
)
_functional(
    "leaky_relu(Tensor input, float negative_slope=0.01, bool inplace=False) -> Tensor", _leaky_relu, inplace=True
)


def _threshold_promote(common, self, threshold, value):
    check_number(threshold, dt.OPMATH.get(common, common))  # PyTorch compares half types in float32
    check_number(value, common)
    return common, common


_threshold_grad = lambda g, self, threshold: ATEN.threshold_backward(g, self, threshold)
_THRESHOLD = dict(
    promote=_threshold_promote, derivative=_threshold_grad, irreversible=lambda self, threshold, value: None
)
_threshold = op(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    "Threshold",
    method=False,
    inplace_function=True,
    **_THRESHOLD,
)
_functional(
    "threshold(Tensor input, Scalar threshold, Scalar value, bool inplace=False) -> Tensor", _threshold, inplace=True
)


def _rounded(self, lambd):
    """Round the limit to self's dtype where that is a half type, as PyTorch compares it in this dtype."""
    return self, float(self.dtype.np.type(lambd)) if self.dtype in dt.OPMATH else lambd


_HARDSHRINK = dict(
    prepare=_rounded,
    promote=_reals("hardshrink"),
    call=lambda p, x, lambd: p.of(lambd)(x),
    derivative=lambda g, self, lambd: ATEN.hardshrink_backward(g, self, lambd),
)
op(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    "HShrink",
    alias=("nn.functional.hardshrink",),
    inplace=False,
    out=FOUND_DTYPE,
    **_HARDSHRINK,
)


def _softshrink_promote(common, self, lambd):
    if lambd < 0:
        raise RuntimeError(
            f"lambda must be in range [0, {dt.finfo(common).max:g}] for input dtype {dt.scalar_name(common)}, "
            f"but found {lambd:g}"
        )
    return _reals("softshrink")(common)


_SOFTSHRINK = dict(
    promote=_softshrink_promote,
    call=lambda p, x, lambd: p.of(lambd)(x),
    derivative=lambda g, self, lambd: ATEN.softshrink_backward(g, self, lambd),
)
op(
    "nn.functional.softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    "SoftShrink",
    inplace=False,
    out=FOUND_DTYPE,
    python=False,
    **_SOFTSHRINK,
)


@composite("prelu(Tensor self, Tensor weight) -> Tensor", out=False, autocast=LOWER)
def prelu(self, weight):
    if self.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {self.dtype.name} and {weight.dtype.name}")
    n, k = len(self._shape), weight.numel()
    if k != 1:
        if n == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self._shape[1] if n > 1 else 1
        if channels != k:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {k} and channel "
                f"size = {channels}."
            )
    if len(weight._shape) > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(weight._shape)}"
        )
    return _prelu.call(self, weight.reshape((k, *(1,) * (n - 2)) if n > 1 else (1,) * n))


_prelu = _hidden(
    "prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    None,
    aten="_prelu_kernel.default",
    promote=_reals("prelu"),
    derivative={("self", "weight"): lambda g, self, weight: ATEN._prelu_kernel_backward(g, self, weight)},
)


# ------------------------------------------------------------------------------------------------ exponential
_elu_backward = _hidden(
    "elu_backward(Tensor grad_output, Tensor self, Scalar alpha) -> Tensor",
    None,
    constant_attributes=True,
    derivative={
        "grad_output": lambda g, self, alpha: _elu_backward.call(g, self, alpha),
        "self": lambda g, grad_output, self, alpha: T.where(self <= 0, g * grad_output * T.exp(self) * alpha, 0),
    },
)
_elu_grad = lambda g, self, alpha: _elu_backward.call(g, self, alpha)
_ELU = dict(
    promote=_reals("elu"), call=lambda p, x, alpha: p.of(alpha)(x), derivative=_elu_grad, irreversible=_irreversible_elu
)
_elu = op("_C._nn.elu(Tensor self, Scalar alpha=1) -> Tensor", "EluExt", **_ELU)
_functional("elu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor", _elu, inplace=True)
_selu_grad = _in_opmath(lambda g, self: ATEN.elu_backward(g, SELU_ALPHA, SELU_SCALE, 1, False, self))
_SELU = dict(
    promote=_reals("elu"),
    method=False,
    derivative=_selu_grad,
    inplace_function=True,
    node="EluBackward0",
    irreversible=_irreversible_elu,
)
_selu = op("selu(Tensor self) -> Tensor", "SeLUExt", **_SELU)
_functional("selu(Tensor input, bool inplace=False) -> Tensor", _selu, inplace=True)


def _celu_promote(common, self, alpha):
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _reals("elu")(common)


_celu_grad = _in_opmath(lambda g, self, alpha: ATEN.elu_backward(g, alpha, 1, 1 / alpha, False, self))
_CELU = dict(
    method=False, promote=_celu_promote, derivative=_celu_grad, inplace_function=True, irreversible=_irreversible_elu
)
_celu = op("celu(Tensor self, Scalar alpha=1.0) -> Tensor", None, **_CELU)
_functional("celu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor", _celu, inplace=True)


# ------------------------------------------------------------------------------------------------ smooth
def _gelu_backward_backward(g, grad_output, self, approximate):
    if approximate == "tanh":
        k = math.sqrt(2 / math.pi)
        t = T.tanh(k * (self + 0.044715 * self**3))
        du, sech2 = k * (1 + 3 * 0.044715 * self * self), 1 - t * t
        second = sech2 * du - self * t * sech2 * du * du + 0.5 * self * sech2 * k * 6 * 0.044715 * self
    else:
        second = T.exp(self * self * -0.5) * ((2 - self * self) / math.sqrt(2 * math.pi))
    return g * grad_output * second


_gelu_backward = _hidden(
    "gelu_backward(Tensor grad_output, Tensor self, str approximate) -> Tensor",
    "GeluGradExt",
    derivative={
        "grad_output": lambda g, self, approximate: _gelu_backward.call(g, self, approximate),
        "self": _gelu_backward_backward,
    },
)


def _gelu_promote(common, self, approximate):
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _reals("GeluKernelImpl")(common)


_GELU = dict(promote=_gelu_promote, derivative=lambda g, self, approximate: _gelu_backward.call(g, self, approximate))
op(
    "nn.functional.gelu(Tensor self, *, str approximate='none') -> Tensor",
    "GeluExt",
    inplace=False,
    out=FOUND_DTYPE,
    python=False,
    **_GELU,
)


def _silu_backward_backward(g, grad_output, self):
    s = T.sigmoid(self)
    return g * grad_output * (s * (1 - s) * (2 + self * (1 - s * 2)))


_silu_backward = _hidden(
    "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    "SiLUGrad",
    derivative={"grad_output": lambda g, self: _silu_backward.call(g, self), "self": _silu_backward_backward},
)
_silu = op(
    "_C._nn.silu(Tensor self) -> Tensor",
    "SiLU",
    promote=_floats("silu"),
    derivative=lambda g, self: _silu_backward.call(g, self),
)


def _silu_check(input, inplace):
    if input.dtype.is_complex and input.requires_grad and CONTEXT.grad:
        raise RuntimeError("silu does not support automatic differentiation for outputs with complex dtype.")


_functional("silu(Tensor input, bool inplace=False) -> Tensor", _silu, _silu_check)


_mish_backward = lambda g, self: ATEN.mish_backward(g, self)
_mish = op("_C._nn.mish(Tensor self) -> Tensor", "MishExt", promote=_reals("mish"), derivative=_mish_backward)
_functional("mish(Tensor input, bool inplace=False) -> Tensor", _mish)
_softplus_backward = _hidden(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
    None,
    constant_attributes=True,
    derivative={
        "grad_output": lambda g, self, beta, threshold: _softplus_backward.call(g, self, beta, threshold),
        "self": lambda g, grad_output, self, beta, threshold: (
            _softplus_curve(self, beta, threshold) * (g * grad_output)
        ),
    },
)


def _softplus_curve(x, beta, threshold):
    s = T.sigmoid(x * beta)
    return T.where(x * beta > threshold, 0, s * (1 - s) * beta)


_softplus_grad = lambda g, self, beta, threshold: _softplus_backward.call(g, self, beta, threshold)
_SOFTPLUS = dict(
    promote=_reals("softplus"),
    derivative=_softplus_grad,
    inplace=False,
    out=FOUND_DTYPE,
    python=False,
    autocast=FLOAT32_ON_ACCELERATORS,
)
op("nn.functional.softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", "SoftplusExt", **_SOFTPLUS)
_LOGSIGMOID = dict(
    promote=_reals("log_sigmoid"),
    derivative=_in_opmath(lambda g, self: g * T.sigmoid(-self)),
    aten="log_sigmoid_forward.default",
    node="LogSigmoidBackward0",
)
op(
    "nn.functional.logsigmoid(Tensor self) -> Tensor",
    "LogSigmoid",
    inplace=False,
    contiguous=True,
    out=SAME_SCALAR_TYPE,
    python=False,
    **_LOGSIGMOID,
)
_hardswish_backward = _hidden(
    "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    "HSwishGrad",
    derivative={
        "grad_output": lambda g, self: _hardswish_backward.call(g, self),
        "self": lambda g, grad_output, self: T.where(T.abs(self) < 3, g * grad_output / 3, 0),
    },
)
_hardswish = op(
    "_C._nn.hardswish(Tensor self) -> Tensor",
    "HSwish",
    promote=_reals("hardswish"),
    derivative=lambda g, self: _hardswish_backward.call(g, self),
)
_functional("hardswish(Tensor input, bool inplace=False) -> Tensor", _hardswish)
_hardsigmoid = op(
    "_C._nn.hardsigmoid(Tensor self) -> Tensor",
    "HSigmoid",
    promote=_reals("hardsigmoid"),
    derivative=lambda g, self: ATEN.hardsigmoid_backward(g, self),
)
_functional("hardsigmoid(Tensor input, bool inplace=False) -> Tensor", _hardsigmoid)
composite("nn.functional.sigmoid(Tensor input) -> Tensor", out=False)(lambda input: T.sigmoid(input))


@composite("nn.functional.tanh(Tensor input) -> Tensor", out=False)
def tanh(input):
    return T.tanh(input)


composite("nn.functional.tanhshrink(Tensor input) -> Tensor", out=False)(lambda input: input - T.tanh(input))
composite("nn.functional.softsign(Tensor input) -> Tensor", out=False)(lambda input: input / (T.abs(input) + 1))


def _glu_meta(self, dim):
    if not self._shape:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    n = self._shape[dim]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {n}")
    shape = changed(self._shape, dim, n // 2)
    return shape, self.dtype, result_strides(shape, [self.narrow(dim, 0, n // 2)] if self._stride is not None else ())


_glu_call = lambda p, x, dim: p.of(dim)(x)
_glu_prepare = lambda self, dim: (self, wrap_dim(dim, len(self._shape)))
_glu = op(
    "_C._nn.glu(Tensor self, int dim=-1) -> Tensor",
    "GLU",
    call=_glu_call,
    prepare=_glu_prepare,
    meta=_glu_meta,
    derivative=lambda g, self, dim: ATEN.glu_backward(g, self, dim),
)


@composite("nn.functional.glu(Tensor input, int dim=-1) -> Tensor", out=False)
def glu(input, dim):
    if not input._shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _glu.call(input, dim)


# ------------------------------------------------------------------------------------------------ randomised
@composite(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
    "Generator? generator=None) -> Tensor",
    method=False,
    inplace=True,
    inplace_function=True,
    irreversible=lambda self, lower, upper, training, generator: (
        None if training else _irreversible_leaky_relu(self, (lower + upper) / 2)
    ),
)
def rrelu(self, lower, upper, training, generator):
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}")
    self = self.contiguous()
    if not training:
        return _leaky_relu.call(self, (lower + upper) / 2)
    only("rrelu_with_noise_out_cpu", self, dt.FLOAT, half=self.dtype is not dt.float16)
    below = self <= 0
    slope = T.ones_like(self)
    slope[below] = (
        T.empty(int(below.sum().item()), dtype=dt.float64, device=self.device)
        .uniform_(lower, upper, generator=generator)
        .to(self.dtype)
    )
    return self * slope


@composite(
    "nn.functional.rrelu(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, "
    "bool inplace=False) -> Tensor",
    out=False,
    inplace=True,
)
def rrelu_functional(input, lower, upper, training, inplace):
    return (T.rrelu_ if inplace else T.rrelu)(input, lower, upper, training)


@composite(
    "nn.functional.gumbel_softmax(Tensor logits, float tau=1, bool hard=False, float eps=1e-10, int dim=-1) -> Tensor",
    out=False,
)
def gumbel_softmax(logits, tau, hard, eps, dim):
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.")
    gumbels = -logits.new_empty(logits._shape).exponential_().log()
    soft = F.softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return T.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft


# ------------------------------------------------------------------------------------------------ softmax
def _softmax_prepare(self, dim):
    return self, wrap_dim(dim, len(self._shape))


def _softmax_meta(name):
    def meta(self, dim):
        if self.dtype.category < dt.FLOAT or self.dtype.is_complex:
            raise NotImplementedError(
                f"\"{name}_lastdim_kernel_impl\" not implemented for '{dt.scalar_name(self.dtype)}'"
            )
        return self._shape, self.dtype

    return meta


def _like_grad(grad_output, output, dim, input_dtype):
    return grad_output._shape, input_dtype


def _back_of(o):
    return lambda g, out, dim, self_dtype: o.call(g, out, dim, self_dtype)


def _softmax_grad_output(g, grad_output, output, dim):
    return (
        g * grad_output
        - g * (output * grad_output).sum(dim, keepdim=True)
        - grad_output * (g * output).sum(dim, keepdim=True)
    )


_softmax_grads = {
    "grad_output": lambda g, output, dim, input_dtype: _softmax_grad.call(g, output, dim, input_dtype),
    "output": _softmax_grad_output,
}
_SOFTMAX_GRAD = dict(
    meta=_like_grad, call=lambda p, g, out, dim, dtype: p(g, out, dim), derivative=_softmax_grads, method=False
)
_softmax_grad = op(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    "SoftmaxBackward",
    **_SOFTMAX_GRAD,
)
_log_softmax_grads = {
    "grad_output": lambda g, output, dim: g - (g * T.exp(output)).sum(dim, keepdim=True),
    "output": lambda g, grad_output, output, dim: -(g * T.exp(output)) * grad_output.sum(dim, keepdim=True),
}
_LOG_SOFTMAX_GRAD = dict(
    meta=_like_grad, call=lambda p, g, out, dim, dtype: p.of(dim)(out, g), derivative=_log_softmax_grads, method=False
)
_log_softmax_grad = op(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    "LogSoftmaxGrad",
    **_LOG_SOFTMAX_GRAD,
)
_SOFTMAX = dict(
    prepare=_softmax_prepare,
    meta=_softmax_meta("softmax"),
    call=lambda p, x, dim: p.of(dim)(x),
    derivative=_back_of(_softmax_grad),
)
_WHOLE = (("half_to_float", False),)
_softmax = op(
    "_softmax(Tensor self, int dim) -> Tensor",
    "Softmax",
    method=False,
    out=SAME_DTYPE,
    aten_constants=_WHOLE,
    **_SOFTMAX,
)
_LOG_SOFTMAX = dict(
    prepare=_softmax_prepare,
    meta=_softmax_meta("log_softmax"),
    call=lambda p, x, dim: p.of(dim)(x),
    derivative=_back_of(_log_softmax_grad),
)
_log_softmax = op(
    "_log_softmax(Tensor self, int dim) -> Tensor",
    "LogSoftmax",
    method=False,
    out=SAME_DTYPE,
    aten_constants=_WHOLE,
    **_LOG_SOFTMAX,
)


def _implicit_dim(name, n):
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=5,
    )
    return 0 if n in (0, 1, 3) else 1


def _softmaxes(name, o):
    def typed(self, dim, dtype):
        return o.call(self if dtype is None or dtype is self.dtype else self.to(dtype), dim)

    def functional(input, dim, _stacklevel, dtype):
        return typed(input, _implicit_dim(name, len(input._shape)) if dim is None else dim, dtype)

    composite(
        f"{name}(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
        out=SAME_DTYPE,
        autocast=FLOAT32_ON_ACCELERATORS,
    )(typed)
    star = "*, " * (name == "log_softmax")  # as in PyTorch, only special.log_softmax takes dtype by keyword alone
    composite(f"special.{name}(Tensor self, int dim, {star}ScalarType? dtype=None) -> Tensor", out=False)(typed)
    composite(
        f"nn.functional.{name}(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None) -> Tensor",
        out=False,
        autocast=FLOAT32_ON_ACCELERATORS,
    )(functional)


_softmaxes("softmax", _softmax)
_softmaxes("log_softmax", _log_softmax)


@composite(
    "nn.functional.softmin(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None) -> Tensor",
    out=False,
    autocast=FLOAT32_ON_ACCELERATORS,
)
def softmin(input, dim, _stacklevel, dtype):
    return F.softmax(-input, _implicit_dim("softmin", len(input._shape)) if dim is None else dim, dtype=dtype)
