"""Convolutions: one operator for regular and transposed convolutions, and one for the weight's gradient.

Their derivatives are computed by these operators themselves.
"""

import functools
import warnings

from ..call.autocast import LOWER
from ..call.bind import as_ints
from ..call.dispatch import intercepted
from ..context import CONTEXT, PROCESS
from ..declare import composite, op
from ..device import HOST
from ..registry import Namespace
from .common import F, T, conj, dt, only
from .memory import in_format, keep_format

ATEN = Namespace("aten")


# ------------------------------------------------------------------------------------------------ shapes and checks
def _transposed_size(n, k, s, p, d, extra):
    return (n - 1) * s - 2 * p + d * (k - 1) + 1 + extra


def _window_count(n, k, s, p, d):
    return (n + 2 * p - d * (k - 1) - 1) // s + 1


def _check_amounts(dims, **given):
    """Check that each parameter has one value for each dimension, and that none is too small."""
    for name, values in given.items():
        if len(values) != dims:
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
                f"dimensions, but got {name}={list(values)}"
            )
        if min(values) < (name in ("stride", "dilation")):
            raise RuntimeError(
                f"negative {name} is not supported" if "padding" in name else f"non-positive {name} is not supported"
            )


def _other_rank(x, w):
    return RuntimeError(
        f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {list(w)}, but got {len(x)}-dimensional "
        f"input of size {list(x)} instead"
    )


def _check_weight(w, groups):
    if w[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
            f"but got weight of size {list(w)} instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(w)}] instead"
        )


def _check_channels(x, w, bias, transposed, groups):
    """Check the channels of input and bias, and return the number of output channels."""
    want, out = (w[0], w[1] * groups) if transposed else (w[1] * groups, w[0])
    if x[1] != want:
        raise RuntimeError(
            f"Given {'transposed' if transposed else 'groups'}={1 if transposed else groups}, "
            f"weight of size {list(w)}, expected input{list(x)} to have {want} channels, "
            f"but got {x[1]} channels instead"
        )
    if bias is not None and bias._shape != (out,):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {list(w)}, "
            f"expected bias to be 1-dimensional with {out} elements, but got bias of size {list(bias._shape)} instead"
        )
    return out


def _check_types(input, weight, bias):
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({dt.c_name(input.dtype)}) and bias type ({dt.c_name(bias.dtype)}) should be the same"
        )
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"expected scalar type {dt.scalar_name(input.dtype)} but found {dt.scalar_name(weight.dtype)}"
        )


def _check_integers(input, dims, dilation, transposed):
    """Raise PyTorch's errors for bool and integer inputs other than int64."""
    dilated = max(dilation) > 1 and not transposed
    name = "slow_conv_dilated<>" if dilated else f"slow_conv{'_transpose' if transposed else ''}{max(dims, 2)}d_cpu"
    only(name, input, *(() if dilated or transposed else (dt.INT,)))


def _conv_size(x, w, stride, padding, dilation):
    """Return the number of windows in each dimension."""
    padded, kernel = [n + 2 * p for n, p in zip(x, padding)], [d * (s - 1) + 1 for s, d in zip(w, dilation)]
    if any(a < b for a, b in zip(padded, kernel)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, kernel))}). Kernel size can't be greater than actual input size"
        )
    return map(_window_count, x, w, stride, padding, dilation)


def _conv_meta(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    x, w = input._shape, weight._shape
    k = len(w) - 2
    if k < 1:
        raise RuntimeError("weight should have at least three dimensions")
    if min(dilation, default=1) < 0:
        raise RuntimeError("dilation should be greater than zero")
    _check_amounts(k, stride=stride, padding=padding, dilation=dilation, output_padding=output_padding)
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(x) != k + 2:
        raise _other_rank(x, w)
    _check_weight(w, groups)
    out = _check_channels(x, w, bias, transposed, groups)
    _check_types(input, weight, bias)
    windows = None if transposed else _conv_size(x[2:], w[2:], stride, padding, dilation)
    if 0 in x[2:] and x[0] and x[1]:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x)}")
    if input.dtype.category <= dt.INT and input.dtype is not dt.int64:
        _check_integers(input, k, dilation, transposed)
    if transposed:
        windows = map(_transposed_size, x[2:], w[2:], stride, padding, dilation, output_padding)
    return in_format((x[0], out if x[1] or transposed else 0, *windows), input.dtype, input, weight)


# ------------------------------------------------------------------------------------------------ the operators
def _back(g, weight, shape, stride, padding, dilation, groups):
    """Return the gradient of a convolution's input, which has the given shape."""
    extra = [
        n - _transposed_size(m, k, s, p, d, 0)
        for n, m, k, s, p, d in zip(shape[2:], g._shape[2:], weight._shape[2:], stride, padding, dilation)
    ]
    return convolution.call(g, weight, None, stride, padding, dilation, True, extra, groups)


