"""Products of quantized tensors: exact sums of integers (in double precision, which holds them), scaled and rounded
once.
"""

import torch


def steps(q):
    """How many steps each element lies from zero, and the step: a number, or a tensor for the channels of dimension
    0.
    """
    if q.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return q.int_repr().double() - q.q_zero_point(), q.q_scale()
    shape = [-1] + [1] * (q.dim() - 1)
    return q.int_repr().double() - q.q_per_channel_zero_points().double().reshape(
        shape
    ), q.q_per_channel_scales().double()


def product(function, x, weight, bias, shape):
    """``function(x, weight)`` plus the bias, of a quantized input and weight, in double precision.

    `shape` broadcasts over the result's channels.
    """
    a, scale = steps(x)
    w, scales = steps(weight)
    found = function(a, w) * (scale * (scales.reshape(shape) if isinstance(scales, torch.Tensor) else scales))
    return found if bias is None else found + bias.detach().double().reshape(shape)


def rounded(x, scale, zero_point, relu=False):
    """A tensor in double precision as torch.quint8."""
    found = torch.round(x / scale) + zero_point
    return torch._make_per_tensor_quantized_tensor(
        found.clamp(zero_point if relu else 0, 255).to(torch.uint8), scale, zero_point
    )


def convolution(function, x, weight, bias, sizes, scale, zero_point, relu=False):
    """A convolution as torch.quint8; `sizes` are stride, padding, dilation and groups."""
    dimensions = weight.dim() - 2
    found = product(
        lambda a, w: function(a, w, None, *sizes),
        checked(x, "quantized::conv"),
        weight,
        bias,
        [1, -1] + [1] * dimensions,
    )
    order = {1: torch.contiguous_format, 2: torch.channels_last, 3: torch.channels_last_3d}[
        dimensions
    ]  # as PyTorch's kernels leave it
    return rounded(found.contiguous(memory_format=order), scale, zero_point, relu)


def checked(x, name):
    """The input of an operation of integers.

    NotImplementedError, in PyTorch's words, for a tensor of floating point.
    """
    if not x.is_quantized:
        raise NotImplementedError(
            f"Could not run '{name}' with arguments from the 'CPU' backend: the input is {x.dtype}, not quantized"
        )
    if x.dtype is not torch.quint8:
        raise NotImplementedError(f"{name}: {x.dtype} on {x.device} is not supported, only torch.quint8")
    return x


class Scaled(torch.nn.Module):
    """A module whose results have a scale and a zero point, which stand in its state."""

    def __init__(self):
        super().__init__()
        self.scale, self.zero_point = 1.0, 0

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"], destination[prefix + "zero_point"] = (
            torch.tensor(self.scale),
            torch.tensor(self.zero_point),
        )

    def _load_from_state_dict(self, state_dict, prefix, *args):
        self.scale, self.zero_point = (
            float(state_dict.pop(prefix + "scale")),
            int(state_dict.pop(prefix + "zero_point")),
        )
        super()._load_from_state_dict(state_dict, prefix, *args)
