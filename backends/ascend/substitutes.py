"""What computes a function that some chip does not have, over functions that it has.

A substitute is called where the table of chips says that the primitive of its operator is not supported, and gets the
operator's arguments. Which functions a chip has that its pages do not list was reported by people who have it.
"""

import math

from ...runtime.ops.pooling import pooled
from ...runtime.registry import T
from ...runtime.tensor import Tensor

SUBSTITUTES: dict = {}  # full name of an operator: the function


def substitute(name):
    """Decorate the function that computes an operator where the chip lacks its primitive."""

    def deco(fn):
        SUBSTITUTES[name] = fn
        return fn

    return deco


@substitute("_where")
def _where(condition, self, other):
    """Return the sum of both operands, each zero where the other is chosen; NaN and infinity do not spread."""
    pair = [x if isinstance(x, Tensor) else T.full((), x, device=condition.device) for x in (self, other)]
    condition, self, other = T.broadcast_tensors(condition, *pair)
    return self.masked_fill(condition.logical_not(), 0) + other.masked_fill(condition, 0)


@substitute("dot")
def _dot(self, tensor):
    return (self * tensor).sum()


@substitute("_C._nn.avg_pool2d")
def _avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """Return sums of shifted slices over the number of elements of each window that count."""
    spatial = self._shape[-2:]
    out = pooled(spatial, kernel_size, stride, padding, (1, 1), ceil_mode)
    # as much at the far side as the last window reaches
    far = [(o - 1) * s + k - n - p for o, s, k, n, p in zip(out, stride, kernel_size, spatial, padding)]
    inside = [n + p for n, p in zip(spatial, padding)]  # what counts reaches to here where padding counts

    def summed(x, counts):
        x = T.constant_pad_nd(x, [padding[1], far[1], padding[0], far[0]])
        if counts and count_include_pad:
            x[..., : inside[0] + padding[0], : inside[1] + padding[1]] = 1
        rows = [
            x[..., i : i + (out[0] - 1) * stride[0] + 1 : stride[0], j : j + (out[1] - 1) * stride[1] + 1 : stride[1]]
            for i in range(kernel_size[0])
            for j in range(kernel_size[1])
        ]
        return T.stack(rows).sum(0)

    if divisor_override:
        return summed(self, False) / divisor_override
    return summed(self, False) / summed(T.ones(spatial, dtype=self.dtype, device=self.device), True)


@substitute("atan2")
def _atan2(self, other):
    """Return the angle by the arctangent of the quotient, half a turn further where other is negative."""
    angle = (self / other).atan()
    turned = T.where(T.signbit(self), -math.pi, math.pi)
    angle = T.where(T.signbit(other), angle + turned, angle)
    still = (self == 0) & (other == 0) | self.isinf() & other.isinf()
    eighth = T.where(T.signbit(other), 0.75 * math.pi, 0.25 * math.pi)
    special = T.where(self == 0, T.where(T.signbit(other), math.pi, 0.0), eighth)
    return T.where(still, T.where(T.signbit(self), -special, special), angle).to(self.dtype)


@substitute("lerp")
def _lerp(self, end, weight):
    """Return self + weight * (end - self), counted from the nearer end."""
    near = self + weight * (end - self)
    far = end - (end - self) * (1 - weight)
    if isinstance(weight, Tensor):
        return T.where(weight.abs() < 0.5, near, far)
    return near if abs(weight) < 0.5 else far


@substitute("remainder")
def _remainder(self, other):
    """Return self - floor(self / other) * other; the quotient of integers is not rounded."""
    if not isinstance(self, Tensor):
        self = T.full((), self, dtype=other.dtype, device=other.device)
    found = self - T.floor_divide(self, other) * other
    if not (isinstance(other, Tensor) and other.dtype.is_floating_point):
        return found
    within = T.where((self == 0) | (T.signbit(self) == T.signbit(other)), self, other)
    return T.where(other.isinf() & self.isfinite(), within, found)


def _log1p_exp(x):
    """Return log(1 + exp(x)) without an overflow."""
    return (-x.abs()).exp().log1p() + x.clamp(min=0)


@substitute("nn.functional.softplus")
def _softplus(self, beta, threshold):
    """Return log(1 + exp(beta * self)) / beta, and self itself where beta * self is above the threshold."""
    x = self * beta
    return T.where(x > threshold, self, _log1p_exp(x) / beta)


@substitute("_C._nn.mish")
def _mish(self):
    return self * _log1p_exp(self).tanh()


@substitute("_isclose")
def _isclose(self, other, rtol, atol, equal_nan):
    close = (self == other) | ((self - other).abs() <= atol + rtol * other.abs()) & other.isfinite()
    return close | (self != self) & (other != other) if equal_nan else close


@substitute("_flip")
def _flip(self, dims):
    for d in dims:
        self = self.index_select(d, T.arange(self._shape[d] - 1, -1, -1, device=self.device))
    return self


@substitute("gather")
def _gather(self, dim, index, sparse_grad=False):
    """Return the elements at their flat positions."""
    dim = dim % len(self._shape)
    flat = index * math.prod(self._shape[dim + 1 :])
    for d, size in enumerate(index._shape):
        if d != dim:
            places = T.arange(size, device=index.device) * math.prod(self._shape[d + 1 :])
            flat = flat + places.reshape([size if i == d else 1 for i in range(len(index._shape))])
    return self.reshape(-1).index_select(0, flat.reshape(-1)).reshape(index._shape)


@substitute("native_layer_norm")
def _layer_norm(input, normalized_shape, weight, bias, eps):
    """Return the normalized input, its mean and the reciprocal of its deviation."""
    dims = list(range(-len(normalized_shape), 0))
    mean = input.mean(dims, keepdim=True)
    apart = input - mean
    scale = ((apart * apart).mean(dims, keepdim=True) + eps).rsqrt()
    out = apart * scale
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, scale


@substitute("_C.native_batch_norm")
def _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """Return the normalized input with the mean and the reciprocal of the deviation that were used."""
    dims = [d for d in range(len(input._shape)) if d != 1]
    shape = [-1 if d == 1 else 1 for d in range(len(input._shape))]
    mean, var = running_mean, running_var
    if training:
        mean = input.mean(dims)
        apart = input - mean.reshape(shape)
        var = (apart * apart).mean(dims)
        if running_mean is not None:
            n = math.prod(input._shape) // input._shape[1]
            running_mean.mul_(1 - momentum).add_(mean.detach() * momentum)
            running_var.mul_(1 - momentum).add_(var.detach() * (momentum * n / (n - 1)))
    scale = (var + eps).rsqrt()
    out = (input - mean.reshape(shape)) * scale.reshape(shape)
    out = out if weight is None else out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape), mean, scale