def _ahead(g, weight, shape, stride, padding, dilation, groups):
    """Return the convolution of g, cropped to the given shape.

    It is larger than that where the output_padding of a transposed convolution made room for more windows.
    """
    out = convolution.call(g, weight, None, stride, padding, dilation, False, (0,) * len(stride), groups)
    for d in range(2, len(shape)):
        out = out.narrow(d, 0, shape[d]).contiguous() if out._shape[d] != shape[d] else out
    return out


def _input_grad(g, input_shape, weight, stride, padding, dilation, transposed, groups):
    return (_ahead if transposed else _back)(g, conj(weight), input_shape, stride, padding, dilation, groups)


def _weight_grad(g, input, weight_shape, stride, padding, dilation, transposed, groups):
    x, y = (conj(g), input) if transposed else (conj(input), g)
    out = _for_weight.call(x, y, weight_shape[2:], stride, padding, dilation, groups)
    return conj(out) if transposed else out


def _parts(g, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask):
    if not input._shape[1]:  # without input channels all gradients are zeros
        shapes = input._shape, weight._shape, bias_sizes
        return tuple(weight.new_zeros(shape) if asked else None for shape, asked in zip(shapes, output_mask))
    rest = stride, padding, dilation, transposed, groups
    return (
        keep_format(_input_grad(g, input._shape, weight, *rest), input, weight) if output_mask[0] else None,
        keep_format(_weight_grad(g, input, weight._shape, *rest), input, weight) if output_mask[1] else None,
        g.sum((0, *range(2, len(g._shape)))) if output_mask[2] else None,
    )


def _backward(g, input, weight, stride, padding, dilation, transposed, output_padding, groups, needs):
    """Return the gradients of a convolution.

    They are computed by one call, under PyTorch's name where calls below autograd are intercepted, and by its parts
    where they are to be differentiated again.
    """
    rest = stride, padding, dilation, transposed, output_padding, groups, list(needs)
    sizes = [weight._shape[1] * groups if transposed else weight._shape[0]] if needs[2] else [0]
    if CONTEXT.grad:
        return _parts(g, input, weight, sizes, *rest)
    if PROCESS.interceptors and intercepted((g, input, weight)):
        return ATEN.convolution_backward(g, input, weight, sizes, *rest)
    found = iter(_whole.call(g, input, weight, sizes, *rest))
    return tuple(next(found) if asked else None for asked in needs)


_convolution_grads = {("input", "weight", "bias"): _backward}
_BACKWARD = (
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, "
    "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[] output_mask)"
)
composite(f"aten.{_BACKWARD} -> (Tensor, Tensor, Tensor)")(_parts)


def _whole_meta(g, input, weight, bias_sizes, *rest):
    shaped = in_format(input._shape, g.dtype, input, weight), in_format(weight._shape, g.dtype, input, weight)
    return [m for m, asked in zip((*shaped, (tuple(bias_sizes), g.dtype)), rest[-1]) if asked]


# the gradients that output_mask asks for, in one call
_whole = op(f"_C.{_BACKWARD} -> Tensor[]", meta=_whole_meta)


def gradients_by_parts(*args):
    """Compute the gradients of a convolution that output_mask asks for by dispatched operators."""
    return [part for part in _parts(*args) if part is not None]


@composite(
    "aten._convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, "
    "int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, "
    "bool[] output_mask) -> (Tensor, Tensor, Tensor)"
)
def convolution_double_backward(
    ggi, ggw, ggb, g, weight, self, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """Return the gradients of convolution_backward's arguments grad_output, input and weight.

    As in PyTorch, output_mask is ignored.
    """
    geometry, rest = (
        (stride, padding, dilation, transposed, output_padding, groups),
        (stride, padding, dilation, transposed, groups),
    )
    terms = [
        convolution.call(x, w, None, *geometry)
        for x, w in ((ggi, weight), (self, ggw))
        if x is not None and w is not None
    ]
    if ggb is not None:
        terms.append(ggb.reshape(1, -1, *(1,) * len(stride)).expand(g._shape))
    return (
        functools.reduce(T.add, terms) if terms else None,
        None if ggw is None else _input_grad(g, self._shape, ggw, *rest),
        None if ggi is None else _weight_grad(g, ggi, weight._shape, *rest),
    )


convolution = op(
    "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
    "bool transposed, int[] output_padding, int groups) -> Tensor",
    "Convolution",
    meta=_conv_meta,
    derivative=_convolution_grads,
    out=False,
)
_for_weight_meta = lambda x, g, kernel, stride, padding, dilation, groups: (
    (g._shape[1], x._shape[1] // groups, *kernel),
    x.dtype,
)
_for_weight_grads = {
    "input": lambda g, input_shape, grad, stride, padding, dilation, groups: _back(
        conj(grad), g, input_shape, stride, padding, dilation, groups
    ),
    "grad": lambda g, input, grad_shape, stride, padding, dilation, groups: _ahead(
        conj(input), g, grad_shape, stride, padding, dilation, groups
    ),
}
_for_weight = op(
    "_C.convolution_weight(Tensor input, Tensor grad, int[] kernel, int[] stride, int[] padding, int[] dilation, "
    "int groups) -> Tensor",
    meta=_for_weight_meta,
    derivative=_for_weight_grads,
)


def weight_by_convolution(x, g, kernel, stride, padding, dilation, groups):
    """Compute the weight's gradient as a convolution.

    The batch and channel dimensions are swapped, and so are stride and dilation.
    """
    parts = []
    for a, b in zip(x.chunk(groups, 1), g.chunk(groups, 1)):
        out = convolution.call(
            a.transpose(0, 1), b.transpose(0, 1), None, dilation, padding, stride, False, (0,) * len(kernel), 1
        )
        for d, k in enumerate(kernel):
            out = out.narrow(d + 2, 0, k)
        parts.append(out.transpose(0, 1))
    return T.cat(parts)


# ------------------------------------------------------------------------------------------------ the public forms
def _amounts(v, dims):
    v = as_ints(v, dims)
    return v * dims if len(v) == 1 else v


def _batched(name, input, dims):
    """Return (input with a batch dimension, whether it already had one)."""
    n = len(input._shape)
    if n not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input._shape)}"
        )
    return (input, True) if n == dims + 2 else (input.unsqueeze(0), False)


