"""What aclnn functions compute, in PyTorch.

A rule stands under the function's name without "aclnn". Its positional parameters are the call's inputs in CANN's
order, the ones after `*` the results that follow them; it answers their values (None: left alone). A rule without
parameters after `*` answers the new value of
its first argument: an in-place function.
"""

import math
import os
import queue
import threading
import time

import torch
from torch.nn import functional as F

aten = torch.ops.aten
LIMIT = float(os.environ.get("EMULATED_CANN_COLLECTIVE", 120))  # seconds that a rank waits for the others
ROUNDING = (None, "trunc", "floor")
APPROXIMATE = ("none", "tanh")


class Refused(Exception):
    """An argument that CANN's own checks turn down."""


class Sized(tuple):
    """A value at the start of memory made for the largest one: its size goes back to the caller."""


# ---------------------------------------------------------------- several lines
def wide(fn, *args):
    """fn with half types in float32, in which sums of products are formed.

    PyTorch's own loops for half types on a CPU are very slow.
    """
    return fn(
        *(a.float() if isinstance(a, torch.Tensor) and a.dtype in (torch.float16, torch.bfloat16) else a for a in args)
    )


def present(indices):
    """Indices, where one without elements stands for a whole dimension."""
    return [None if i is None or not i.numel() else i for i in indices]


def scatter(self, dim, index, src, reduce):
    return torch.scatter(self, dim, index, src, **({"reduce": {1: "add", 2: "multiply"}[reduce]} if reduce else {}))


def rms_norm(x, gamma, eps):
    dims = list(range(x.dim() - gamma.dim(), x.dim()))
    rstd = torch.rsqrt(x.float().pow(2).mean(dims, keepdim=True) + eps)
    return (x.float() * rstd * gamma.float()).to(x.dtype), rstd


def rms_norm_grad(dy, x, rstd, gamma):
    with torch.enable_grad():
        a, g = x.float().detach().requires_grad_(), gamma.float().detach().requires_grad_()
        dims = list(range(x.dim() - gamma.dim(), x.dim()))
        y = (
            a
            * torch.rsqrt(
                a.pow(2).mean(dims, keepdim=True) + (1 / rstd**2 - a.detach().pow(2).mean(dims, keepdim=True))
            )
            * g
        )
        return torch.autograd.grad(y, (a, g), dy.float())


def batch_norm(x, w, b, mean, var, training, momentum, eps):
    if mean is not None and mean.dtype != x.dtype:  # statistics in float32 beside half types
        w, b = (t if t is None else t.to(mean.dtype) for t in (w, b))
    out, saved, inverse = aten.native_batch_norm(x, w, b, mean, var, training, momentum, eps)
    return (out, saved, inverse) if training else (out, None, None)


def batch_norm_backward(dy, x, w, mean, var, saved, inverse, training, eps, mask):
    if not training:
        saved, inverse = mean, torch.rsqrt(var + eps)
    return aten.native_batch_norm_backward(dy, x, w, mean, var, saved, inverse, training, eps, mask)


def unique(self, inverse, counts):
    v, i, c = torch.unique(self, return_inverse=True, return_counts=True)
    return Sized([v]), i if inverse else None, Sized([c]) if counts else None


def unique_dim(self, dim):
    v, i, c = torch.unique(self, return_inverse=True, return_counts=True, dim=dim)
    return Sized([v]), i, Sized([c])


def unique_consecutive(self, inverse, counts, dim):
    v, i, c = torch.unique_consecutive(self, return_inverse=True, return_counts=True, dim=None if dim == 1000 else dim)
    return Sized([v]), i if inverse else None, Sized([c]) if counts else None


def stream(seed, offset):
    """Not the NPU's numbers: the same seed and offset give the same ones, that is all."""
    return torch.Generator().manual_seed((seed * 0x9E3779B97F4A7C15 + offset) % (1 << 63))


def kept(shape, p, seed, offset, out):
    """A dropout mask of bits, eight to a byte."""
    bits = (torch.rand(math.prod(shape), generator=stream(seed, offset)) >= p).to(torch.uint8)
    bits = F.pad(bits, (0, out.numel() * 8 - bits.numel())).reshape(-1, 8)
    return (bits << torch.arange(8, dtype=torch.uint8)).sum(1).to(torch.uint8)


def unpacked(mask, like):
    bits = (mask.reshape(-1, 1) >> torch.arange(8, dtype=torch.uint8)) & 1
    return bits.reshape(-1)[: like.numel()].reshape(like.shape)


def adam(var, m, v, greatest, grad, step, lr, beta1, beta2, decay, eps, amsgrad, maximize):
    lr, beta1, beta2, decay, eps = map(float, (lr, beta1, beta2, decay, eps))
    grad = (-grad if maximize else grad).float()
    m, v = m.float() * beta1 + grad * (1 - beta1), v.float() * beta2 + grad * grad * (1 - beta2)
    top = torch.maximum(greatest.float(), v) if amsgrad else v
    n = step.double().item()
    update = (m / (1 - beta1**n)) / ((top / (1 - beta2**n)).sqrt() + eps)
    return var.float() * (1 - lr * decay) - lr * update, m, v, top if amsgrad else None


def cross_entropy(x, target, weight, reduction, ignore, smoothing, scale, with_z, *, loss, log_prob, z, lse):
    if smoothing:
        raise Refused("labels are not smoothed inside the loss here")
    log_prob = torch.log_softmax(x.float(), 1)
    return F.nll_loss(log_prob, target, weight, ignore_index=ignore, reduction=reduction), log_prob, None, None


def cross_entropy_grad(grad, log_prob, target, weight, grad_z, lse, reduction, ignore, smoothing, scale, *, out):
    p = log_prob.float()  # a softmax of logarithms of probabilities gives these again
    grad = grad.reshape(() if reduction != "none" else (-1,))
    return gradients(lambda x: F.cross_entropy(x, target, weight, ignore_index=ignore, reduction=reduction), grad, p)


def swiglu(x, dim):
    a, b = x.float().chunk(2, dim)
    return F.silu(a) * b


def rotary(x, cos, sin, mode):
    if mode == 1:  # pairs side by side
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    else:
        a, b = x.chunk(2, -1)
        turned = torch.cat((-b, a), -1)
    return x * cos + turned * sin


def gradients(fn, grad, *inputs):
    """Gradients of fn at the inputs, computed in float32."""
    with torch.enable_grad():
        leaves = [x.detach().float().requires_grad_() for x in inputs]
        return torch.autograd.grad(fn(*leaves), leaves, grad.float())


