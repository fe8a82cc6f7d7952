"""Autograd functions of layers."""
import torch
from torch.autograd.function import Function


class CrossMapLRN2d(Function):
    """Local response normalization across channels."""

    @staticmethod
    def _window(x, before, after):
        """The sum over channels c - before .. c + after."""
        padded = torch.nn.functional.pad(x, (0, 0, 0, 0, before, after))
        return padded.unfold(1, before + after + 1, 1).sum(-1)

    @staticmethod
    def forward(ctx, input, size, alpha=1e-4, beta=0.75, k=1):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        half = int((size - 1) / 2)
        scale = CrossMapLRN2d._window(input * input, half, half) * (alpha / size) + k
        output = input * scale.pow(-beta)
        ctx.save_for_backward(input, output, scale)
        return output

    @staticmethod
    def backward(ctx, grad):
        input, output, scale = ctx.saved_tensors
        half = int((ctx.size - 1) / 2)
        ratio = CrossMapLRN2d._window(grad * output / scale, half, half)
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
