"""Gradients of convolutions with respect to input or weight, computed without a graph."""

from mindtorch_proxy.runtime.ops import conv as _conv


def _amounts(dims, *values):
    return [_conv._amounts(v, dims) for v in values]


def _make(dims):
    def conv_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _conv._back(grad_output, weight, tuple(input_size), *_amounts(dims, stride, padding, dilation), groups)

    def conv_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _conv._for_weight.call(
            input, grad_output, tuple(weight_size)[2:], *_amounts(dims, stride, padding, dilation), groups
        )

    for f, what in ((conv_input, "input"), (conv_weight, "weight")):
        f.__name__ = f.__qualname__ = f"conv{dims}d_{what}"
        f.__doc__ = f"The gradient of conv{dims}d with respect to its {what}."
        globals()[f.__name__] = f


for _dims in (1, 2, 3):
    _make(_dims)