def heads(layout, heads_q, *tensors):
    """Query, key and value as (batch, heads, sequence, width), and how the result goes back."""

    def split(t, n):
        return t.reshape(*t.shape[:2], n, -1)

    q, k, _ = tensors
    if layout == "BNSD":
        return tensors, lambda t: t
    if layout == "BSND":
        return [t.transpose(1, 2) for t in tensors], lambda t: t.transpose(1, 2)
    width = q.shape[-1] // heads_q
    if layout == "SBH":
        tensors = [t.transpose(0, 1) for t in tensors]
    out = [
        split(t, t.shape[-1] // width if t is not tensors[2] else k.shape[-1] // width).transpose(1, 2) for t in tensors
    ]
    return (
        out,
        lambda t: t.transpose(1, 2).flatten(2).transpose(0, 1) if layout == "SBH" else t.transpose(1, 2).flatten(2),
    )


def convolution_grad(grad, x, w, sizes, stride, padding, dilation, transposed, more, groups, mask, cube, *, dx, dw, db):
    return wide(aten.convolution_backward, grad, x, w, sizes, stride, padding, dilation, transposed, more, groups, mask)


def attention_scores(q, k, mask, scale, pse, sparse, before, after):
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = q.float() @ k.float().transpose(-1, -2) * scale
    if pse is not None:
        scores = scores + pse.float()
    rows, columns = scores.shape[-2:]
    if sparse in (2, 3):  # the mask is a 2048 x 2048 triangle to be used from the corner; left up or right down
        at = torch.arange(columns) - torch.arange(rows)[:, None]
        hidden = at > (0 if sparse == 2 else columns - rows)
        return scores.masked_fill(hidden, -torch.inf)
    return scores if mask is None else scores.masked_fill(mask.bool(), -torch.inf)


def attention(
    q,
    k,
    v,
    pse,
    drop,
    pad,
    mask,
    prefix,
    scale,
    keep,
    before,
    after,
    n,
    layout,
    inner,
    sparse,
    *,
    top,
    total,
    saved,
    out,
):
    if drop is not None or keep != 1:
        raise Refused("dropout inside the attention is not emulated")
    (q, k, v), back = heads(layout, n, q, k, v)
    scores = attention_scores(q, k, mask, scale, pse, sparse, before, after)
    top = scores.amax(-1, keepdim=True).clamp_min(torch.finfo(torch.float32).min)
    weights = (scores - top).exp()
    total = weights.sum(-1, keepdim=True)
    out = (
        weights
        / total.clamp_min(torch.finfo(torch.float32).tiny)
        @ v.float().repeat_interleave(q.shape[1] // v.shape[1], 1)
    )
    return top.expand(*top.shape[:-1], 8), total.expand(*total.shape[:-1], 8), None, back(out)


def attention_grad(
    q,
    k,
    v,
    dy,
    pse,
    drop,
    pad,
    mask,
    top,
    total,
    saved,
    out,
    prefix,
    scale,
    keep,
    before,
    after,
    n,
    layout,
    inner,
    sparse,
    *,
    dq,
    dk,
    dv,
    dpse,
):
    def run(q, k, v):
        (a, b, c), back = heads(layout, n, q, k, v)
        weights = torch.softmax(attention_scores(a, b, mask, scale, pse, sparse, before, after), -1).nan_to_num(0)
        return back(weights @ c.repeat_interleave(a.shape[1] // c.shape[1], 1))

    return *gradients(run, dy, q, k, v), None


# ---------------------------------------------------------------- families
def unary(fn):
    return lambda self, *, out: fn(self)


def binary(fn):
    return lambda self, other, *, out: fn(self, other)


def method(name, n):
    """An in-place function of the tensor's method and n arguments more."""
    return {
        0: lambda self: getattr(self.clone(), name)(),
        1: lambda self, a: getattr(self.clone(), name)(a),
        2: lambda self, a, b: getattr(self.clone(), name)(a, b),
        3: lambda self, a, b, c: getattr(self.clone(), name)(a, b, c),
    }[n]


UNARY = """
    Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Erfc Erfinv Exp Exp2 Expm1 Floor Frac Log Log10 Log1p Log2
    Neg Reciprocal Relu Round Rsqrt Selu Sigmoid Sin Sinc Sinh Sqrt Tan Tanh Trunc Square Digamma Lgamma Signbit"""
OTHER_UNARY = dict(
    BitwiseNot="bitwise_not",
    LogicalNot="logical_not",
    Sign="sgn",
    IsFinite="isfinite",
    IsInf="isinf",
    IsNegInf="isneginf",
    IsPosInf="isposinf",
    Real="real",
)
OTHER_UNARY |= dict(Inverse="inverse", Det="det", Slogdet="slogdet", Isnan="isnan")
ACTIVATIONS = dict(
    Silu=F.silu, Mish=F.mish, Hardsigmoid=F.hardsigmoid, Hardswish=F.hardswish, Gelu=F.gelu, Softsign=F.softsign
)
BINARY = dict(
    Atan2="atan2",
    BitwiseAndTensor="bitwise_and",
    BitwiseOrTensor="bitwise_or",
    BitwiseXorTensor="bitwise_xor",
    BitwiseAndScalar="bitwise_and",
    Div="div",
    BitwiseOrScalar="bitwise_or",
    BitwiseXorScalar="bitwise_xor",
    Divs="div",
    EqTensor="eq",
    NeTensor="ne",
    GtTensor="gt",
    GeTensor="ge",
    LtTensor="lt",
    LeTensor="le",
    EqScalar="eq",
    NeScalar="ne",
    GtScalar="gt",
    GeScalar="ge",
    LtScalar="lt",
    LeScalar="le",
    FloorDivide="floor_divide",
    FloorDivides="floor_divide",
    FmodTensor="fmod",
    FmodScalar="fmod",
    Gcd="gcd",
    LogAddExp="logaddexp",
    LogAddExp2="logaddexp2",
    LogicalAnd="logical_and",
    LogicalOr="logical_or",
    LogicalXor="logical_xor",
    Maximum="maximum",
    Minimum="minimum",
    Mul="mul",
    Muls="mul",
    PowTensorTensor="pow",
    PowTensorScalar="pow",
    PowScalarTensor="pow",
    RemainderTensorTensor="remainder",
    RemainderTensorScalar="remainder",
    RemainderScalarTensor="remainder",
    XLogYTensor="xlogy",
    XLogYScalarOther="xlogy",
    XLogYScalarSelf="xlogy",
    Dot="dot",
    Polar="polar",
    Ger="ger",
    Complex="complex",
    Heaviside="heaviside",
    BitwiseLeftShift="bitwise_left_shift",
    BitwiseRightShift="bitwise_right_shift",
    Equal="eq",
    Hypot="hypot",
    Copysign="copysign",
)
INPLACE = dict(
    Mul=("mul_", 1),
    Muls=("mul_", 1),
    Div=("div_", 1),
    Divs=("div_", 1),
    Copy=("copy_", 1),
    FillScalar=("fill_", 1),
    FillTensor=("fill_", 1),
    FloorDivide=("floor_divide_", 1),
    FloorDivides=("floor_divide_", 1),
    RemainderTensorTensor=("remainder_", 1),
    RemainderTensorScalar=("remainder_", 1),
    Zero=("zero_", 0),
    Exp=("exp_", 0),
    Relu=("relu_", 0),
    Sigmoid=("sigmoid_", 0),
    Tanh=("tanh_", 0),
    Neg=("neg_", 0),
    Sqrt=("sqrt_", 0),
    Log=("log_", 0),
    LogicalNot=("logical_not_", 0),
    MaskedFillScalar=("masked_fill_", 2),
    MaskedFillTensor=("masked_fill_", 2),
    MaskedScatter=("masked_scatter_", 2),
    IndexCopy=("index_copy_", 3),
    Hardtanh=("hardtanh_", 2),
    IndexFill=("index_fill_", 3),
    BitwiseAndTensor=("bitwise_and_", 1),
    Floor=("floor_", 0),
    BitwiseOrTensor=("bitwise_or_", 1),
    BitwiseXorTensor=("bitwise_xor_", 1),
    BitwiseNot=("bitwise_not_", 0),
    PowTensorScalar=("pow_", 1),
    Ceil=("ceil_", 0),
    PowTensorTensor=("pow_", 1),
    Reciprocal=("reciprocal_", 0),
    Rsqrt=("rsqrt_", 0),
    Abs=("abs_", 0),
    Clamp=("clamp_", 2),
    Erfinv=("erfinv_", 0),
    Sin=("sin_", 0),
)


def padded(fn):
    return lambda self, pad, *, out: fn(self, pad)


def padded_back(fn):
    return lambda grad, self, pad, *, out: fn(grad, self, pad)


EDGES = {f"{kind.title()}Pad{d}d": f"{kind}_pad{d}d" for kind in ("reflection", "replication") for d in (1, 2, 3)}

RULES = {
    **{name: unary(getattr(torch, name.lower())) for name in UNARY.split()},
    **{name: unary(getattr(torch, fn)) for name, fn in OTHER_UNARY.items()},
    **{name: unary(fn) for name, fn in ACTIVATIONS.items()},
    **{name: binary(getattr(torch, fn)) for name, fn in BINARY.items()},
    **{"Inplace" + name: method(*how) for name, how in INPLACE.items()},
    # ------------------------------------------------------------ elementwise
    "Add": lambda self, other, alpha, *, out: torch.add(self, other, alpha=alpha),
    "Adds": lambda self, other, alpha, *, out: torch.add(self, other, alpha=alpha),
    "AddV3": lambda self, other, alpha, *, out: self + alpha * other,
    "Sub": lambda self, other, alpha, *, out: torch.sub(self, other, alpha=alpha),
    "Subs": lambda self, other, alpha, *, out: torch.sub(self, other, alpha=alpha),
    "Rsub": lambda self, other, alpha, *, out: torch.rsub(self, other, alpha=alpha),
    "Rsubs": lambda self, other, alpha, *, out: torch.rsub(self, other, alpha=alpha),
    "InplaceAdd": lambda self, other, alpha: self.add(other, alpha=alpha),
    "InplaceAdds": lambda self, other, alpha: self.add(other, alpha=alpha),
    "InplaceSub": lambda self, other, alpha: self.sub(other, alpha=alpha),
    "InplaceSubs": lambda self, other, alpha: self.sub(other, alpha=alpha),
    "InplaceOne": lambda self: torch.ones_like(self),
    "InplaceDivMod": lambda self, other, mode: torch.div(self, other, rounding_mode=ROUNDING[mode]),
    "InplaceDivMods": lambda self, other, mode: torch.div(self, other, rounding_mode=ROUNDING[mode]),
    "InplaceAddcmul": lambda self, a, b, value: torch.addcmul(self, a, b, value=value),
    "InplaceAddcdiv": lambda self, a, b, value: torch.addcdiv(self, a, b, value=value),
    "InplaceLerp": lambda self, end, weight: torch.lerp(self, end, weight),
    "InplaceLerps": lambda self, end, weight: torch.lerp(self, end, weight),
    "InplaceClampMax": lambda self, high: self.clamp(max=high),
    "InplaceClampMinTensor": lambda self, low: torch.maximum(self, low),
    "InplaceClampMaxTensor": lambda self, high: torch.minimum(self, high),
    "Addcmul": lambda self, a, b, value, *, out: torch.addcmul(self, a, b, value=value),
    "Addcdiv": lambda self, a, b, value, *, out: torch.addcdiv(self, a, b, value=value),
    "Lerp": lambda self, end, weight, *, out: torch.lerp(self, end, weight),
    "Lerps": lambda self, end, weight, *, out: torch.lerp(self, end, weight),
    "DivMod": lambda self, other, mode, *, out: torch.div(self, other, rounding_mode=ROUNDING[mode]),
    "DivMods": lambda self, other, mode, *, out: torch.div(self, other, rounding_mode=ROUNDING[mode]),
    "IsClose": lambda self, other, rtol, atol, nan, *, out: torch.isclose(self, other, rtol, atol, nan),
    "ClampTensor": lambda self, low, high, *, out: torch.clamp(self, low, high),
    "Clamp": lambda self, low, high, *, out: torch.clamp(self, low, high),
    "ClampMin": lambda self, low, *, out: torch.clamp(self, low),
    "ClampMax": lambda self, high, *, out: torch.clamp(self, max=high),
    "ClampMinTensor": lambda self, low, *, out: torch.maximum(self, low),
    "ClampMaxTensor": lambda self, high, *, out: torch.minimum(self, high),
    "NanToNum": lambda self, nan, high, low, *, out: torch.nan_to_num(self, nan, high, low),
    "RoundDecimals": lambda self, decimals, *, out: (
        torch.round(self, decimals=decimals) if self.is_floating_point() else self
    ),
    "SWhere": lambda condition, self, other, *, out: torch.where(condition, self, other),
    "Cast": lambda self, dtype, *, out: self,
    # ------------------------------------------------------------ activations
    "Elu": lambda self, alpha, scale, inner, *, out: aten.elu(self, alpha, scale, inner),
    "EluBackward": lambda grad, alpha, scale, inner, is_result, self, *, out: aten.elu_backward(
        grad, alpha, scale, inner, is_result, self
    ),
    "LeakyRelu": lambda self, slope, *, out: F.leaky_relu(self, slope),
    "LeakyReluBackward": lambda grad, self, slope, is_result, *, out: aten.leaky_relu_backward(
        grad, self, slope, is_result
    ),
    "Hardtanh": lambda self, low, high, *, out: F.hardtanh(self, low, high),
    "HardtanhBackward": lambda grad, self, low, high, *, out: aten.hardtanh_backward(grad, self, low, high),
    "Hardshrink": lambda self, lambd, *, out: F.hardshrink(self, lambd),
    "HardshrinkBackward": lambda grad, self, lambd, *, out: aten.hardshrink_backward(grad, self, lambd),
    "Softshrink": lambda self, lambd, *, out: F.softshrink(self, lambd),
    "SoftshrinkBackward": lambda grad, self, lambd, *, out: aten.softshrink_backward(grad, self, lambd),
    "Softplus": lambda self, beta, threshold, *, out: F.softplus(self, beta, threshold),
    "SoftplusBackward": lambda grad, self, beta, threshold, *, out: aten.softplus_backward(grad, self, beta, threshold),
    "Threshold": lambda self, threshold, value, *, out: F.threshold(self, threshold, value),
    "ThresholdBackward": lambda grad, self, threshold, *, out: aten.threshold_backward(grad, self, threshold),
    "LogSigmoid": lambda self, *, out: F.logsigmoid(self),
    "LogSigmoidForward": lambda self, *, out, buffer: (F.logsigmoid(self), None),
    "LogSigmoidBackward": lambda grad, self, buffer, *, out: aten.log_sigmoid_backward(
        grad, self, torch.exp(-self.abs())
    ),
    "Glu": lambda self, dim, *, out: F.glu(self, dim),
    "GluBackward": lambda grad, self, dim, *, out: aten.glu_backward(grad, self, dim),
    "GeluV2": lambda self, approximate, *, out: F.gelu(self, approximate=APPROXIMATE[approximate]),
    "GeluBackward": lambda grad, self, *, out: aten.gelu_backward(grad, self),
    "GeluBackwardV2": lambda grad, self, approximate, *, out: aten.gelu_backward(grad, self, approximate=approximate),
    "HardsigmoidBackward": lambda grad, self, *, out: aten.hardsigmoid_backward(grad, self),
    "HardswishBackward": lambda grad, self, *, out: aten.hardswish_backward(grad, self),
    "MishBackward": lambda grad, self, *, out: aten.mish_backward(grad, self),
    "SeluBackward": lambda grad, result, *, out: aten.elu_backward(
        grad, 1.6732632423543772, 1.0507009873554805, 1.0, True, result
    ),
    "SigmoidBackward": lambda grad, result, *, out: aten.sigmoid_backward(grad, result),
    "SiluBackward": lambda grad, self, *, out: aten.silu_backward(grad, self),
    "TanhBackward": lambda grad, result, *, out: aten.tanh_backward(grad, result),
    "Prelu": lambda self, weight, *, out: F.prelu(self, weight.reshape(-1)),
    "PreluBackward": lambda grad, self, weight, *, dx, dw: gradients(
        lambda x, w: F.prelu(x, w.reshape(-1)), grad, self, weight
    ),
    "Softmax": lambda self, dim, *, out: torch.softmax(self, dim),
    "SoftmaxBackward": lambda grad, result, dim, *, out: aten._softmax_backward_data(grad, result, dim, result.dtype),
    "LogSoftmax": lambda self, dim, *, out: torch.log_softmax(self, dim),
    "LogSoftmaxBackward": lambda grad, result, dim, *, out: aten._log_softmax_backward_data(
        grad, result, dim, result.dtype
    ),
    # ------------------------------------------------------------ matrices
    "Matmul": lambda self, other, *, out, cube: (wide(torch.matmul, self, other), None),
    "Mm": lambda self, other, *, out, cube: (wide(torch.mm, self, other), None),
    "Mv": lambda self, vector, *, out, cube: (torch.mv(self, vector), None),
    "BatchMatMul": lambda self, other, *, out, cube: (wide(torch.bmm, self, other), None),
    "Addmm": lambda self, a, b, beta, alpha, *, out, cube: (torch.addmm(self, a, b, beta=beta, alpha=alpha), None),
    "Addmv": lambda self, a, b, alpha, beta, *, out, cube: (torch.addmv(self, a, b, beta=beta, alpha=alpha), None),
    "Addbmm": lambda self, a, b, beta, alpha, *, out, cube: (torch.addbmm(self, a, b, beta=beta, alpha=alpha), None),
    "Baddbmm": lambda self, a, b, beta, alpha, *, out, cube: (torch.baddbmm(self, a, b, beta=beta, alpha=alpha), None),
    "InplaceAddmm": lambda self, a, b, beta, alpha, cube: torch.addmm(self, a, b, beta=beta, alpha=alpha),
    "InplaceBaddbmm": lambda self, a, b, beta, alpha, cube: torch.baddbmm(self, a, b, beta=beta, alpha=alpha),
    "Addr": lambda self, a, b, beta, alpha, *, out: torch.addr(self, a, b, beta=beta, alpha=alpha),
    "LinalgCross": lambda self, other, dim, *, out: torch.linalg.cross(self, other, dim=dim),
    "LinalgVectorNorm": lambda self, order, dims, keep, dtype, *, out: torch.linalg.vector_norm(
        self, order, dims or None, keep, dtype=out.dtype
    ),
    "Norm": lambda self, order, dims, keep, *, out: torch.norm(self, order, dims or None, keep),
    "LinalgQr": lambda self, mode, *, q, r: torch.linalg.qr(self, ("reduced", "complete", "r")[mode]),
    "TriangularSolve": lambda self, a, upper, transpose, unit, *, out, m: torch.triangular_solve(
        self, a, upper, transpose, unit
    ),
    "Trace": lambda self, *, out: torch.trace(self),
    # ------------------------------------------------------------ reductions and orders
    "ReduceSum": lambda self, dims, keep, dtype, *, out: torch.sum(self, dims, keep, dtype=out.dtype),
    "ReduceNansum": lambda self, dims, keep, dtype, *, out: torch.nansum(self, dims, keep, dtype=out.dtype),
    "Mean": lambda self, dims, keep, dtype, *, out: torch.mean(self, dims, keep, dtype=out.dtype),
    "MeanV2": lambda self, dims, keep, no_op, *, out: torch.mean(self, dims, keep),
    "Prod": lambda self, dtype, *, out: torch.prod(self, dtype=out.dtype),
    "ProdDim": lambda self, dim, keep, dtype, *, out: torch.prod(self, dim, keep, dtype=out.dtype),
    "All": lambda self, dims, keep, *, out: torch.all(self, dims, keep) if dims else torch.all(self),
    "Any": lambda self, dims, keep, *, out: torch.any(self, dims, keep) if dims else torch.any(self),
    "Amax": lambda self, dims, keep, *, out: torch.amax(self, dims, keep),
    "Amin": lambda self, dims, keep, *, out: torch.amin(self, dims, keep),
    "Aminmax": lambda self, dims, keep, *, low, high: (torch.amin(self, dims, keep), torch.amax(self, dims, keep)),
    "Max": lambda self, *, out: torch.max(self),
    "Min": lambda self, *, out: torch.min(self),
    "MaxDim": lambda self, dim, keep, *, out, indices: torch.max(self, dim, keep),
    "MinDim": lambda self, dim, keep, *, out, indices: torch.min(self, dim, keep),
    "ArgMax": lambda self, dim, keep, *, out: torch.argmax(self, dim, keep),
    "ArgMin": lambda self, dim, keep, *, out: torch.argmin(self, dim, keep),
    "Median": lambda self, *, out: torch.median(self),
    "NanMedian": lambda self, *, out: torch.nanmedian(self),
    "MedianDim": lambda self, dim, keep, *, out, indices: torch.median(self, dim, keep),
    "NanMedianDim": lambda self, dim, keep, *, out, indices: torch.nanmedian(self, dim, keep),
    "Kthvalue": lambda self, k, dim, keep, *, out, indices: torch.kthvalue(self, k, dim, keep),
    "Std": lambda self, dims, correction, keep, *, out: torch.std(self, dims, correction=correction, keepdim=keep),
    "Var": lambda self, dims, unbiased, keep, *, out: torch.var(self, dims, unbiased=unbiased, keepdim=keep),
    "VarCorrection": lambda self, dims, correction, keep, *, out: torch.var(
        self, dims, correction=correction, keepdim=keep
    ),
    "StdMeanCorrection": lambda self, dims, correction, keep, *, std, mean: torch.std_mean(
        self, dims, correction=correction, keepdim=keep
    ),
    "VarMean": lambda self, dims, correction, keep, *, mean, var: torch.var_mean(
        self, dims, correction=correction, keepdim=keep
    )[::-1],
    "LogSumExp": lambda self, dims, keep, *, out: torch.logsumexp(self, dims, keep),
    "Cumsum": lambda self, dim, dtype, *, out: torch.cumsum(self, dim, dtype=out.dtype),
    "CumsumV2": lambda self, dim, exclusive, reverse, *, out: torch.cumsum(self, dim, dtype=out.dtype),
    "Cumprod": lambda self, dim, dtype, *, out: torch.cumprod(
        self, dim.item() if isinstance(dim, torch.Tensor) else dim, dtype=out.dtype
    ),
    "Cummax": lambda self, dim, *, out, indices: torch.cummax(self, dim),
    "Cummin": lambda self, dim, *, out, indices: torch.cummin(self, dim),
    "Sort": lambda self, stable, dim, descending, *, out, indices: torch.sort(
        self, stable=stable, dim=dim, descending=descending
    ),
    "Argsort": lambda self, dim, descending, *, out: torch.argsort(self, dim, descending, stable=True),
    "Topk": lambda self, k, dim, largest, ordered, *, out, indices: torch.topk(self, k, dim, largest, ordered),
    "Bincount": lambda self, weights, least, *, out: torch.bincount(self, weights, least),
    "Histc": lambda self, bins, low, high, *, out: torch.histc(self, bins, low, high),
    "SearchSorted": lambda boundaries, self, small, right, sorter, *, out: torch.searchsorted(
        boundaries, self, out_int32=small, right=right, sorter=sorter
    ),
    "Unique2": lambda self, ordered, inverse, counts, *, out, index, count: unique(self, inverse, counts),
    "UniqueDim": lambda self, ordered, inverse, dim, *, out, index, count: unique_dim(self, dim),
    "UniqueConsecutive": lambda self, inverse, counts, dim, *, out, index, count: unique_consecutive(
        self, inverse, counts, dim
    ),
    # ------------------------------------------------------------ shapes and indices
    "Arange": lambda start, end, step, *, out: (
        torch.arange(out.numel()).to(torch.int64 if not out.is_floating_point() else torch.float64) * step + start
    ),
    "Linspace": lambda start, end, steps, *, out: torch.linspace(start, end, steps, dtype=out.dtype),
    "Eye": lambda rows, columns, *, out: torch.eye(rows, columns),
    "OneHot": lambda self, classes, on, off, axis, *, out: torch.where(F.one_hot(self.long(), classes).bool(), on, off),
    "Cat": lambda tensors, dim, *, out: torch.cat(tensors, dim),
    "Stack": lambda tensors, dim, *, out: torch.stack(tensors, dim),
    "SplitTensor": lambda self, sizes, dim, *, out: (torch.split(self, sizes, dim),),
    "SplitWithSize": lambda self, sizes, dim, *, out: (torch.split(self, sizes, dim),),
    "Flip": lambda self, dims, *, out: torch.flip(self, dims),
    "Roll": lambda self, shifts, dims, *, out: torch.roll(self, shifts, dims or None),
    "Repeat": lambda self, repeats, *, out: self.repeat(repeats),
    "RepeatInterleave": lambda self, repeats, size, *, out: torch.repeat_interleave(self.reshape(-1), repeats),
    "RepeatInterleaveWithDim": lambda self, repeats, dim, size, *, out: torch.repeat_interleave(self, repeats, dim),
    "RepeatInterleaveInt": lambda self, repeats, size, *, out: torch.repeat_interleave(self.reshape(-1), repeats),
    "RepeatInterleaveIntWithDim": lambda self, repeats, dim, size, *, out: torch.repeat_interleave(self, repeats, dim),
    "Permute": lambda self, dims, *, out: self.permute(dims),
    "Expand": lambda self, shape, *, out: self.expand(shape),
    "Tril": lambda self, diagonal, *, out: torch.tril(self, diagonal),
    "Triu": lambda self, diagonal, *, out: torch.triu(self, diagonal),
    "Diag": lambda self, diagonal, *, out: torch.diag(self, diagonal),
    "ConstantPadNd": lambda self, pad, value, *, out: F.pad(self, pad, value=value),
    **{name: padded(getattr(aten, fn)) for name, fn in EDGES.items()},
    **{name + "Backward": padded_back(getattr(aten, fn + "_backward")) for name, fn in EDGES.items()},
    "Gather": lambda self, dim, index, *, out: torch.gather(self, dim, index.long()),
    "IndexSelect": lambda self, dim, index, *, out: torch.index_select(self, dim, index),
    "Index": lambda self, indices, *, out: aten.index(self, present(indices)),
    "IndexAdd": lambda self, dim, index, source, alpha, *, out: torch.index_add(self, dim, index, source, alpha=alpha),
    "IndexAddV2": lambda self, dim, index, source, alpha, mode, *, out: torch.index_add(
        self, dim, index, source, alpha=alpha
    ),
    "InplaceIndexFill": lambda self, dim, index, value: self.index_fill(dim, torch.as_tensor(index), value),
    "InplaceIndexFillTensor": lambda self, dim, index, value: self.index_fill(dim, torch.as_tensor(index), value),
    "IndexFillTensor": lambda self, dim, index, value, *, out: self.index_fill(dim, torch.as_tensor(index), value),
    "IndexPutImpl": lambda self, indices, values, accumulate, unsafe: aten.index_put(
        self, present(indices), values, accumulate
    ),
    "Scatter": lambda self, dim, index, src, reduce, *, out: scatter(self, dim, index, src, reduce),
    "ScatterValue": lambda self, dim, index, value, reduce, *, out: scatter(self, dim, index, value, reduce),
    "ScatterAdd": lambda self, dim, index, src, *, out: torch.scatter_add(self, dim, index, src),
    "InplaceScatter": lambda self, dim, index, src, reduce: scatter(self, dim, index, src, reduce),
    "InplaceScatterValue": lambda self, dim, index, value, reduce: scatter(self, dim, index, value, reduce),
    "Take": lambda self, index, *, out: torch.take(self, index),
    "InplacePut": lambda self, index, source, accumulate: self.put(index, source, accumulate),
    "MaskedSelect": lambda self, mask, *, out: Sized([torch.masked_select(self, mask)]),
    "Nonzero": lambda self, *, out: Sized([torch.nonzero(self)]),
    "NonzeroV2": lambda self, *, out: Sized([torch.nonzero(self).T]),
    "Embedding": lambda weight, indices, *, out: F.embedding(indices.long(), weight),
    "EmbeddingDenseBackward": lambda grad, ids, rows, padding, scale, *, out: aten.embedding_dense_backward(
        grad, ids.long(), rows, padding, scale
    ),
    "EmbeddingRenorm": lambda self, indices, limit, norm: aten.embedding_renorm(self, indices.reshape(-1), limit, norm),
    # ------------------------------------------------------------ normalization
    "LayerNorm": lambda x, shape, weight, bias, eps, *, out, mean, rstd: aten.native_layer_norm(
        x, shape, weight, bias, eps
    ),
    "LayerNormBackward": lambda grad, x, shape, mean, rstd, w, b, mask, *, dx, dw, db: aten.native_layer_norm_backward(
        grad, x, shape, mean, rstd, w, b, mask
    ),
    "GroupNorm": lambda x, weight, bias, n, c, hxw, group, eps, *, out, mean, rstd: aten.native_group_norm(
        x.contiguous(), weight.contiguous(), bias.contiguous(), n, c, hxw, group, eps
    ),
    "GroupNormBackward": lambda grad, x, mean, rstd, w, n, c, hxw, group, mask, *, dx, dw, db: (
        aten.native_group_norm_backward(*(t.contiguous() for t in (grad, x, mean, rstd, w)), n, c, hxw, group, mask)
    ),
    "BatchNorm": lambda x, w, b, mean, var, training, momentum, eps, *, out, saved, inverse: batch_norm(
        x, w, b, mean, var, training, momentum, eps
    ),
    "BatchNormBackward": lambda dy, x, w, mean, var, saved, inverse, training, eps, mask, *, dx, dw, db: (
        batch_norm_backward(dy, x, w, mean, var, saved, inverse, training, eps, mask)
    ),
    "RmsNorm": lambda x, gamma, eps, *, y, rstd: rms_norm(x, gamma, eps),
    "RmsNormGrad": lambda dy, x, rstd, gamma, *, dx, dgamma: rms_norm_grad(dy, x, rstd, gamma),
    "AddRmsNorm": lambda a, b, gamma, eps, *, y, rstd, x: (*rms_norm(a + b, gamma, eps), a + b),
    "AddLayerNorm": lambda a, b, gamma, beta, bias, eps, more, *, y, mean, rstd, x: (
        *aten.native_layer_norm(a + b, list(gamma.shape), gamma, beta, eps),
        a + b if more else None,
    ),
    # ------------------------------------------------------------ losses
    "BinaryCrossEntropy": lambda self, target, weight, reduction, *, out: aten.binary_cross_entropy(
        self, target, weight, reduction
    ),
    "BinaryCrossEntropyBackward": lambda grad, self, target, weight, reduction, *, out: (
        aten.binary_cross_entropy_backward(grad, self, target, weight, reduction)
    ),
    "BinaryCrossEntropyWithLogits": lambda self, target, weight, pos, reduction, *, out: wide(
        aten.binary_cross_entropy_with_logits, self, target, weight, pos, reduction
    ),
    "BinaryCrossEntropyWithLogitsBackward": lambda grad, self, target, weight, pos, reduction, *, out: gradients(
        lambda x: aten.binary_cross_entropy_with_logits(x, target, weight, pos, reduction), grad, self
    )[0],
    "KlDiv": lambda self, target, reduction, log_target, *, out: aten.kl_div(
        self, target, reduction, log_target=log_target
    ),
    "L1Loss": lambda self, target, reduction, *, out: aten.l1_loss(self, target, reduction),
    "MseLoss": lambda self, target, reduction, *, out: aten.mse_loss(self, target, reduction),
    "MseLossBackward": lambda grad, self, target, reduction, *, out: aten.mse_loss_backward(
        grad, self, target, reduction
    ),
    "SmoothL1Loss": lambda self, target, reduction, beta, *, out: aten.smooth_l1_loss(self, target, reduction, beta),
    "SmoothL1LossBackward": lambda grad, self, target, reduction, beta, *, out: aten.smooth_l1_loss_backward(
        grad, self, target, reduction, beta
    ),
    "SoftMarginLoss": lambda self, target, reduction, *, out: aten.soft_margin_loss(self, target, reduction),
    "SoftMarginLossBackward": lambda grad, self, target, reduction, *, out: aten.soft_margin_loss_backward(
        grad, self, target, reduction
    ),
    "CrossEntropyLoss": cross_entropy,
    "CrossEntropyLossGrad": cross_entropy_grad,
    "NLLLoss": lambda self, target, weight, reduction, ignore, *, out, total: aten.nll_loss_forward(
        self, target, weight, reduction, ignore
    ),
    "NLLLossBackward": lambda grad, self, target, weight, reduction, ignore, total, *, out: aten.nll_loss_backward(
        grad, self, target, weight, reduction, ignore, total.reshape(())
    ),
    "NLLLoss2d": lambda self, target, weight, reduction, ignore, *, out, total: aten.nll_loss2d_forward(
        self, target, weight, reduction, ignore
    ),
    "NLLLoss2dBackward": lambda grad, self, target, weight, reduction, ignore, total, *, out: aten.nll_loss2d_backward(
        grad, self, target, weight, reduction, ignore, total.reshape(())
    ),
    # ------------------------------------------------------------ images
    "Convolution": lambda x, w, b, stride, padding, dilation, transposed, more, groups, *, out, cube: (
        wide(aten.convolution, x, w, b, stride, padding, dilation, transposed, more, groups),
        None,
    ),
    "ConvolutionBackward": convolution_grad,
    "AvgPool2d": lambda self, kernel, stride, padding, ceil, include, divisor, cube, *, out: aten.avg_pool2d(
        self, kernel, stride, padding, ceil, include, divisor or None
    ),
    "AvgPool3d": lambda self, kernel, stride, padding, ceil, include, divisor, *, out: aten.avg_pool3d(
        self, kernel, stride, padding, ceil, include, divisor or None
    ),
    "AvgPool2dBackward": lambda grad, self, kernel, stride, padding, ceil, include, divisor, cube, *, out: (
        aten.avg_pool2d_backward(grad, self, kernel, stride, padding, ceil, include, divisor or None)
    ),
    "AvgPool3dBackward": lambda grad, self, kernel, stride, padding, ceil, include, divisor, *, out: (
        aten.avg_pool3d_backward(grad, self, kernel, stride, padding, ceil, include, divisor or None)
    ),
    "MaxPool2dWithIndicesBackward": lambda grad, self, indices, kernel, stride, padding, dilation, ceil, *, out: (
        aten.max_pool2d_with_indices_backward(grad, self, kernel, stride, padding, dilation, ceil, indices.long())
    ),
    "AdaptiveAvgPool2d": lambda self, size, *, out: aten.adaptive_avg_pool2d(self, size),
    "AdaptiveAvgPool3d": lambda self, size, *, out: aten.adaptive_avg_pool3d(self, size),
    "AdaptiveMaxPool2d": lambda self, size, *, out, indices: aten.adaptive_max_pool2d(self, size),
    "MaxPool2dWithIndices": lambda self, kernel, stride, padding, dilation, ceil, *, out, indices: (
        aten.max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil)
    ),
    "Im2col": lambda self, kernel, dilation, padding, stride, *, out: aten.im2col(
        self, kernel, dilation, padding, stride
    ),
    "Im2colBackward": lambda grad, size, kernel, dilation, padding, stride, *, out: aten.col2im(
        grad, size, kernel, dilation, padding, stride
    ),
    "GridSampler2DBackward": lambda grad, x, grid, mode, padding, corners, mask, *, dx, dgrid: (
        aten.grid_sampler_2d_backward(grad, x, grid, mode, padding, corners, mask)
    ),
    "GridSampler3DBackward": lambda grad, x, grid, mode, padding, corners, mask, *, dx, dgrid: (
        aten.grid_sampler_3d_backward(grad, x, grid, mode, padding, corners, mask)
    ),
    "GridSampler2D": lambda x, grid, mode, padding, corners, *, out: aten.grid_sampler_2d(
        x, grid, mode, padding, corners
    ),
    "GridSampler3D": lambda x, grid, mode, padding, corners, *, out: aten.grid_sampler_3d(
        x, grid, mode, padding, corners
    ),
    "UpsampleNearest1d": lambda self, size, *, out: aten.upsample_nearest1d(self, size),
    "UpsampleNearest1dV2": lambda self, size, s, *, out: aten.upsample_nearest1d(self, size, s or None),
    "UpsampleNearest2d": lambda self, size, *, out: aten.upsample_nearest2d(self, size),
    "UpsampleNearest2dV2": lambda self, size, h, w, *, out: aten.upsample_nearest2d(self, size, h or None, w or None),
    "UpsampleNearest3d": lambda self, size, d, h, w, *, out: aten.upsample_nearest3d(
        self, size, d or None, h or None, w or None
    ),
    "UpsampleLinear1d": lambda self, size, corners, s, *, out: aten.upsample_linear1d(self, size, corners, s or None),
    "UpsampleBilinear2d": lambda self, size, corners, h, w, *, out: aten.upsample_bilinear2d(
        self, size, corners, h or None, w or None
    ),
    "UpsampleBicubic2d": lambda self, size, corners, h, w, *, out: aten.upsample_bicubic2d(
        self, size, corners, h or None, w or None
    ),
    "UpsampleTrilinear3d": lambda self, size, corners, d, h, w, *, out: aten.upsample_trilinear3d(
        self, size, corners, d or None, h or None, w or None
    ),
    "UpsampleNearest1dBackward": lambda grad, size, given, s, *, out: aten.upsample_nearest1d_backward(
        grad, size, given, s or None
    ),
    "UpsampleNearest2dBackward": lambda grad, size, given, h, w, *, out: aten.upsample_nearest2d_backward(
        grad, size, given, h or None, w or None
    ),
    "UpsampleNearest3dBackward": lambda grad, size, given, d, h, w, *, out: aten.upsample_nearest3d_backward(
        grad, size, given, d or None, h or None, w or None
    ),
    "UpsampleLinear1dBackward": lambda grad, size, given, corners, s, *, out: aten.upsample_linear1d_backward(
        grad, size, given, corners, s or None
    ),
    "UpsampleBilinear2dBackward": lambda grad, size, given, corners, h, w, *, out: aten.upsample_bilinear2d_backward(
        grad, size, given, corners, h or None, w or None
    ),
    "UpsampleBilinear2dBackwardV2": lambda grad, size, given, corners, h, w, *, out: aten.upsample_bilinear2d_backward(
        grad, size, given, corners, h or None, w or None
    ),
    "UpsampleBicubic2dBackward": lambda grad, size, given, corners, h, w, *, out: aten.upsample_bicubic2d_backward(
        grad, size, given, corners, h or None, w or None
    ),
    "UpsampleTrilinear3dBackward": lambda grad, size, given, corners, d, h, w, *, out: (
        aten.upsample_trilinear3d_backward(grad, size, given, corners, d or None, h or None, w or None)
    ),
    # ------------------------------------------------------------ random numbers
    "InplaceUniform": lambda self, low, high, seed, offset: (
        torch.rand(self.shape, generator=stream(seed, offset)) * (high - low) + low
    ),
    "InplaceNormal": lambda self, mean, std, seed, offset: (
        torch.randn(self.shape, generator=stream(seed, offset)) * std + mean
    ),
    "InplaceRandom": lambda self, low, high, seed, offset: torch.randint(
        low, high, self.shape, generator=stream(seed, offset)
    ),
    "InplaceBernoulli": lambda self, p, seed, offset: torch.rand(self.shape, generator=stream(seed, offset)) < p,
    "Randperm": lambda n, seed, offset, *, out: torch.randperm(n, generator=stream(seed, offset)),
    "DropoutGenMask": lambda shape, p, seed, offset, *, out: kept(shape, p, seed, offset, out),
    "DropoutGenMaskV2": lambda shape, p, seed, offset, dtype, *, out: kept(shape, p, seed, offset, out),
    "DropoutDoMask": lambda self, mask, p, *, out: self * unpacked(mask, self) / (1 - p),
    # ------------------------------------------------------------ fused
    "FlashAttentionScore": attention,
    "FlashAttentionScoreGrad": attention_grad,
    "SwiGlu": lambda x, dim, *, out: swiglu(x, dim),
    "SwiGluGrad": lambda grad, x, dim, *, out: gradients(lambda a: swiglu(a, dim), grad, x),
    "RotaryPositionEmbedding": lambda x, cos, sin, mode, *, out: rotary(x, cos, sin, mode),
    "RotaryPositionEmbeddingGrad": lambda grad, cos, sin, x, mode, *, dx, dcos, dsin: gradients(
        lambda *a: rotary(*a, mode), grad, x, cos, sin
    ),
    "ApplyAdamWV2": lambda var, m, v, greatest, grad, step, *numbers: adam(var, m, v, greatest, grad, step, *numbers),
}

# ---------------------------------------------------------------- collectives: from the ranks' inputs and a number,
# each rank's output
REDUCE = (lambda x: x.sum(0), lambda x: x.prod(0), lambda x: x.amax(0), lambda x: x.amin(0))


def to_all(sent, extra, counts):
    parts = [s.split(c) for s, c in zip(sent, counts, strict=True)]
    return [torch.cat([p[r] for p in parts]) for r in range(len(sent))]


def alike(sent, extra, counts):
    """Check what all ranks must have in common: how much they send, by which operator or from which root."""
    if len(set(extra)) > 1:
        raise Refused(f"the ranks' operators or roots differ: {extra}")
    kinds = [(s.dtype, s.numel()) for s in sent]
    if len(set(kinds)) > 1:
        raise Refused(f"the ranks' dtypes or counts differ: {', '.join(f'{str(d)[6:]}[{n}]' for d, n in kinds)}")
    return extra[0]


def reduced(sent, op):
    return REDUCE[op](torch.stack(sent)).to(sent[0].dtype)


def all_reduce(sent, extra, counts):
    return [reduced(sent, alike(sent, extra, counts))] * len(sent)


def reduce(sent, extra, counts):
    op = alike(sent, extra, counts)
    return [reduced(sent, op & 255) if r == op >> 8 else None for r in range(len(sent))]


def all_gather(sent, extra, counts):
    alike(sent, extra, counts)
    return [torch.cat(sent)] * len(sent)


def all_gather_uneven(sent, extra, counts):
    if any(c != [s.numel() for s in sent] for c in counts):
        raise Refused(f"the ranks' counts differ: {counts}, sent {[s.numel() for s in sent]}")
    return [torch.cat(sent)] * len(sent)


def reduce_scatter(sent, extra, counts):
    return reduced(sent, alike(sent, extra, counts)).chunk(len(sent))


def reduce_scatter_uneven(sent, extra, counts):
    return reduced(sent, alike(sent, extra, counts)).split(counts[0])


def broadcast(sent, extra, counts):
    return [sent[alike(sent, extra, counts)].clone()] * len(sent)


COLLECTIVES = {
    "HcclAllReduce": all_reduce,
    "HcclReduce": reduce,
    "HcclAllGather": all_gather,
    "HcclAllGatherV": all_gather_uneven,
    "HcclReduceScatter": reduce_scatter,
    "HcclReduceScatterV": reduce_scatter_uneven,
    "HcclBroadcast": broadcast,
    "HcclScatter": lambda sent, root, _: sent[root[0]].clone().chunk(len(sent)),
    "HcclAlltoAll": lambda sent, _, __: to_all(sent, _, [s.numel() // len(sent) for s in sent]),
    "HcclAlltoAllV": to_all,
    "HcclBarrier": lambda sent, _, __: [None] * len(sent),
    "HcclInit": lambda sent, _, __: [None] * len(sent),  # of a communicator
}


class Group:
    """The ranks of one communicator: all meet, and the last that comes computes."""

    known, lock = {}, threading.Lock()

    def __init__(self, n):
        self.n, self.came, self.changed, self.round, self.error = n, {}, threading.Condition(), 0, None

    @classmethod
    def named(cls, name, n):
        with cls.lock:
            return cls.known.setdefault(name, cls(n))

    def compute(self):
        sent, received, extra, counts, names = zip(*(self.came[r] for r in range(self.n)), strict=True)
        if len(set(names)) > 1:
            raise Refused(f"the ranks are in different collectives: {', '.join(names)}")
        for out, value in zip(received, COLLECTIVES[names[0]](sent, extra, counts), strict=True):
            if value is not None and value.numel() != out.numel():
                raise Refused(f"{names[0]}: {value.numel()} elements come, the rank expects {out.numel()}")
            if value is not None:
                out.copy_(value)

    def meet(self, rank, given, alive):
        """Come with what a rank gives, and return when all have come; a rank that has died counts no more."""
        self.came[rank] = given
        if len(self.came) == self.n:
            try:
                self.error = None
                self.compute()
            except Exception as e:  # noqa: BLE001  (every rank raises it)
                self.error = e
            self.came, self.round = {}, self.round + 1
            self.changed.notify_all()
            return
        mine, end = self.round, time.monotonic() + LIMIT
        while self.round == mine:
            self.changed.wait(0.2)
            late = time.monotonic() > end
            if self.round == mine and (late or not alive()):
                del self.came[rank]
                raise RuntimeError(f"{given[-1]}: not every rank of {self.n} came within {LIMIT} seconds")


def collective(name, group, n, rank, extra, send, recv, counts=None, *, alive):
    g = Group.named(group, n)
    with g.changed:
        g.meet(rank, (send, recv, extra, counts, name), alive)
        error = g.error  # of this round: the next one needs this rank
    if error is not None:
        raise error


MAIL, MAIL_LOCK = {}, threading.Lock()


def messages(name, group, n, rank, count, *items, alive):
    """Send and receive: a send ends when the other rank has taken it."""

    def box(source, target):
        with MAIL_LOCK:
            return MAIL.setdefault((group, source, target), queue.Queue())

    taken, waiting = [], []
    for peer, receives, memory in zip(*[iter(items)] * 3, strict=True):
        if receives:
            waiting.append((peer, memory))
        else:
            taken.append(threading.Event())
            box(rank, peer).put((memory, taken[-1]))
    for peer, memory in waiting:
        try:
            sent, done = box(peer, rank).get(timeout=LIMIT)
        except queue.Empty:
            raise RuntimeError(f"{name}: rank {peer} sent nothing within {LIMIT} seconds") from None
        if (sent.dtype, sent.numel()) != (memory.dtype, memory.numel()):
            raise Refused(f"{name}: rank {peer} sent {sent.dtype}[{sent.numel()}], {memory.numel()} were expected")
        memory.copy_(sent)
        done.set()
    if not all(t.wait(LIMIT) for t in taken):
        raise RuntimeError(f"{name}: a message was not received within {LIMIT} seconds")
