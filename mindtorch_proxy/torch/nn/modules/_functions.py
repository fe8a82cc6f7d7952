"""Autograd functions used by layers."""

import torch
from torch.autograd.function import Function


class CrossMapLRN2d(Function):
    """Local response normalization across channels, with the windows of PyTorch's implementation.

    As in PyTorch, channel 0 stays in the window of every later channel, and the windows of the backward are not those
    of the forward. The input is 4-D; any other number of dimensions raises ValueError.
    """

    @staticmethod
    def _window(x, before, after):
        """Return the sum over the channels from c - before to c + after, for each channel c."""
        return torch.nn.functional.pad(x, (0, 0, 0, 0, before, after)).unfold(1, before + after + 1, 1).sum(-1)

    @staticmethod
    def forward(ctx, input, size, alpha=1e-4, beta=0.75, k=1):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        half, square = int((size - 1) / 2), input * input
        total = CrossMapLRN2d._window(square, half, half)
        total = torch.cat([total[:, : half + 1], total[:, half + 1 :] + square[:, :1]], dim=1)
        scale = total * (alpha / size) + k
        output = input * scale.pow(-beta)
        ctx.save_for_backward(input, output, scale)
        return output

    @staticmethod
    def backward(ctx, grad):
        input, output, scale = ctx.saved_tensors
        before = int(ctx.size - (ctx.size - 1) / 2)
        ratio = CrossMapLRN2d._window(grad * output / scale, before, ctx.size - 1 - before)
        grad_input = grad * scale.pow(-ctx.beta) - 2 * ctx.alpha * ctx.beta / ctx.size * input * ratio
        return grad_input, None, None, None, None


class BackwardHookFunction(Function):
    """The identity, which gives module backward hooks an autograd node of their own."""

    @staticmethod
    def forward(ctx, *args):
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *args):
        return args


def _by_channel(vector, like):
    """Reshape a vector with one number per channel so that it broadcasts over a batch."""
    return vector.view(1, -1, *[1] * (like.dim() - 2))


class SyncBatchNorm(Function):
    """Batch normalization with statistics over the batches of all processes.

    The batches may differ in size and may be empty.
    """

    @staticmethod
    def forward(ctx, input, weight, bias, running_mean, running_var, eps, momentum, group):
        """Return the normalized batch; the running statistics are updated from the batches of all processes."""
        dims = [d for d in range(input.dim()) if d != 1]
        wide = input.to(torch.float32) if input.dtype in (torch.float16, torch.bfloat16) else input
        size = input.numel() // input.shape[1]
        mean = wide.mean(dims) if size else wide.new_zeros(input.shape[1])
        squares = (wide - _by_channel(mean, wide)).square().sum(dims)
        mine = torch.cat([mean, squares, mean.new_full((1,), size)])
        every = mine.new_empty(torch.distributed.get_world_size(group), mine.numel())
        torch.distributed.all_gather_into_tensor(every.view(-1), mine, group=group)
        means, squares, sizes = every.split([mean.numel(), mean.numel(), 1], 1)
        total = sizes.sum()
        mean = (means * sizes).sum(0) / total
        squares = (squares + sizes * (means - mean).square()).sum(0)
        scale = (squares / total + eps).rsqrt()
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            running_var.lerp_((squares / (total - 1)).to(running_var.dtype), momentum)
        ctx.save_for_backward(input, weight, mean, scale, total)
        ctx.group, ctx.has_bias = group, bias is not None
        factor = scale if weight is None else scale * weight
        shift = -mean * factor if bias is None else bias - mean * factor
        return (wide * _by_channel(factor, wide) + _by_channel(shift, wide)).to(input.dtype)

    @staticmethod
    def backward(ctx, grad):
        """Return the input's gradient and this process's share of the gradients of weight and bias.

        The input's gradient depends on the batches of all processes.
        """
        input, weight, mean, scale, total = ctx.saved_tensors
        dims = [d for d in range(input.dim()) if d != 1]
        wide, centered = grad.to(mean.dtype), input.to(mean.dtype) - _by_channel(mean, input)
        sums = torch.stack([wide.sum(dims), (wide * centered).sum(dims)])
        grad_bias = sums[0].clone() if ctx.has_bias else None
        grad_weight = None if weight is None else (sums[1] * scale).to(weight.dtype)
        grad_input = None
        # Every process must take part in this collective, even if it does not need the result.
        torch.distributed.all_reduce(sums, group=ctx.group)
        if ctx.needs_input_grad[0]:
            averages = sums / total
            inner = wide - _by_channel(averages[0], wide) - centered * _by_channel(averages[1] * scale.square(), wide)
            grad_input = (inner * _by_channel(scale if weight is None else scale * weight, wide)).to(input.dtype)
        return (
            grad_input,
            grad_weight,
            grad_bias if grad_bias is None else grad_bias.to(weight.dtype),
            None,
            None,
            None,
            None,
            None,
        )
