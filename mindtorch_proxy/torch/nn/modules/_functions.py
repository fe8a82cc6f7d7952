"""Autograd functions of layers."""

import torch
from torch.autograd.function import Function


class CrossMapLRN2d(Function):
    """Local response normalization across channels, with the windows that PyTorch's has: channel 0 never leaves one, and those of the
    gradient are not the same."""

    @staticmethod
    def _window(x, before, after):
        """The sum over channels c - before .. c + after."""
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
    """The identity: gives module backward hooks a node of their own."""

    @staticmethod
    def forward(ctx, *args):
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *args):
        return args