def _same(input, weight, stride, dilation):
    """Return (input, padding) for padding='same'.

    An odd total padding is made even by padding the end of the input.
    """
    if len(input._shape) != len(weight._shape) > 2:
        raise _other_rank(input._shape, weight._shape)
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, weight._shape[2:])]
    if any(t % 2 for t in total):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created",
            stacklevel=5,
        )
        input = F.pad(input, [a for t in reversed(total) for a in (0, t % 2)])
    return input, [t // 2 for t in total]


def _conv(name, dims, input, weight, bias, stride, padding, dilation, groups):
    x, batch = _batched(name, input, dims)
    stride, dilation = _amounts(stride, max(len(weight._shape) - 2, 1)), _amounts(dilation, dims)
    if dims == 1 and len(weight._shape) > 3:
        raise _other_rank(x._shape, weight._shape)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        x, padding = _same(x, weight, stride, dilation) if padding == "same" else (x, (0,) * dims)
    out = convolution.call(x, weight, bias, stride, _amounts(padding, dims), dilation, False, (0,) * dims, groups)
    return out if batch else out.squeeze(0)


def _conv_transpose(name, dims, input, weight, bias, stride, padding, output_padding, groups, dilation):
    x, batch = _batched(name, input, dims)
    stride, dilation, extra = _amounts(stride, dims), _amounts(dilation, dims), _amounts(output_padding, dims)
    if any(e >= s and e >= d and e for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got output_padding: "
            f"{list(extra)} stride: {list(stride)} dilation: {list(dilation)}"
        )
    out = convolution.call(x, weight, bias, stride, _amounts(padding, dims), dilation, True, extra, groups)
    return out if batch else out.squeeze(0)


def _public(dims):
    name, transposed = f"conv{dims}d", f"conv_transpose{dims}d"

    @composite(
        f"{name}(Tensor input, Tensor weight, Tensor? bias=None, Any stride=1, Any padding=0, Any dilation=1, "
        "int groups=1) -> Tensor",
        out=False,
        autocast=LOWER,
    )
    def conv(*args):
        return _conv(name, dims, *args)

    @composite(
        f"{transposed}(Tensor input, Tensor weight, Tensor? bias=None, Any stride=1, Any padding=0, "
        "Any output_padding=0, int groups=1, Any dilation=1) -> Tensor",
        out=False,
        autocast=LOWER,
    )
    def conv_transpose(*args):
        return _conv_transpose(transposed, dims, *args)


for _dims in (1, 2, 3):
    _public(_dims)


@composite(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", method=False, out=False, autocast=LOWER
)
def conv_tbc(self, weight, bias, pad):
    """Return a convolution over (time, batch, channels) with a weight of (kernel, in, out)."""
    return T.conv1d(self.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)


@composite(
    "_nnpack_spatial_convolution(Tensor input, Tensor weight, Tensor? bias, int[2] padding, int[2] stride=1) -> Tensor",
    method=False,
    out=False,
)
def nnpack_spatial_convolution(input, weight, bias, padding, stride):
    """Return conv2d, restricted to what NNPACK supports: 4-d float32 tensors on the CPU."""
    if len(input._shape) != 4 or len(weight._shape) != 4:
        raise RuntimeError("NNPack convolutionOutput expects 4D input Tensor N,C,H,W")
    if any(
        t.dtype is not dt.float32 or t.device is not HOST for t in (input, weight, *(() if bias is None else (bias,)))
    ):
        raise RuntimeError("Mismatched Tensor types in NNPack convolutionOutput")
    if input._shape[1] != weight._shape[1]:
        raise RuntimeError(
            f"Mismatch between number of input channels in input Tensor ({input._shape[1]}) and weight Tensor "
            f"({weight._shape[1]}) in NNPack convolutionOutput"
        )
    return T.conv2d(input, weight, bias, stride, padding)
