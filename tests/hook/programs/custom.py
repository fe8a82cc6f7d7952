import torch

torch.manual_seed(0)


class S(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0)


x = torch.randn(6, requires_grad=True)
S.apply(x).sum().backward()
print(x.grad)
