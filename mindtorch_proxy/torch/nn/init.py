"""Initialization of parameters, in-place and outside autograd."""

import functools
import math
import warnings

import torch

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]


def _overridable(function):
    """Decorator: let a tensor class with __torch_function__ override the function."""

    @functools.wraps(function)
    def wrapper(tensor, *args, **kwargs):
        if torch.overrides.has_torch_function_variadic(tensor):
            return torch.overrides.handle_torch_function(wrapper, (tensor,), tensor, *args, **kwargs)
        return function(tensor, *args, **kwargs)

    return wrapper


def calculate_gain(nonlinearity, param=None):
    """Return the recommended gain for a nonlinearity; `param` is the negative slope of leaky_relu.

    An unknown nonlinearity, or a `param` that is not a number, raises ValueError.
    """
    gains = {"sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4, "linear": 1} | {
        f"conv{kind}{n}d": 1 for kind in ("", "_transpose") for n in (1, 2, 3)
    }
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def _no_grad_uniform_(tensor, a, b, generator=None):
    """Call tensor.uniform_(a, b) outside autograd."""
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


@_overridable
@torch.no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fill the tensor with values drawn uniformly from [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@_overridable
@torch.no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fill the tensor with values drawn from a normal distribution."""
    return tensor.normal_(mean, std, generator=generator)


@torch.no_grad()
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fill the tensor with values of a normal distribution truncated to [a, b]."""
    if tensor.is_meta:
        return tensor

    def cdf(x):
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    if cdf((b - mean) / std) - cdf((a - mean) / std) > 0.3:
        # Use the bounds as rounded to the tensor's dtype.
        low, high = (tensor.new_tensor(x, device="cpu").item() for x in (a, b))
        tensor.normal_(mean, std, generator=generator)
        while (outside := (tensor < low) | (tensor > high)).any():
            tensor.copy_(torch.where(outside, torch.empty_like(tensor).normal_(mean, std, generator=generator), tensor))
        return tensor
    # Little of the distribution is inside [a, b], so use rejection sampling: accept uniform values with probability
    # density / peak density.
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    chance = torch.empty_like(tensor)

    def rejected(values):
        density = values.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return chance.uniform_(generator=generator).log_().gt(density)

    pending = rejected(tensor.uniform_(a, b, generator=generator))
    while pending.any():
        candidates = torch.empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(torch.where(pending, candidates, tensor))
        pending = pending & rejected(candidates)
    return tensor


@_overridable
@torch.no_grad()
def constant_(tensor, val):
    """Fill the tensor with the value `val`."""
    return tensor.fill_(val)


@torch.no_grad()
def ones_(tensor):
    """Fill the tensor with ones."""
    return tensor.fill_(1.0)


@torch.no_grad()
def zeros_(tensor):
    """Fill the tensor with zeros."""
    return tensor.zero_()


@torch.no_grad()
def eye_(tensor):
    """Fill a matrix with the identity; a tensor that is not 2-D raises ValueError."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    torch.eye(*tensor.shape, out=tensor, requires_grad=tensor.requires_grad)
    return tensor


@torch.no_grad()
def dirac_(tensor, groups=1):
    """Fill a convolution's weight so that each group passes its input channels through unchanged.

    The tensor must have 3, 4 or 5 dimensions and dim 0 must be divisible by groups; otherwise ValueError is raised.
    """
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    channels = sizes[0] // groups
    tensor.zero_()
    middle = tuple(s // 2 for s in sizes[2:])
    for g in range(groups):
        for d in range(min(channels, sizes[1])):
            tensor[(g * channels + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive = math.prod(tensor.shape[2:])
    return tensor.size(1) * receptive, tensor.size(0) * receptive


def _calculate_correct_fan(tensor, mode):
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _xavier_std(tensor, gain):
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


@torch.no_grad()
def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Fill the tensor with Glorot's uniform initialization.

    The bounds are gain * sqrt(6 / (fan_in + fan_out)). Fewer than 2 dimensions raise ValueError.
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return tensor.uniform_(-bound, bound, generator=generator)


@torch.no_grad()
def xavier_normal_(tensor, gain=1.0, generator=None):
    """Fill the tensor with Glorot's normal initialization.

    The standard deviation is gain * sqrt(2 / (fan_in + fan_out)). Fewer than 2 dimensions raise ValueError.
    """
    return tensor.normal_(0.0, _xavier_std(tensor, gain), generator=generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    """Return the standard deviation of He's initialization, or None for a tensor without elements."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=4)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


@_overridable
@torch.no_grad()
def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill the tensor with He's uniform initialization.

    The bounds are gain * sqrt(3 / fan), where `mode` selects fan_in or fan_out. Fewer than 2 dimensions raise
    ValueError.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return tensor.uniform_(-bound, bound, generator=generator)


@torch.no_grad()
def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill the tensor with He's normal initialization.

    The standard deviation is gain / sqrt(fan), where `mode` selects fan_in or fan_out. Fewer than 2 dimensions raise
    ValueError.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else tensor.normal_(0, std, generator=generator)


@torch.no_grad()
def orthogonal_(tensor, gain=1, generator=None):
    """Fill the tensor with a (semi-)orthogonal matrix; dimensions after the first are flattened.

    Fewer than 2 dimensions raise ValueError.
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = torch.linalg.qr(flat.t() if rows < columns else flat)
    q = q * torch.diag(r, 0).sign()  # makes the distribution uniform
    tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape))
    return tensor.mul_(gain)


@torch.no_grad()
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Fill a matrix with normal values, and set the fraction `sparsity` of each column to zero.

    A tensor that is not 2-D raises ValueError.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[torch.randperm(rows)[: math.ceil(sparsity * rows)], column] = 0
    return tensor


def _deprecated(function):
    name = function.__name__[:-1]

    def old(*args, **kwargs):
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    old.__name__, old.__doc__ = name, f"Deprecated: {name}_."
    return old


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
