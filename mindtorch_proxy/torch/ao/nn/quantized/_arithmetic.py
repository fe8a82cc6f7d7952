"""Arithmetic of quantized tensors.

Sums of integers are exact, because they are computed in double precision. They are scaled and rounded only once.
"""

import torch


def steps(q):
    """Return the integer values minus the zero point in double precision, and the scale.

    The scale is a number, or for a per-channel tensor a tensor with the scales along dimension 0.
    """
    if q.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return q.int_repr().double() - q.q_zero_point(), q.q_scale()
    shape = [-1] + [1] * (q.dim() - 1)
    return q.int_repr().double() - q.q_per_channel_zero_points().double().reshape(
        shape
    ), q.q_per_channel_scales().double()


def product(function, x, weight, bias, shape):
    """Compute ``function(x, weight)`` plus the bias in double precision, for a quantized input and weight.

    `shape` makes the scales and the bias broadcast over the channels of the result.
    """
    a, scale = steps(x)
    w, scales = steps(weight)
    found = function(a, w) * (scale * (scales.reshape(shape) if isinstance(scales, torch.Tensor) else scales))
    return found if bias is None else found + bias.detach().double().reshape(shape)


def rounded(x, scale, zero_point, relu=False):
    """Quantize a tensor in double precision to torch.quint8, with a fused ReLU if `relu` is set."""
    found = torch.round(x / scale) + zero_point
    return torch._make_per_tensor_quantized_tensor(
        found.clamp(zero_point if relu else 0, 255).to(torch.uint8), scale, zero_point
    )


def convolution(function, x, weight, bias, sizes, scale, zero_point, relu=False):
    """Compute a convolution as torch.quint8; `sizes` are stride, padding, dilation and groups."""
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
    ]  # the memory format of PyTorch's kernels
    return rounded(found.contiguous(memory_format=order), scale, zero_point, relu)


def checked(x, name):
    """Return the input of a quantized operation if it is torch.quint8.

    Any other tensor raises NotImplementedError; for one that is not quantized the message starts like PyTorch's.
    """
    if not x.is_quantized:
        raise NotImplementedError(
            f"Could not run '{name}' with arguments from the 'CPU' backend: the input is {x.dtype}, not quantized"
        )
    if x.dtype is not torch.quint8:
        raise NotImplementedError(f"{name}: {x.dtype} on {x.device} is not supported, only torch.quint8")
    return x


class Scaled(torch.nn.Module):
    """A module whose output has a scale and a zero point, which are part of its state_dict."""

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
